/* SPDX-License-Identifier: MIT */
/*
 * inline_work.h - a thread that requests or releases a glock runs the work of the glock itself.
 */
#ifndef GLOCK__INLINE_WORK_H
#define GLOCK__INLINE_WORK_H

#include "glock/core/internal.h"

/*
 * After a begin that returned true, the calling thread runs the work of this glock itself, as soon
 * as it can. The end stops that. The caller holds no lock. `own` is the request for which the
 * thread waits, or NULL.
 */
bool glock__inline_begin(struct glock *gl, const struct glock__holder *own);
/*
 * Tells whether this thread leaves the next step of the glock to the threads that run the work. The
 * step may call an operation. A thread that runs inline work calls operations for its own request
 * only. gh is the request that the step serves, or NULL.
 */
GLOCK__INLINE bool glock__inline_leaves(const struct glock *gl, const struct glock__holder *gh)
{
	const struct glock__deferred *d = &glock__tls()->deferred;

	return d->with_ops == gl && (!gh || d->own != gh) && !FAULT(OPERATIONS_ON_ANY_THREAD);
}
/* Queues the work of the glock for those threads. Under gl->lock. */
GLOCK__INLINE void glock__inline_leave(struct glock *gl)
{
	struct glock__deferred *d = &glock__tls()->deferred;

	assert(gl_held(gl) && d->gl == gl);
	(void)gl;
	d->queued = d->leaves = true;
}
/* As glock__poll(). Events of this glock are deferred: the caller takes gl->lock next. */
void glock__inline_poll(struct glock *gl);
/* Runs the work that was queued since. Under gl->lock, which it drops and takes again. */
void glock__inline_run(struct glock *gl);
void glock__inline_finish(struct glock *gl);
GLOCK__INLINE void glock__inline_end(struct glock *gl)
{
	struct glock__tls *tls = glock__tls();

	assert(tls->deferred.gl == gl);
	if (tls->deferred.queued || tls->deferred.polls)
		glock__inline_finish(gl);
	tls->deferred.gl = NULL;
	tls->deferred.with_ops = NULL;
}
/*
 * Waits until the state of the holder is not `seen`, as glock__wait(). Runs the work of its glock
 * meanwhile. Includes glock__inline_end().
 */
int glock__wait_for(struct glock__holder *gh, uint32_t seen, int64_t deadline);

#endif
