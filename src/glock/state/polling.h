/* SPDX-License-Identifier: MIT */
/*
 * polling.h - makes the calling thread the one that polls the lock manager, or ends that. See
 * poll_begin and poll_end in lockman.h. A call that would change nothing does nothing.
 */
#ifndef GLOCK__POLLING_H
#define GLOCK__POLLING_H

#include "glock/core/internal.h"

GLOCK__INLINE void glock__poll_begin(struct glock_space *space)
{
	const struct glock__lm_ops *ops = space->lm->ops;
	struct glock__deferred *d = &glock__tls()->deferred;

	d->moment = 0;
	if (!d->polls)
		d->polls = ops->poll_begin && ops->poll_begin(space->lm);
}

GLOCK__INLINE void glock__poll_end(struct glock_space *space)
{
	struct glock__deferred *d = &glock__tls()->deferred;

	d->moment = 0;
	if (!d->polls)
		return;
	d->polls = false;
	space->lm->ops->poll_end(space->lm);
}

#endif
