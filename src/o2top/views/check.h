/* SPDX-License-Identifier: MIT */
/*
 * check.h - limits on a frame, for monitoring systems that run plugins.
 */
#ifndef O2TOP_CHECK_H
#define O2TOP_CHECK_H

#include "view.h"

enum limit { LIMIT_LOST, LIMIT_OLDEST, LIMIT_SILENT, LIMITS };

/* A value that reaches its limit is a warning, or critical. No value reaches INFINITY. */
struct limits {
	double at[LIMITS];
};

extern const struct limits check_warn, check_crit; /* the default limits */

/*
 * Reads limits. "2" limits both the seconds lost per second and the age of the oldest wait in
 * seconds. "lost=1,oldest=5,silent=2" limits each by name. A limit that is not given keeps its
 * value. Returns NULL, or the part of the text that is not a limit.
 */
const char *limits_parse(const char *text, struct limits *out);

enum check_status { CHECK_OK, CHECK_WARNING, CHECK_CRITICAL, CHECK_UNKNOWN };

/* Writes the line. Returns the status, CHECK_UNKNOWN if the line could not be written. */
enum check_status view_check(FILE *out, const struct frame *f, const struct limits *warn,
			     const struct limits *crit);

#endif
