/* SPDX-License-Identifier: MIT */
/*
 * run.c - decides on the next step of a glock: a demote, grants, or a change of state.
 *
 * The thread that clears the bit lock runs the queue. A demand of another node comes before the
 * waiters of this node, because this node must not starve the others. No demand takes a lock away
 * from a holder.
 *
 * If the lock manager answers within the call, the change is over when glock__xmote() returns. Then
 * the queue goes on at once: most misses take their two steps in one run.
 */
#include "queue.h"

#include "demote.h"
#include "work.h"

#include <assert.h>
#include <errno.h>

/* Queues work that goes on with the queue, on this thread only if it may take the next step. */
static void run_later(struct glock *gl, bool leave)
{
	if (leave)
		glock__inline_leave(gl);
	else
		glock__work_queue(gl, gl_now(gl));
}

/*
 * Takes the bit lock and changes the state for the waiter gh, or for a demand. Returns true if the
 * change is over already.
 */
static bool change(struct glock *gl, enum glock_mode to, const struct glock__holder *gh)
{
	gl->flags |= GLOCK__F_LOCK;
	gl_busy(gl)->target = to;
	glock__xmote(gl, to, gh);
	return gl_busy(gl)->must_run;
}

/* Starts the demote to a weaker mode. Returns true if the queue may go on. */
static bool run_demote(struct glock *gl, enum glock_mode to, bool nonblock)
{
	bool leave = glock__inline_leaves(gl, NULL);

	if (glock__is_held(gl))
		return false; /* until the holders let go; new requests wait behind */
	if (nonblock || leave) {
		run_later(gl, leave);
		return false;
	}
	glock__hold_giving_up(gl);
	gl->flags |= GLOCK__F_DEMOTE_IN_PROGRESS;
	return change(gl, to, NULL);
}

/* Changes the state for the waiter gh. Returns true if the queue may go on. */
static bool run_change(struct glock *gl, const struct glock__holder *gh, bool nonblock)
{
	bool leave = glock__xmote_is_left(gl, gh);

	if (nonblock || leave) {
		run_later(gl, leave);
		return false;
	}
	if (!(gh->flags & GLOCK__TRIES) && gh->list.next != &gl_busy(gl)->holders)
		glock__fail_waiters(gl, -EBUSY, true);
	return change(gl, gl_type(gl)->path ? gl_type(gl)->path->mode(gl, gh) : gh->mode, gh);
}

/* Does one step. Returns true if the queue may go on. */
static bool run_step(struct glock *gl, bool nonblock)
{
	struct glock__holder *gh;
	enum glock_mode to;
	bool left;

	gl_busy(gl)->must_run = false;
	if (gl->flags & GLOCK__F_LOCK)
		return false; /* the thread with the bit lock runs the queue */
	if (glock__grants_paused(gl_space(gl)) && !glock__lock_is_lost(gl)) {
		glock__fail_waiters(gl, -EAGAIN, true);
		return false; /* until the event resume */
	}
	if (gl->flags & GLOCK__F_DEMOTE && !gl_busy(gl)->awaits) {
		to = glock__demote_target(gl);
		if (to != gl->state)
			return run_demote(gl, to, nonblock);
		glock__demote_done(gl);
	}
	gh = glock__promote(gl, nonblock, &left);
	if (left) {
		run_later(gl, !nonblock); /* this thread leaves the operation */
		return false;
	}
	gl_busy(gl)->must_run = false;
	if (!gh || glock__is_held(gl))
		return false;
	/*
	 * A demote was asked for while a lock operation ran, or by the operation. Or the waiter
	 * fits, but was not granted because of a thread that tried the fast path and left again.
	 */
	if (gl->flags & GLOCK__F_DEMOTE || glock__state_serves(gl->state, gh->mode, gh->flags))
		return true;
	return run_change(gl, gh, nonblock);
}

void glock__run_queue(struct glock *gl, bool nonblock)
{
	assert(gl_held(gl));
	/* No request waits beside a bias. If a demand waits, its work ends the bias. */
	if (__builtin_expect(gl_busy(gl)->bias, 0)) {
		assert(!glock__first_waiter(gl));
		gl_busy(gl)->must_run = false;
		return;
	}
	glock__fast_shut(gl);
	if (glock__is_unusable(gl_space(gl)))
		glock__fail_waiters(gl, -EIO, false);
	while (run_step(gl, nonblock))
		;
}

bool glock__now_idle(struct glock *gl)
{
	assert(gl_held(gl));
	if (gl->flags & GLOCK__F_LOCK || !gl->lk.held || !glock__list_empty(&gl_busy(gl)->holders))
		return false;
	atom_store8(&gl->lk.held, false);
	return true;
}

void glock__work_run(struct glock *gl)
{
	assert(gl_held(gl));
	if (gl_busy(gl)->fence)
		glock__fast_close(gl);
	/*
	 * A reply is not applied during its cancel, because the cancel must not hit the next
	 * request.
	 */
	if (gl->flags & GLOCK__F_HAVE_REPLY && !(gl->flags & GLOCK__F_CANCELING)) {
		if (glock__reply_is_left(gl)) {
			glock__inline_leave(gl);
			return;
		}
		glock__take_reply(gl);
	}
	if (gl_busy(gl)->ask_again) {
		if (glock__inline_leaves(gl, NULL)) {
			glock__inline_leave(gl);
			return;
		}
		glock__ask_again(gl);
	}
	glock__cancel_again(gl);
	glock__demote_if_due(gl);
	if (gl_busy(gl)->deadlines && glock__deadlines_expire(gl))
		glock__cancel_request(gl);
	glock__run_queue(gl, false);
	if (!glock__now_idle(gl))
		return;
	gl_unlock(gl);
	gl_space(gl)->lm->ops->idle(gl_space(gl)->lm, &gl->lk);
	gl_lock(gl);
}
