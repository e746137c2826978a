/* SPDX-License-Identifier: MIT */
/*
 * queue.h - the queue of a glock: which holder is granted next. The caller has gl->lock, unless a
 * declaration says otherwise.
 */
#ifndef GLOCK__QUEUE_H
#define GLOCK__QUEUE_H

#include "busy.h"

/* Tells whether this node has a holder, in the list or by the word. Closes the word. */
bool glock__is_held(struct glock *gl);
struct glock__holder *glock__first_holder(struct glock *gl);
struct glock__holder *glock__first_waiter(struct glock *gl);
/* Tells whether the state and the present holders admit gh now. */
/* Tells whether an operation has to run before the holder is granted: instantiate, lock. */
bool glock__must_enter(const struct glock *gl, const struct glock__holder *gh);
bool glock__may_grant(struct glock *gl, const struct glock__holder *gh);

/*
 * Does the next step: grants, starts a demote or asks the lock manager. With nonblock a step that
 * may block is left to the work.
 */
void glock__run_queue(struct glock *gl, bool nonblock);

#ifdef GLOCK_ATOM_HOOKS
/* Not NULL: called for each grant by the queue, in order. */
extern void (*glock__grant_hook)(const struct glock *gl, const struct glock__holder *gh);
#endif

/* Grants a waiter; or removes a waiter from the list with an error. */
void glock__grant(struct glock *gl, struct glock__holder *gh);
void glock__fail(struct glock *gl, struct glock__holder *gh, int error);
/* Has the work look at the queue when the request's deadline comes, if the request has one. */
void glock__deadline_set(struct glock *gl, const struct glock__holder *gh);
/* Removes a holder from the list, and does nothing else. */
void glock__unlink(struct glock *gl, struct glock__holder *gh);

/* Runs the work of the glock. Drops gl->lock and takes it again. */
void glock__work_run(struct glock *gl);
/* Tells whether the caller has to call ops->idle: the last holder since the grant has gone. */
bool glock__now_idle(struct glock *gl);
/* Clears the bit lock. The caller runs the queue, or queues work that does. */
void glock__clear_lock(struct glock *gl);
/* Fails all waiters; with tries_only the tries. -EBUSY is for TRY_IDLE, and -EAGAIN for others. */
void glock__fail_waiters(struct glock *gl, int error, bool tries_only);
/*
 * Grants the waiters that fit, in the order of their requests. Returns false if the next grant
 * needs an operation that may block, and nonblock is set.
 */
bool glock__promote(struct glock *gl, bool nonblock);

/* Delivers the events that the lock manager has for this node. The caller holds no lock. */
GLOCK__INLINE void glock__poll(struct glock_space *space)
{
	if (glock__lm_due(space->lm))
		space->lm->ops->poll(space->lm);
}

#endif
