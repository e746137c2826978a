/* SPDX-License-Identifier: MIT */
/*
 * reply.h - events of the lock manager: those of a glock (reply.c), of a space (withdraw.c,
 * control.c), and the table of all (lm_events.c).
 */
#ifndef GLOCK__REPLY_H
#define GLOCK__REPLY_H

#include "glock/core/internal.h"

/* The functions that a lock manager calls for its events. It holds no lock of the library. */
extern const struct glock__lm_events glock__events;
/* Takes in the grants that waited for the end of a recovery. The work calls it. */
void glock__thaw(struct glock_space *space);
/* Translates a peer into the form that the program sees. */
void glock__node(const struct glock__lm_node *from, struct glock_node *to);

/*
 * Counts a demand and hands it to glock__hold_or_demote(). idle: a request with TRY waits.
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

/* ---- withdraw.c ---- */

/* Events of the lock manager: all locks are lost; the cluster is back; grants pause or go on. */
void glock__cluster_lost(struct glock_space *space);
void glock__cluster_back(struct glock_space *space);
void glock__pause_grants(struct glock_space *space, bool pause);

/* ---- control.c ---- */

/* The event control of the lock manager: serves the requests in the segment of this node. */
void glock__on_control(void *owner);

#endif
