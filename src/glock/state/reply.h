/* SPDX-License-Identifier: MIT */
/*
 * reply.h - events of the lock manager.
 */
#ifndef GLOCK__REPLY_H
#define GLOCK__REPLY_H

#include "glock/core/internal.h"

/* The lock manager's events. Not under any lock. */
extern const struct glock__lm_events glock__events;
/* What was held back while others recovered goes on, unless they do again; the work calls it. */
void glock__thaw(struct glock_space *space);
/* As the program sees it. */
void glock__peer(const struct glock__lm_peer *from, struct glock_peer *to);

/* ---- under gl->lock ---- */

/* What this thread kept of it. */
void glock__apply_deferred(struct glock *gl);
/* A reply held back is looked at now. */
GLOCK__COLD void glock__unfreeze(struct glock *gl);
/* The answer to the open request is there; taken in by whoever does the glock's work. */
void glock__store_reply(struct glock *gl, const struct glock__answer *a);
/* The call has returned: the request goes into the statistics, if it did not with its answer. */
void glock__count_request(struct glock *gl);

#endif
