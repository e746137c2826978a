/* SPDX-License-Identifier: MIT */
/*
 * gfs2_flock.h - the time that all flocks of a node lost, from the totals in sbstats.
 */
#ifndef O2TOP_GFS2_FLOCK_H
#define O2TOP_GFS2_FLOCK_H

#include "flock.h"
#include "o2top/sources/lines/gfs2_line.h"

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
