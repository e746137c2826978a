/* SPDX-License-Identifier: MIT */
/*
 * xmote.h - a change of state. The caller has gl->lock and the bit lock.
 */
#ifndef GLOCK__XMOTE_H
#define GLOCK__XMOTE_H

#include "glock/core/internal.h"

/* Begins it. Drops and retakes gl->lock. */
void glock__xmote(struct glock *gl, enum glock_mode to);
/* Goes on with it: the lock manager has answered. */
void glock__take_reply(struct glock *gl);
/* Cancels the open request if nobody here wants it any more. Drops and retakes the lock. */
void glock__cancel_request(struct glock *gl);

#endif
