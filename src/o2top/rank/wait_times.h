/* SPDX-License-Identifier: MIT */
/*
 * wait_times.h - how the waits of a row were spread, and what they waited for.
 *
 * GFS2 needs traces for that. Of libglock the percentiles come from the counts of the library.
 */
#ifndef O2TOP_WAIT_TIMES_H
#define O2TOP_WAIT_TIMES_H

#include <stdbool.h>
#include <stdint.h>

/* Percentiles of times. */
struct spread {
	uint32_t n; /* how many ended in the frame; 0: none, or not known */
	double p50_s, p90_s, p99_s;
};

struct wait_times {
	struct spread waits, holds, handovers; /* holds, handovers: libglock only */
	bool rounded;        /* up to 512 ns times a power of two, because they were counted so */
	uint32_t split;      /* waits that the rest describes; 0: no trace of each node */
	double give_s;       /* another node had the demand and kept the lock */
	double write_back_s; /* the part of give_s in which a write-back is known */
	double request_s;    /* the rest: the way of the request and of the reply, the DLM */
};

struct model;
struct row;

/* Fills in row->times. */
void wait_times_take(const struct model *m, struct row *row);

#endif
