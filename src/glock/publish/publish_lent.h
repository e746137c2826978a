/* SPDX-License-Identifier: MIT */
/*
 * publish_lent.h - publishes the lent record of a glock, and counts into histograms. If the node
 * has no segment, or the segment has no room, the functions do nothing.
 *
 * All functions run under gl->lock. busy.c lends the record.
 */
#ifndef GLOCK__PUBLISH_LENT_H
#define GLOCK__PUBLISH_LENT_H

#include "glock/core/internal.h"

/* Gives the record of a glock a place in the segment, or puts the place back. */
void glock__publish_lent(struct glock *gl);
void glock__publish_lent_gone(struct glock *gl);
/* Publishes a policy that changed. */
void glock__publish_policy(struct glock *gl);

void glock__count_granted(struct glock *gl, enum glock_mode mode, int64_t n);
void glock__count_time(struct glock *gl, enum glock__histogram which, int64_t ns);

/* Counts n grants in that mode, in the record of the glock only. */
GLOCK__INLINE void glock__publish_granted(struct glock *gl, enum glock_mode mode, int64_t n)
{
	if (gl_busy(gl)->lent)
		glock__count_granted(gl, mode, n);
}

/* Counts a time, in the histogram of the glock's type and in its record. */
GLOCK__INLINE void glock__publish_time(struct glock *gl, enum glock__histogram which, int64_t ns)
{
	if (gl_space(gl)->publisher)
		glock__count_time(gl, which, ns);
}

#endif
