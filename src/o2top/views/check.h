/* SPDX-License-Identifier: MIT */
/*
 * check.h - limits on a frame, for monitoring systems that run plugins.
 */
#ifndef O2TOP_CHECK_H
#define O2TOP_CHECK_H

#include "view.h"

enum limit { LIMIT_LOST, LIMIT_OLDEST, LIMIT_SILENT, LIMITS };

/* From here on it is a warning, or critical; INFINITY never. */
struct limits {
	double at[LIMITS];
};

extern const struct limits check_warn, check_crit; /* where nothing is said */

/*
 * "2" (seconds lost per second, and seconds that a wait is old), or "lost=1,oldest=5,silent=2",
 * each as far as it is given; NULL where it can be understood, else what cannot.
 */
const char *limits_parse(const char *text, struct limits *out);

enum check_status { CHECK_OK, CHECK_WARNING, CHECK_CRITICAL, CHECK_UNKNOWN };

/* Writes the line and returns the status. */
enum check_status view_check(FILE *out, const struct frame *f, const struct limits *warn,
			     const struct limits *crit);

#endif
