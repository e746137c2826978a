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

/* Tells whether this node got the lock in a recovery. Until the thaw only RECOVER is granted. */
GLOCK__INLINE bool glock__is_kept_back(const struct glock *gl)
{
	return gl_busy(gl)->recover_first && atom_load8(&gl_space(gl)->recovering);
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

/* Parts of a glock as a thread without gl->lock may see them, for dumps and tests. */
struct glock__look {
	uint8_t target, demote_state, req, reply;
	bool any_holders;
	int64_t hold;
	struct glock__counts counts;
};
struct glock__look glock__look(const struct glock *gl);

bool glock__work_queued(struct glock *gl);

#endif
