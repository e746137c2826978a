/* SPDX-License-Identifier: MIT */
/*
 * hold.h - the policy of the hold time: for how long a node keeps a glock that another node wants.
 *
 * docs/libglock.md derives the policy. All functions run under gl->lock.
 */
#ifndef GLOCK__HOLD_H
#define GLOCK__HOLD_H

#include "glock/core/internal.h"

/* Sets the policy's record of a glock that gets a busy part: as that of its type. */
void glock__hold_begin(struct glock *gl, struct glock__hold *h);
/* Tells whether the policy sets the hold time of this glock. Otherwise the hold time is fixed. */
bool glock__hold_adapts(const struct glock *gl);

/*
 * Returns the time until which a new demand waits, 0 if the glock is given up now. `to` is the mode
 * that the demand allows.
 */
int64_t glock__hold_bast(struct glock *gl, enum glock_mode to);
/* Returns the same for a demand that waits already, at the time for which the work was queued. */
int64_t glock__hold_look(struct glock *gl);
/* A holder was let go in that mode, and is out of list and word. */
void glock__hold_let_go(struct glock *gl, enum glock_mode mode);
/* A holder asks for that mode, and is not in the list yet. */
void glock__hold_asked(struct glock *gl, enum glock_mode mode);
/* A grant in EX was given up, `took` ns after the node began to. */
void glock__hold_released(struct glock *gl, int64_t took);
/* The holder that waited for a grant runs. */
void glock__hold_entered(struct glock *gl);

#endif
