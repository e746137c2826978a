/* SPDX-License-Identifier: MIT */
/*
 * inline_work.h - a thread that asks or lets go runs the work of its glock itself.
 */
#ifndef GLOCK__INLINE_WORK_H
#define GLOCK__INLINE_WORK_H

#include "glock/core/internal.h"

/*
 * From begin, if that returns true, until end: the calling thread runs this glock's work by itself
 * as soon as it can. Not under any lock.
 */
bool glock__inline_begin(struct glock *gl);
/* What the lock manager has; what it says of this glock is kept until its lock is taken right after. */
void glock__inline_poll(struct glock *gl);
/* Runs what was queued since; under gl->lock, which it drops and takes again. */
void glock__inline_run(struct glock *gl);
void glock__inline_finish(struct glock *gl);
GLOCK__INLINE void glock__inline_end(struct glock *gl)
{
	struct glock__tls *tls = glock__tls();

	assert(tls->deferred.gl == gl);
	if (tls->deferred.queued || tls->deferred.polls)
		glock__inline_finish(gl);
	tls->deferred.gl = NULL;
}
/* As glock__wait(), and runs the glock's work meanwhile. Ends what glock__inline_begin() began. */
int glock__wait_for(struct glock *gl, uint32_t *word, uint32_t seen, int64_t deadline);

#endif
