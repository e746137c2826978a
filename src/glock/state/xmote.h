/* SPDX-License-Identifier: MIT */
/*
 * xmote.h - a change of state. The caller has gl->lock and the bit lock.
 */
#ifndef GLOCK__XMOTE_H
#define GLOCK__XMOTE_H

#include "glock/core/internal.h"

/* Begins a change to mode `to`. Drops gl->lock and takes it again. */
void glock__xmote(struct glock *gl, enum glock_mode to);
/* Takes in the stored reply of the lock manager, and goes on with the change. */
void glock__take_reply(struct glock *gl);
/* Cancels the open request if no waiter wants its mode. Drops gl->lock and takes it again. */
void glock__cancel_request(struct glock *gl);

#endif
