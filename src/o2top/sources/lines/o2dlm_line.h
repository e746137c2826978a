/* SPDX-License-Identifier: MIT */
/*
 * o2dlm_line.h - the lines of o2cb's DLM in debugfs: o2dlm/DOMAIN/locking_state.
 *
 * fs/ocfs2/dlm/dlmdebug.c prints a block for each lock resource. The block has the resource's name,
 * its state and the locks that this node knows of. The master knows all of them.
 */
#ifndef O2TOP_O2DLM_LINE_H
#define O2TOP_O2DLM_LINE_H

#include "o2top/model/shot.h"

#include <stddef.h>

enum o2dlm_what { O2DLM_OTHER, O2DLM_NAME, O2DLM_RESOURCE, O2DLM_LOCK };
enum o2dlm_queue { O2DLM_GRANTED, O2DLM_CONVERTING, O2DLM_BLOCKED };

struct o2dlm_line {
	enum o2dlm_what what;
	struct lock_id id; /* NAME */
	int owner;         /* LRES: the master's number; 255 not known */
	bool recovering;
	enum o2dlm_queue queue; /* LOCK */
	int type, convert;      /* modes; -1 none */
	int node;
};

/*
 * Parses a line. Returns NULL, or the reason why the line is wrong. A line of another kind is
 * OTHER.
 */
const char *o2dlm_parse(struct o2dlm_line *out, const char *line, size_t len);

#endif
