/* SPDX-License-Identifier: MIT */
/*
 * hold.h - the policy of the hold time: for how long a node keeps a glock that another node wants.
 *
 * docs/libglock.md derives the policy. All functions run under gl->lock.
 */
#ifndef GLOCK__HOLD_H
#define GLOCK__HOLD_H

#include "glock/core/internal.h"

/* Tells whether the policy sets the hold time of this glock. Otherwise the hold time is fixed. */
bool glock__hold_adapts(const struct glock *gl);

/*
 * Returns the time until which a new demand waits, 0 if the glock is given up now. `to` is the mode
 * that the demand allows.
 */
int64_t glock__hold_bast(struct glock *gl, enum glock_mode to);
/* Returns the same for a demand that waits already. */
int64_t glock__hold_look(struct glock *gl);
/* Tells whether the word stays closed, because the policy has to see each use. */
bool glock__hold_sees_uses(const struct glock *gl);

/* Holders were granted in that mode. The word and the queue count them. */
GLOCK__INLINE void glock__hold_count(struct glock *gl, enum glock_mode mode, int64_t n)
{
	struct glock__hold_state *s = &gl_busy(gl)->hold_state;

	s->n[GLOCK__USES_ANY] += (uint32_t)n;
	if (mode == GLOCK_EX)
		s->n[GLOCK__USES_EX] += (uint32_t)n;
}

/* A holder is granted that asked at that time. Waits that overlap count once. */
GLOCK__INLINE void glock__hold_waited(struct glock *gl, int64_t asked)
{
	struct glock__hold_state *s = &gl_busy(gl)->hold_state;
	int64_t now = gl_now(gl); /* the caller has read the clock */

	s->blocked += now - (asked > s->blocked_until ? asked : s->blocked_until);
	s->blocked_until = now;
}

/* A holder asks for that mode, and is not in the list yet. The word is closed. */
void glock__hold_asked(struct glock *gl, enum glock_mode mode);
/* A holder was let go in that mode, and is out of list and word. The word is closed. */
void glock__hold_let_go(struct glock *gl, enum glock_mode mode);
/* The lock manager has granted EX. */
void glock__hold_granted(struct glock *gl);
/* The holder that waited for a grant runs. */
void glock__hold_entered(struct glock *gl);
/* The node begins to give the glock up for a demand; the lock manager has it. */
void glock__hold_giving_up(struct glock *gl);
void glock__hold_given_up(struct glock *gl);

#endif
