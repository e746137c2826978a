/* SPDX-License-Identifier: MIT */
/*
 * polling.h - tells the lock manager whether the calling thread polls.
 */
#ifndef GLOCK__POLLING_H
#define GLOCK__POLLING_H

#include "glock/core/internal.h"

/*
 * Begins or ends the poll of the calling thread: see poll_begin and poll_end in lockman.h. A call
 * that would change nothing does nothing.
 */
GLOCK__INLINE void glock__set_polling(struct glock_space *space, bool polls)
{
	const struct glock__lm_ops *ops = space->lm->ops;
	struct glock__tls *tls = glock__tls();

	tls->deferred.moment = 0;
	if (polls && !tls->deferred.polls) {
		tls->deferred.polls = ops->poll_begin && ops->poll_begin(space->lm);
	} else if (!polls && tls->deferred.polls) {
		tls->deferred.polls = false;
		ops->poll_end(space->lm);
	}
}

#endif
