/* SPDX-License-Identifier: MIT */
/*
 * wait_times.h - how the waits of a row were spread, and what they waited for, by traces.
 */
#ifndef O2TOP_WAIT_TIMES_H
#define O2TOP_WAIT_TIMES_H

#include <stdint.h>

struct wait_times {
	uint32_t n; /* waits that ended in the frame; 0: none, or no trace */
	double p50_s, p90_s, p99_s;
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
