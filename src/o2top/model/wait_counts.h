/* SPDX-License-Identifier: MIT */
/*
 * wait_counts.h - counts of ended waits by their length.
 */
#ifndef O2TOP_WAIT_COUNTS_H
#define O2TOP_WAIT_COUNTS_H

#include <stdint.h>

enum { WAIT_BOUNDS = 12 };

/* The upper bounds in seconds, ascending. */
extern const double wait_bounds_s[WAIT_BOUNDS];

struct wait_counts {
	uint64_t n[WAIT_BOUNDS + 1]; /* waits of at most this bound, and above the one before */
	double sum_s;
};

/*
 * Counts an ended wait. A call of a few microseconds is not counted, because the node's own cache
 * answered it.
 */
void wait_counts_add(struct wait_counts *w, double s);
/* Adds the counts of `from`. */
void wait_counts_sum(struct wait_counts *w, const struct wait_counts *from);

#endif
