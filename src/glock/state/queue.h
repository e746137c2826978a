/* SPDX-License-Identifier: MIT */
/*
 * queue.h - the state machine of a glock: the list of holders (queue.c), a change of state
 * (xmote.c), and the next step (run.c). The caller has gl->lock, unless a declaration says
 * otherwise.
 */
#ifndef GLOCK__QUEUE_H
#define GLOCK__QUEUE_H

#include "glock/fast/word.h"

#include "busy.h"
#include "work.h"

/* ---- queue.c ---- */

/*
 * Returns the waiter whose turn it is. If a holder with RECOVER was let in during recovery, only
 * waiters with RECOVER follow. The first one of them moves to the place in the list where granted
 * holders stand.
 */
struct glock__holder *glock__next_waiter(struct glock *gl);
/* Tells whether an operation has to run before the holder is granted: instantiate, lock. */
bool glock__must_enter(const struct glock *gl, const struct glock__holder *gh);
/* Tells whether the state and the present holders admit gh now. */
bool glock__may_grant(struct glock *gl, const struct glock__holder *gh);

#ifdef GLOCK_ATOM_HOOKS
/* Not NULL: called for each grant by the queue, in order. */
extern void (*glock__grant_hook)(const struct glock *gl, const struct glock__holder *gh);
#endif

/* Grants a waiter; or removes a waiter from the list with an error. */
void glock__grant(struct glock *gl, struct glock__holder *gh);
void glock__fail(struct glock *gl, struct glock__holder *gh, int error);
/* Has the work look at the queue when the request's deadline comes, if the request has one. */
void glock__deadline_set(struct glock *gl, const struct glock__holder *gh);
/* Fails the waiters whose deadline has come. Returns true if the first waiter was among them. */
GLOCK__COLD bool glock__deadlines_expire(struct glock *gl);
/* Removes a holder from the list, and does nothing else. */
void glock__unlink(struct glock *gl, struct glock__holder *gh);

/* Clears the bit lock. The caller runs the queue, or queues work that does. */
void glock__clear_lock(struct glock *gl);
/* Fails all waiters; with tries_only the tries. -EBUSY is for TRY, and -EAGAIN for others. */
void glock__fail_waiters(struct glock *gl, int error, bool tries_only);
struct glock__holder *glock__promote_waiters(struct glock *gl, bool nonblock, bool *left);
/*
 * Grants the waiters that fit, in the order of their requests; no waiter overtakes another one.
 * Returns the waiter that needs another state, while no holder is in its way, or NULL. *left: the
 * next grant needs an operation that may block, and this call may not run it.
 */
GLOCK__INLINE struct glock__holder *glock__promote(struct glock *gl, bool nonblock, bool *left)
{
	*left = false;
	return glock__has_waiter(gl) ? glock__promote_waiters(gl, nonblock, left) : NULL;
}

/* ---- xmote.c ---- */

/*
 * Begins a change to mode `to` for the waiter gh; NULL: for a demand. A try asks without waiting.
 * The caller has the bit lock. Drops gl->lock and takes it again.
 */
void glock__xmote(struct glock *gl, enum glock_mode to, const struct glock__holder *gh);
/* Makes the request again that the lock manager did not take. */
void glock__ask_again(struct glock *gl);
/* Cancels the request of which a stopped process kept the lock manager, or that was not made. */
void glock__cancel_again(struct glock *gl);
/* Applies the stored reply of the lock manager, and goes on with the change. */
void glock__take_reply(struct glock *gl);
/*
 * Tell whether this thread leaves a step to the threads that run the work; see inline_work.c. The
 * first step applies the stored reply. The second begins a change for that waiter.
 */
bool glock__reply_is_left(struct glock *gl);
bool glock__xmote_is_left(struct glock *gl, const struct glock__holder *gh);
/* Cancels the open request if no waiter wants its mode. Drops gl->lock and takes it again. */
void glock__cancel_request(struct glock *gl);

/* ---- run.c ---- */

/*
 * Does the next steps: grants, starts a demote or asks the lock manager. With nonblock a step that
 * may block is left to the work.
 */
void glock__run_queue(struct glock *gl, bool nonblock);
/* Runs the work of the glock. Drops gl->lock and takes it again. */
void glock__work_run(struct glock *gl);
/* Tells whether the caller has to call ops->idle: the last holder since the grant has gone. */
bool glock__now_idle(struct glock *gl);

/* Delivers the events that the lock manager has for this node. The caller holds no lock. */
GLOCK__INLINE void glock__poll(struct glock_space *space)
{
	if (glock__lm_due(space->lm))
		space->lm->polling->poll(space->lm);
}

/* ---- sync.c: waits for the bit lock ---- */

/*
 * Waits until no thread has the bit lock. Called under gl->lock, which it drops meanwhile, for a
 * glock with a holder or a reference. Returns false at once in an operation, because the thread
 * could wait for itself.
 */
bool glock__await_bit_lock(struct glock *gl);

/* Wakes the threads that wait for the bit lock. Under gl->lock, after the bit was cleared. */
GLOCK__INLINE void glock__bit_lock_free(struct glock *gl)
{
	struct glock__busy *b = gl_busy(gl);

	if (!b->awaited)
		return;
	atom_add32(&b->demotes_done, 1);
	glock__wake(gl_space(gl), &b->demotes_done);
}

#endif
