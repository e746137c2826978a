/* SPDX-License-Identifier: MIT */
/*
 * gfs2_impl.h - functions that the files of the GFS2 source share.
 */
#ifndef O2TOP_GFS2_IMPL_H
#define O2TOP_GFS2_IMPL_H

#include "flock.h"
#include "o2top/model/source.h"
#include "o2top/sources/lines/gfs2_line.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- gfs2_phases.c: what a trace tells of single waits, and of the time until a node gave a
 * lock up. */

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

/* ---- gfs2_estimate.c: estimates of GFS2's waits where none was measured.
 *
 * The estimate of a glock comes from the move of its smoothed mean. That of all flocks of a node
 * comes from the totals in sbstats.
 */

/* The numbers of glstats for a glock at one moment; times in ns. */
struct gfs2_mean {
	uint64_t dcount;
	int64_t srttb, srttvarb;
};

/*
 * Estimates the seconds that blocking requests took between two moments: all together, and each in
 * the mean. `before` is NULL for a glock that was made in between. Returns false if there is no
 * estimate.
 *
 * Each sample keeps 7/8 of the mean. So n samples with a mean of x move the mean from a to
 *
 *   x + (a - x) q, where q = (7/8)^n.
 *
 * About four of seven requests take the lock and block; the others give the lock up. If the mean
 * moved at all, at least one request blocked. The estimate is not dcnt x srttb, because that counts
 * the requests that give up as waits, too.
 */
bool gfs2_estimate(const struct gfs2_mean *before, const struct gfs2_mean *now, double *total_s,
		   double *mean_s);

/* The totals of this sample, one for each CPU. */
struct gfs2_flock_totals {
	struct flock_totals *list;
	uint32_t n;
	size_t room;
};

/* Takes a line of sbstats. */
void gfs2_flock_take(struct gfs2_flock_totals *now, const struct gfs2_sbstats_line *l);

/*
 * Returns what all flocks did in the frame. Keeps the totals for the next sample, so *now must not
 * be freed.
 */
struct flock_total gfs2_flock_total(const struct source_sample *t, struct gfs2_flock_totals *now);

/*
 * Raises the estimates of this frame to the time of all waiting processes. Call this after
 * gfs2_take_waits().
 */
void gfs2_raise_estimates(struct source_sample *t);

/* ---- functions that the files of the GFS2 source share. */

/*
 * Counts the waits in ns->holders, and those in ns->holders_before that ended. Call this after
 * glstats and glocks were read.
 */
void gfs2_take_waits(struct source_sample *t, bool traced);

/*
 * Reads the trace, if one was recorded. Returns true if its events cover the frame and were
 * counted.
 */
bool gfs2_take_trace(struct source_sample *t);

/*
 * Returns the holders of a glock that the sample before showed. They are known until the glock's
 * line of glocks comes.
 */
struct holder *gfs2_holders_then(const struct source_sample *t, const struct lock *lock,
				 uint32_t *n);

/* Returns the sentence of a wait, as struct source has it. */
char *gfs2_sentence(const struct model *m, const struct row_wait *wait, struct blocker *root);

#endif
