/* SPDX-License-Identifier: MIT */
/*
 * inline_work.h - a thread that requests or releases a glock runs the work of the glock itself.
 */
#ifndef GLOCK__INLINE_WORK_H
#define GLOCK__INLINE_WORK_H

#include "glock/core/internal.h"

/*
 * After a begin that returned true, the calling thread runs the work of this glock itself, as soon
 * as it can. The end stops that. The caller holds no lock.
 */
bool glock__inline_begin(struct glock *gl);
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
}
/* As glock__wait(), but runs the work of the glock meanwhile. Includes glock__inline_end(). */
int glock__wait_for(struct glock *gl, uint32_t *word, uint32_t seen, int64_t deadline);

#endif
