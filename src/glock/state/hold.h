/* SPDX-License-Identifier: MIT */
/*
 * hold.h - the policy of the hold time: for how long a node keeps a glock that another node wants.
 *
 * docs/libglock.md derives the policy. All functions run under gl->lock.
 */
#ifndef GLOCK__HOLD_H
#define GLOCK__HOLD_H

#include "glock/core/internal.h"

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
