/* SPDX-License-Identifier: MIT */
/*
 * demote.h - demands of other nodes, and the hold time: for how long a node keeps a glock that
 * another node wants. The caller has gl->lock, unless a
 * declaration says otherwise.
 */
#ifndef GLOCK__DEMOTE_H
#define GLOCK__DEMOTE_H

#include "glock/fast/word.h"

#include "busy.h"

/* Asks the glock to go down to mode `to`, not before the time `until` (0: now). */
void glock__request_demote(struct glock *gl, enum glock_mode to, int64_t until, bool remote);
/* Returns the mode to which the wanted demote leads, or the state if none is wanted. */
enum glock_mode glock__demote_target(const struct glock *gl);
/* The demote is done: wakes the threads that wait for it. */
void glock__demote_done(struct glock *gl);
/* Makes a pending demote due if the hold time has ended, or queues work for the end. */
void glock__demote_if_due(struct glock *gl);
/* Handles the demand of another node: demotes the glock, not at_once after its hold time. */
void glock__hold_or_demote(struct glock *gl, enum glock_mode to, bool at_once);
/* As in Linux 6.1: shortens the hold time, because nodes fight for the glock; or lengthens it. */
void glock__hold_shrink(struct glock *gl);
GLOCK__COLD void glock__hold_grow(struct glock *gl);
/*
 * Closes the word as glock__fast_shut(), and ends a bias. Drops gl->lock for a heavy fence, and
 * takes it again.
 */
GLOCK__COLD void glock__fast_end_bias(struct glock *gl);
GLOCK__INLINE void glock__fast_close(struct glock *gl)
{
	glock__fast_shut(gl);
	if (gl_busy(gl)->bias)
		glock__fast_end_bias(gl);
}
/* Sets hold_first and hold_max of each type, when flags and types of the space are known. */
void glock__hold_types(struct glock_space *space);

/* ---- hold.c: the policy of the hold time. docs/libglock.md derives it. Under gl->lock. ---- */

/*
 * Returns the time until which a new demand waits, 0 if the glock is given up now. `to` is the mode
 * that the demand allows.
 */
int64_t glock__hold_bast(struct glock *gl, enum glock_mode to);
/* Returns the same for a demand that waits already. */
int64_t glock__hold_look(struct glock *gl);
/* Returns for how long a request with TRY waits for a hand-over. */
int64_t glock__hold_idle(const struct glock *gl);
/* A holder asks for that mode, and is not in the list yet. The word is closed. */
void glock__hold_asked(struct glock *gl, enum glock_mode mode);
/* This holder was let go, and is out of list and word. The word is closed. */
void glock__hold_let_go(struct glock *gl, const struct glock__holder *gh);
/* A use that goes on is in vain. Its end is to be seen, so the word does not only count it. */
void glock__hold_idle_use(struct glock *gl);
/* The lock manager has granted that mode. */
void glock__hold_granted(struct glock *gl, enum glock_mode mode);
/* The holder that waited for a grant runs. */
void glock__hold_entered(struct glock *gl);
/* The node begins to give the glock up for a demand; the lock manager has it. */
void glock__hold_giving_up(struct glock *gl);
void glock__hold_given_up(struct glock *gl);

#endif
