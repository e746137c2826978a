/* SPDX-License-Identifier: MIT */
/*
 * hold_state.h - the observations of the policy of the hold time that the word and the queue make.
 * All functions run under gl->lock.
 */
#ifndef GLOCK__HOLD_STATE_H
#define GLOCK__HOLD_STATE_H

#include "glock/core/internal.h"

/* Tells whether the policy sets the hold time of this glock. Otherwise the hold time is fixed. */
GLOCK__INLINE bool glock__hold_adapts(const struct glock *gl)
{
	return gl_type(gl)->hold == 0 && !(gl_space(gl)->flags & GLOCK_SPACE_LINUX_6_1);
}

/* Tells whether the word stays closed, because the policy has to see each use. */
GLOCK__INLINE bool glock__hold_sees_uses(const struct glock *gl)
{
	return gl->flags & GLOCK__F_PENDING_DEMOTE && glock__hold_adapts(gl) &&
	       !gl_busy(gl)->hold_state.counting;
}

/*
 * Holders were granted in that mode. The word and the queue count them. An earlier end of a use in
 * EX begins no gap any more.
 */
GLOCK__INLINE void glock__hold_count(struct glock *gl, enum glock_mode mode, int64_t n)
{
	struct glock__hold_state *s = &gl_busy(gl)->hold_state;

	s->n[GLOCK__USES_ANY] += (uint32_t)n;
	if (mode == GLOCK_EX && n) {
		s->n[GLOCK__USES_EX] += (uint32_t)n;
		s->ended[GLOCK__USES_EX] = 0;
	}
}

/* A holder is granted that asked at that time. Waits that overlap count once. */
GLOCK__INLINE void glock__hold_waited(struct glock *gl, int64_t asked)
{
	struct glock__hold_state *s = &gl_busy(gl)->hold_state;
	int64_t now = gl_now(gl); /* the caller has read the clock */

	s->blocked += now - (asked > s->blocked_until ? asked : s->blocked_until);
	s->blocked_until = now;
}

#endif
