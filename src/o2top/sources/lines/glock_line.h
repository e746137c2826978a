/* SPDX-License-Identifier: MIT */
/*
 * glock_line.h - the lines about a process of a libglock lock space; glock.c has the format.
 *
 * Each parser returns NULL, or the reason why the line is wrong. Text lies within the line, not
 * NUL-terminated, unless the parser copies the text.
 */
#ifndef O2TOP_GLOCK_LINE_H
#define O2TOP_GLOCK_LINE_H

#include "o2top/model/shot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum glock_line_mode { GLOCK_LINE_UN, GLOCK_LINE_EX, GLOCK_LINE_DF, GLOCK_LINE_SH };

/* libglock's numbers of types. */
enum { GLOCK_LINE_INODE = 2, GLOCK_LINE_IOPEN = 5, GLOCK_LINE_TYPES = 32 };

struct glock_line {
	uint32_t type;
	uint64_t number;
	enum glock_line_mode state, target;
	uint64_t dcount, qcount, basts, waits;
	int64_t waited_ns, longest_ns;
	bool lent; /* the rest is known */
	int64_t since_ns;
	uint64_t granted_ex, granted_shared; /* DF counts as shared */
	uint32_t times[LENT_TIMES][LENT_BUCKETS];
};

struct glock_holder_line {
	enum glock_line_mode mode;
	bool holds, waits;
	int64_t at_ns; /* time of the grant, or of the request */
	int64_t pid;
	char comm[20];
};

struct glock_object_line {
	int64_t at_ns;
	const char *path; /* of a line " P: PATH" */
	size_t path_len;  /* 0: another line */
};

/* Stores the user of the process, or "". */
bool glock_node_line_known(const char *text, size_t len, char *user, size_t size);
const char *glock_line_parse(struct glock_line *l, const char *text, size_t len);
const char *glock_holder_line_parse(struct glock_holder_line *l, const char *text, size_t len);
const char *glock_object_line_parse(struct glock_object_line *l, const char *text, size_t len);

#endif
