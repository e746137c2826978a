/* SPDX-License-Identifier: MIT */
/*
 * measure.h - measures the use time of a holder: from its grant to its release.
 *
 * The fast path reads no clock. So a holder that is measured stays in the list, and the word of the
 * glock stays closed meanwhile. glock_choose() has a few uses measured. Everything under gl->lock.
 */
#ifndef GLOCK__MEASURE_H
#define GLOCK__MEASURE_H

#include "lent.h"

/*
 * Has the next use measured, if none is measured now. With `again` forgets the earlier ones. Does
 * nothing without a lent record.
 */
void glock__measure_next(struct glock *gl, bool again);

void glock__measure_granted(struct glock *gl, const struct glock__holder *gh);
void glock__measure_released(struct glock *gl);

/* For each holder that is granted, and for each one that leaves the list. */
GLOCK__INLINE void glock__measure_begin(struct glock *gl, const struct glock__holder *gh)
{
	if (__builtin_expect(gl_busy(gl)->measure_next, 0))
		glock__measure_granted(gl, gh);
}

GLOCK__INLINE void glock__measure_end(struct glock *gl, const struct glock__holder *gh)
{
	if (__builtin_expect(gl_busy(gl)->measured == gh, 0))
		glock__measure_released(gl);
}

#endif
