/* SPDX-License-Identifier: MIT */
/*
 * gfs2_estimate.h - estimates of GFS2's waits where none was measured.
 *
 * The estimate of a glock comes from the move of its smoothed mean. That of all flocks of a node
 * comes from the totals in sbstats.
 */
#ifndef O2TOP_GFS2_ESTIMATE_H
#define O2TOP_GFS2_ESTIMATE_H

#include "flock.h"
#include "o2top/sources/lines/gfs2_line.h"

#include <stdbool.h>
#include <stdint.h>

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
 * About every second request takes the lock and blocks; the others give the lock up. If the mean
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

#endif
