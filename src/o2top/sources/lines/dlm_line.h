/* SPDX-License-Identifier: MIT */
/*
 * dlm_line.h - the lines of the kernel DLM's dump in debugfs, <lockspace>_all (fs/dlm/debug_fs.c).
 *
 * The lines are resources, their value blocks and their locks. The times of an lkb are nanoseconds
 * of the node's CLOCK_MONOTONIC. One tells since when the lock has been in its present queue. The
 * other tells when a bast last reached the lock.
 */
#ifndef O2TOP_DLM_LINE_H
#define O2TOP_DLM_LINE_H

#include "o2top/model/shot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- o2dlm_line.c: the lines of o2cb's DLM in debugfs: o2dlm/DOMAIN/locking_state.
 *
 * fs/ocfs2/dlm/dlmdebug.c prints a block for each lock resource. The block has the resource's name,
 * its state and the locks that this node knows of. The master knows all of them.
 */

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

/* ---- dlm_line.c. */

enum { DLM_NAME_MAX = 64 };

/* "rsb 00000000d40c03c4 0 0 0 0 0 0 24 str        2            2454" */
struct dlm_rsb_line {
	char pointer[24];
	int32_t nodeid; /* the master; 0 is this node, -1 not known yet */
	uint64_t first_lkid, flags;
	int32_t root, recover;
	uint32_t recover_count;
	uint32_t len;
	bool hex; /* the name holds bytes that are no text, or the kernel takes it so */
	char name[DLM_NAME_MAX + 1];
};

enum dlm_status { DLM_WAITING = 1, DLM_GRANTED = 2, DLM_CONVERTING = 3 };

enum {
	DLM_MASTER_COPY = 0x10000
}; /* in lkb flags: another node's lock, and this node is the master */

/* "lkb 1c6 2 5f7 1770 0 1c 0 3 0 3 5 0 0 2 844672870177 840762255086" */
struct dlm_lkb_line {
	uint64_t id;
	int32_t nodeid;
	uint64_t remid;
	uint32_t pid;
	uint64_t xid;
	uint64_t exflags, flags;
	int32_t status, granted, requested, bast_mode;
	int32_t rsb_lookup, wait_type;
	uint32_t lvb_seq;
	uint64_t since_ns, bast_ns;
};

/*
 * Returns whether a line names the columns: "rsb ptr nodeid first_lkid flags ...". Kernels from
 * 6.12 on begin the dump with it. Older ones begin with "version rsb 1.1 lvb 1.1 lkb 1.1".
 */
bool dlm_is_heading(const char *line, size_t len);
const char *dlm_rsb_parse(struct dlm_rsb_line *out, const char *line, size_t len);
const char *dlm_lkb_parse(struct dlm_lkb_line *out, const char *line, size_t len);

/* Reads the name of a resource of GFS2: "       2            26b3". */
bool dlm_gfs2_name(const struct dlm_rsb_line *rsb, uint32_t *type, uint64_t *number);

#endif
