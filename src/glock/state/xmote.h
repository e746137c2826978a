/* SPDX-License-Identifier: MIT */
/*
 * xmote.h - a change of state. The caller has gl->lock and the bit lock.
 */
#ifndef GLOCK__XMOTE_H
#define GLOCK__XMOTE_H

#include "glock/core/internal.h"

/* Begins a change to mode `to`. Drops gl->lock and takes it again. */
void glock__xmote(struct glock *gl, enum glock_mode to);
/* Applies the stored reply of the lock manager, and goes on with the change. */
void glock__take_reply(struct glock *gl);
/*
 * Tell whether this thread leaves a step to the threads that run the work; see inline_work.h. The
 * first step applies the stored reply. The second begins a change for that waiter.
 */
bool glock__reply_is_left(struct glock *gl);
bool glock__xmote_is_left(struct glock *gl, const struct glock__holder *gh);
/* Cancels the open request if no waiter wants its mode. Drops gl->lock and takes it again. */
void glock__cancel_request(struct glock *gl);

/* ---- the steps of a change, for shortcuts.c ---- */

/* Notes in the flags whether a request for `to` may have to wait. */
void glock__xmote_blocking(struct glock *gl, enum glock_mode to, unsigned int tries);
/*
 * Asks the lock manager for `to`. Drops and retakes gl->lock. The answer may be stored then.
 * Returns 0, or the negative errno with which the lock manager refused the request.
 */
int glock__xmote_request(struct glock *gl, enum glock_mode to, unsigned int tries);
/*
 * Goes on after a request that was refused (err), or whose answer this thread may not apply now.
 * With a stored answer it returns, because the work applies the answer.
 */
void glock__xmote_submitted(struct glock *gl, enum glock_mode to, int err);
/* Sets the state, and what depends on the state. */
void glock__change_state(struct glock *gl, enum glock_mode to);

#endif
