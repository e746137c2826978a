/* SPDX-License-Identifier: MIT */
/*
 * gfs2_phases.h - what a trace tells of single waits, and of the time until a node gave a lock up.
 */
#ifndef O2TOP_GFS2_PHASES_H
#define O2TOP_GFS2_PHASES_H

#include "o2top/sources/lines/gfs2_trace_line.h"
#include "o2top/model/source.h"

/* Begins the events of a sample: forgets the waits of the frame before, and old gives. */
void phases_begin(struct source_sample *t);
/* Takes an event. at_us is its time by the node's clock. */
void phases_take_event(struct source_sample *t, const struct gfs2_event *e, int64_t at_us);
/* The reply to a request. */
struct phases_reply {
	int64_t at_us; /* by the node's clock */
	double s;      /* since the request */
	bool waited, granted, of_this_frame;
};
void phases_take_reply(struct source_sample *t, const struct lock *lock,
		       const struct phases_reply *r);
/* Ends the events. `complete`: none of the frame is missing. */
void phases_end(struct source_sample *t, bool complete);

#endif
