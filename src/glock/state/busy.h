/* SPDX-License-Identifier: MIT */
/*
 * busy.h - takes and drops the lock of a glock, and with the lock its busy part.
 */
#ifndef GLOCK__BUSY_H
#define GLOCK__BUSY_H

#include "glock/core/internal.h"

/* Lends the glock its busy part, or takes it back. Under gl->lock. */
void glock__busy_attach(struct glock *gl);
void glock__busy_detach(struct glock *gl);

/* Notes that this thread has just taken gl->lock. */
GLOCK__INLINE void gl_locked(struct glock *gl)
{
	struct glock__tls *tls = glock__tls();

	assert(!tls->deferred.locked); /* never two at a time */
	if (!(gl->flags & GLOCK__F_BUSY))
		glock__busy_attach(gl);
	tls->deferred.locked = gl;
	tls->deferred.busy = glock__busy_of(gl);
}

GLOCK__INLINE void gl_lock(struct glock *gl)
{
	glock__lock_take(&gl->lock);
	gl_locked(gl);
}

void glock__unlock(struct glock *gl);
void glock__unlock_for_call(struct glock *gl);
/* Publishes the changes, detaches the busy part if nothing is pending, and drops the lock. */
GLOCK__INLINE void gl_unlock(struct glock *gl)
{
	glock__unlock(gl);
}
/*
 * As gl_unlock(), for the call that makes a request. The caller has the bit lock, and the word is
 * closed. The glock keeps its busy part, and the request counts the holders queued until now.
 */
GLOCK__INLINE void gl_unlock_for_call(struct glock *gl)
{
	glock__unlock_for_call(gl);
}

/* Lends the glock a record (lent.h), unless it has one. Under gl->lock. NULL without memory. */
struct glock__lent *glock__lend(struct glock *gl);
/* Takes the record back, and teaches the type. Under gl->lock. Does nothing without a record. */
void glock__lent_return(struct glock *gl);
/*
 * Takes records back while the pool has too few, from glocks whose lock is free. gl_unlock() calls
 * this after it has dropped the lock.
 */
GLOCK__COLD void glock__lent_trim(struct glock_space *space);

/* Tells whether too many glocks that a limit gave up are still cached; see lru.c. */
GLOCK__INLINE bool glock__too_many_leave(struct glock_space *space)
{
	const uint32_t leaving = atom_load32(&space->lru.leaving);

	/* If none is leaving, the types object to giving more up. */
	return leaving && (size_t)atom_load32(&space->parts[0].idle) + leaving >
			      space->lru.max + space->lru.max / 10 + 1;
}
/* Notes that the glock is not cached any more, if a limit gave it up. Under gl->lock. */
GLOCK__COLD void glock__has_left(struct glock *gl);
GLOCK__INLINE void glock__left(struct glock *gl)
{
	if (__builtin_expect(gl_busy(gl)->leaving, 0))
		glock__has_left(gl);
}

bool glock__work_queued(struct glock *gl);

#endif
