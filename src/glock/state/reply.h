/* SPDX-License-Identifier: MIT */
/*
 * reply.h - events of the lock manager.
 */
#ifndef GLOCK__REPLY_H
#define GLOCK__REPLY_H

#include "glock/core/internal.h"

/* The functions that a lock manager calls for its events. It holds no lock of the library. */
extern const struct glock__lm_events glock__events;
/* Takes in the grants that waited for the end of a recovery. The work calls it. */
void glock__thaw(struct glock_space *space);
/* Translates a peer into the form that the program sees. */
void glock__peer(const struct glock__lm_peer *from, struct glock_peer *to);
void glock__node(const struct glock__lm_node *from, struct glock_node *to);

/*
 * Counts a demand and hands it to glock__hold_or_demote(). idle: a request with TRY_IDLE waits.
 * Returns true if it waits in vain. The caller does not hold gl->lock.
 */
bool glock__on_bast(struct glock *gl, enum glock_mode to, bool idle);

/* ---- under gl->lock ---- */

/* Applies the events of the glock that this thread deferred. */
void glock__apply_deferred(struct glock *gl);
/* Lets the frozen reply of the glock go on. */
GLOCK__COLD void glock__unfreeze(struct glock *gl);
/* Stores the answer to the open request. The work of the glock takes it in. */
void glock__store_reply(struct glock *gl, const struct glock__answer *a);
/* The call has returned. Counts the request, unless its answer was counted with it. */
void glock__count_request(struct glock *gl);

#endif
