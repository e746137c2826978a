/* SPDX-License-Identifier: MIT */
/*
 * counters.h - sums over all frames that o2top has shown, for monitoring systems. They only grow.
 */
#ifndef O2TOP_COUNTERS_H
#define O2TOP_COUNTERS_H

#include "view.h"

/* The sums of one node in one lock space. Processes of libglock share one. */
struct counter {
	uint32_t space; /* index in the model */
	char *node;     /* "" for all processes together */
	double lost_s;
	uint64_t acquired;
};

struct counters {
	struct counter *list;
	size_t n, room;
	struct wait_counts *ended; /* by lock space */
	size_t n_spaces;
};

/* Adds a frame. A frame of a single sample has no time, so it adds nothing. Returns 0 or -ENOMEM.
 */
int counters_add(struct counters *c, const struct frame *f);
void counters_free(struct counters *c);

#endif
