/* SPDX-License-Identifier: MIT */
/*
 * xmote.c - a change of state. No other file changes the state of a glock.
 *
 *   1. The queue decides on a change and takes the bit lock (run.c).
 *   2. glock__xmote() prepares the cache and asks the lock manager.
 *   3. reply.c stores the reply. If it did not come within the call, it queues work.
 *   4. finish() applies the reply: within glock__xmote(), or in the work. It may ask again. It
 *      clears the bit lock at the end.
 *   5. The queue runs.
 *
 * All functions run under gl->lock. They drop it while operations of the type and the lock manager
 * run.
 */
#include "queue.h"

#include "glock/core/space.h"
#include "glock/publish/publish_space.h"

#include "cache.h"
#include "demote.h"
#include "find.h"
#include "reply.h"
#include "show.h"
#include "work.h"

#include <assert.h>
#include <errno.h>

/* ns: the shortest and the longest time until a request that was not taken is made again */
#define AGAIN_MIN 1000000
#define AGAIN_MAX 16000000

GLOCK__INLINE void set_usable(struct glock *gl, bool usable)
{
	struct glock__record *r;

	if (usable == !!(gl->flags & GLOCK__F_USABLE))
		return;
	r = glock__record_edit(gl);
	r->usable = glock__share_turn(r->usable, gl_now(gl), usable);
	gl->flags ^= GLOCK__F_USABLE;
}

/*
 * Starts the hold time, because the lock manager granted that mode. To give a mode up is no grant,
 * and ends a hold.
 */
GLOCK__INLINE void hold_start(struct glock *gl, enum glock_mode to)
{
	bool down = glock__mode_is_down(gl->state, to);

	if (down)
		glock__publish_time(gl, GLOCK__HOLDS, gl_now(gl) - gl_record(gl)->granted_at);
	if (!down || glock__linux_hz)
		glock__record_edit(gl)->granted_at = gl_now(gl);
	if (!down)
		glock__hold_granted(gl, to);
}

/*
 * Notes that the next holder has to read the object in. The caller has dropped a part of the
 * cache. Or the new mode allows content that the old mode did not, as after DF.
 */
static void instantiate_again(struct glock *gl)
{
	if (gl_type(gl)->ops.instantiate)
		gl->flags |= GLOCK__F_INSTANTIATE_NEEDED;
}

/* Tells whether a change to `to` allows content in the cache that `from` does not allow. */
static bool allows_more(const struct glock *gl, enum glock_mode from, enum glock_mode to)
{
	return glock__type_cache_change(gl_type(gl)->info.caches, to, from).inval != 0;
}

/* Sets the state, and what depends on the state. */
static void change_state(struct glock *gl, enum glock_mode to)
{
	if (to == GLOCK_UN || allows_more(gl, gl->state, to))
		instantiate_again(gl);
	if (glock__linux_hz && to != gl_busy(gl)->target)
		glock__hold_shrink(gl);
	hold_start(gl, to);
	gl->state = to;
	set_usable(gl, to != GLOCK_UN);
}

/*
 * Tells whether a demand was met by giving up SH or DF on the way to another mode. The next grant
 * must not pay for this demand.
 */
static bool gave_up_on_the_way(const struct glock *gl)
{
	return gl->state == GLOCK_UN && gl_busy(gl)->req == GLOCK_UN &&
	       gl->flags & (GLOCK__F_DEMOTE | GLOCK__F_PENDING_DEMOTE) &&
	       !(gl->flags & GLOCK__F_DEMOTE_IN_PROGRESS) && !glock__linux_hz;
}

/*
 * In Linux 6.1 the queue does not run after a cancelled request. The next waiter asks at once. Also
 * a demand waits for that. Returns false elsewhere, and if no waiter needs a request.
 */
static bool asks_again_at_once(struct glock *gl, const struct glock__holder *gh)
{
	if (!glock__linux_hz || !gh || gh->mode == gl->state)
		return false;
	gl_busy(gl)->target = gh->mode;
	glock__xmote(gl, gh->mode, gh);
	return true;
}

/* Goes on after a reply that did not lead to the wanted mode. */
static void failed(struct glock *gl, enum glock__reply reply)
{
	struct glock__holder *gh = glock__first_waiter(gl);
	bool demoting = gl->flags & GLOCK__F_DEMOTE_IN_PROGRESS, refused;

	if (!demoting) {
		if (reply == GLOCK__CANCELED && asks_again_at_once(gl, gh))
			return;
		refused = gh && gh->flags & GLOCK__TRIES && reply != GLOCK__GRANTED &&
			  reply != GLOCK__CANCELED;

		if (!gh || refused || reply == GLOCK__CANCELED || reply == GLOCK__ERROR) {
			if (reply == GLOCK__ERROR)
				glock__fail_waiters(gl, -EIO, false);
			else if (refused)
				glock__fail_waiters(
				    gl, reply == GLOCK__TRY_AGAIN ? -EAGAIN : -EBUSY, true);
			gl_busy(gl)->target = gl->state;
			glock__clear_lock(gl);
			return;
		}
		/* The first waiter may be another one than at the time of the request. */
		if (gl->state == GLOCK_UN)
			gl_busy(gl)->target = gh->mode;
	}
	if (reply != GLOCK__GRANTED)
		gl_busy(gl)->more->counts.conversions_failed++;
	else if (gave_up_on_the_way(gl))
		glock__demote_done(gl);
	/*
	 * SH or DF on this node is in the way of another node. Give it up, then ask again. In Linux
	 * 6.1 a demote that asks again is a try if the first waiter is one.
	 */
	glock__xmote(
	    gl, gl->state == GLOCK_UN || gl->state == GLOCK_EX ? gl_busy(gl)->target : GLOCK_UN,
	    demoting && !glock__linux_hz ? NULL : gh);
}

/*
 * Tells whether UN was demanded during the demote. In Linux 6.1 a demote whose conversion was
 * refused asks for its mode again, from UN.
 */
static bool un_was_demanded(const struct glock *gl)
{
	if (glock__linux_hz)
		return gl_busy(gl)->demote_state == GLOCK_UN;
	return glock__demote_target(gl) == GLOCK_UN;
}

static void finish(struct glock *gl, enum glock__reply reply)
{
	bool left; /* the queue runs again in any case */
	int err;

	assert(gl_held(gl) && gl->flags & GLOCK__F_LOCK);
	gl->flags &= ~(uint32_t)GLOCK__F_MAY_CANCEL;
	if (gl->flags & GLOCK__F_STALE && gl_busy(gl)->req != GLOCK_UN)
		reply = GLOCK__ERROR; /* the grant came before the lock was lost */
	if (reply == GLOCK__ERROR && gl->flags & GLOCK__F_DEMOTE_IN_PROGRESS) {
		/* The lock manager is gone, so the mode cannot be given back to it. */
		if (!glock__lock_is_lost(gl))
			atom_store8(&gl_space(gl)->withdrawn, true);
		gl_busy(gl)->req = GLOCK_UN;
		gl_busy(gl)->target = GLOCK_UN;
		reply = GLOCK__GRANTED;
	}
	if (reply != GLOCK__ERROR)
		glock__trace_state_change(gl,
					  reply == GLOCK__GRANTED ? gl_busy(gl)->req : gl->state);
	if (reply == GLOCK__GRANTED)
		change_state(gl, gl_busy(gl)->req);
	else if (reply != GLOCK__ERROR && glock__linux_hz)
		change_state(gl, gl->state); /* in 6.1 a refusal counts as a change */
	else
		set_usable(gl, gl->state != GLOCK_UN); /* refused, also if it was a demote */
	if (gl->state == GLOCK_UN)
		gl->flags &= ~(uint32_t)GLOCK__F_STALE;
	if (gl->flags & GLOCK__F_DEMOTE_IN_PROGRESS && un_was_demanded(gl))
		gl_busy(gl)->target = GLOCK_UN;
	if (gl->state != gl_busy(gl)->target) {
		failed(gl, reply);
		return;
	}
	if (gl->flags & GLOCK__F_DEMOTE_IN_PROGRESS) {
		glock__hold_given_up(gl);
		gl->flags &= ~(uint32_t)GLOCK__F_DEMOTE_IN_PROGRESS;
		glock__demote_done(gl);
	}
	glock__publish_object(gl);
	if (gl->state != GLOCK_UN) {
		err = glock__op_xmote_bh(gl, gl->state);
		if (err)
			glock__fail_waiters(gl, err, false);
	}
	(void)glock__promote(gl, false, &left);
	glock__clear_lock(gl);
}

/* Tells whether finish() calls no operation but those that read the object in for `own`. */
static bool finish_is_plain(struct glock *gl, const struct glock__holder *gh)
{
	const struct glock__busy *b = gl_busy(gl);
	bool own = gh && glock__tls()->deferred.own == gh;

	if (gl->flags & GLOCK__F_DEMOTE_IN_PROGRESS) /* more may have been demanded meanwhile */
		return b->reply == GLOCK__GRANTED && b->req == GLOCK_UN;
	if (b->reply == GLOCK__GRANTED)
		return b->req == b->target && (own || !gl_type(gl)->ops.xmote_bh);
	return b->reply == GLOCK__CANCELED || b->reply == GLOCK__ERROR || !gh ||
	       gh->flags & GLOCK__TRIES;
}

bool glock__reply_is_left(struct glock *gl)
{
	return glock__inline_leaves(gl, NULL) && !finish_is_plain(gl, glock__first_waiter(gl));
}

bool glock__xmote_is_left(struct glock *gl, const struct glock__holder *gh)
{
	struct glock__cache_change c;

	if (!glock__inline_leaves(gl, NULL))
		return false;
	c = glock__type_cache_change(gl_type(gl)->info.caches, gl->state, gh->mode);
	return glock__inline_leaves(gl, gh) || c.sync || c.inval || glock__lock_is_lost(gl);
}

void glock__take_reply(struct glock *gl)
{
	gl->flags &= ~(uint32_t)GLOCK__F_HAVE_REPLY;
	glock__unpin(gl); /* the pin of the open request; the work has another one */
	finish(gl, gl_busy(gl)->reply);
}

/* Returns the lock manager's flags for the request that is being made. */
static uint32_t lkf(const struct glock *gl, enum glock_mode to, unsigned int tries)
{
	uint32_t flags = 0;

	if (gl->lk.has_lvb)
		flags |= GLOCK__LKF_VALBLK;
	if (gl->lk.id)
		flags |= GLOCK__LKF_CONVERT;
	/*
	 * No EX holder of this node has been told of the death. Ask the lock manager to tell the
	 * next one, on any node.
	 */
	if (gl->state == GLOCK_EX && gl->flags & GLOCK__F_DIED)
		flags |= GLOCK__LKF_DEATH_UNREPORTED;
	if (glock__mode_is_down(gl->state, to))
		return flags;
	if (tries)
		flags |= tries & GLOCK_TRY ? GLOCK__LKF_IDLE : GLOCK__LKF_NOQUEUE;
	if (gl->lk.id) /* behind the locks that convert already, which a try does not overtake */
		flags |= GLOCK__LKF_QUECVT;
	if (tries & GLOCK_TRY_1CB)
		flags |= GLOCK__LKF_NOQUEUEBAST;
	return flags;
}

/* Writes back and drops what the new mode does not allow. Drops and retakes the lock. */
static void prepare_cache(struct glock *gl, enum glock_mode to)
{
	struct glock__cache_change c =
	    glock__type_cache_change(gl_type(gl)->info.caches, gl->state, to);
	unsigned int sync = c.sync >> 2; /* as GLOCK_CACHES_ bits */
	int err = 0;

	/* In Linux 6.1 no try waits for a cache that is being dropped. */
	if (glock__linux_hz && gl_type(gl)->info.caches && (to == GLOCK_UN || to == GLOCK_DF))
		glock__fail_waiters(gl, -EAGAIN, true);
	if (!glock__lock_is_lost(gl))
		err = glock__op_xmote_th(gl, to, sync);
	if (err) {
		glock__log(gl_space(gl),
			   "glock %u:%" PRIu64
			   ": xmote_th failed with error %d, so this node withdraws",
			   gl->type, gl->number, err);
		glock__log_glock(gl);
		atom_store8(&gl_space(gl)->write_failed, true);
		atom_store8(&gl_space(gl)->withdrawn, true);
	}
	if (c.inval) {
		instantiate_again(gl);
		if (glock__op_inval(gl, c.inval)) /* the log tells why */
			atom_store8(&gl_space(gl)->withdrawn, true);
	}
	assert(gl->flags & GLOCK__F_LOCK);
}

/*
 * Asks the lock manager. Drops and retakes the lock. The answer may be stored then. Returns 0, or
 * the negative errno with which the lock manager refused the request.
 */
static int request(struct glock *gl, enum glock_mode to, unsigned int tries)
{
	struct glock_space *space = gl_space(gl);
	struct glock__tls *tls = glock__tls();
	struct glock__busy *b = gl_busy(gl);
	uint32_t flags = lkf(gl, to, tries);
	int err;

	if (to == GLOCK_UN)
		set_usable(gl, false);
	if (!b->ask_again) {
		b->requested = gl_now(gl);
		b->in_call = true;
	}
	b->ask_again = false;
	b->req = to;
	glock__pin(gl); /* the pin of the open request */
	gl_unlock_for_call(gl);
	tls->deferred.answer.there = false;
	if (tls->deferred.gl == gl)
		tls->deferred.asking = gl;
	err = space->lm->ops->lock(space->lm, &gl->lk, gl->type, gl->number,
				   glock__modes[to].dlm_mode, flags);
	tls->deferred.asking = NULL;
	gl_lock(gl);
	if (tls->deferred.answer.there) {
		tls->deferred.answer.there = false;
		glock__store_reply(gl, &tls->deferred.answer);
	}
	glock__count_request(gl);
	return err;
}

void glock__cancel_again(struct glock *gl)
{
	if (!gl_busy(gl)->cancel || !(gl->flags & GLOCK__F_MAY_CANCEL))
		return;
	gl_busy(gl)->cancel = false;
	glock__cancel_request(gl);
}

/* Goes on after a request that the lock manager refused. */
static void refused(struct glock *gl, enum glock_mode to, int err)
{
	struct glock_space *space = gl_space(gl);
	int64_t delay = err == -ENOSPC ? glock__room_delay(gl) : 0;

	glock__unpin(gl); /* the pin of the open request; the caller has another one */
	if (delay) {
		gl_busy(gl)->target = gl->state;
		glock__clear_lock(gl);
		gl_busy(gl)->must_run = false; /* the work runs the queue, after the delay */
		glock__work_queue(gl, gl_now_anew(gl) + delay);
		return;
	}
	glock__log(space,
		   "glock %u:%" PRIu64 ": lock manager %s refused the request for %s (error %d)",
		   gl->type, gl->number, space->lm->ops->name, glock__modes[to].name, err);
	glock__log_glock(gl);
	if (err == -ENOSPC && !(gl->flags & GLOCK__F_DEMOTE_IN_PROGRESS))
		glock__fail_waiters(gl, err, false);
	finish(gl, GLOCK__ERROR);
}

/* Lets other threads cancel the open request. */
static void await_reply(struct glock *gl)
{
	gl->flags |= GLOCK__F_MAY_CANCEL;
	glock__cancel_again(gl);
}

/*
 * Lets the work ask again, because the lock manager can answer nothing at the moment. The calling
 * thread does not wait for that. The longer the request waits, the less often the work asks.
 */
static void ask_later(struct glock *gl)
{
	const int64_t now = gl_now_anew(gl), waited = now - gl_busy(gl)->requested;

	glock__unpin(gl); /* the pin of the open request; the work has another one */
	gl_busy(gl)->ask_again = true;
	glock__work_queue(gl, now + (waited < AGAIN_MIN   ? AGAIN_MIN
				     : waited > AGAIN_MAX ? AGAIN_MAX
							  : waited));
}

static void ask(struct glock *gl, enum glock_mode to, unsigned int tries)
{
	int err = request(gl, to, tries);

	if (err == -ETIME)
		ask_later(gl);
	else if (err)
		refused(gl, to, err);
	else if (!(gl->flags & (GLOCK__F_HAVE_REPLY | GLOCK__F_FROZEN)))
		await_reply(gl);
	else if (!(gl->flags & GLOCK__F_HAVE_REPLY) || gl->flags & GLOCK__F_CANCELING ||
		 glock__tls()->deferred.gl != gl)
		return; /* the work applies the answer, or the thaw lets the work do that */
	else if (glock__reply_is_left(gl))
		glock__inline_leave(gl);
	else /* the answer came during the call, and this thread runs the work */
		glock__take_reply(gl);
}

/* Notes in the flags whether a request for `to` may have to wait. */
static void note_blocking(struct glock *gl, enum glock_mode to, unsigned int tries)
{
	gl->flags &= ~(uint32_t)GLOCK__F_BLOCKING;
	if (glock__request_blocks(gl->state, to, tries))
		gl->flags |= GLOCK__F_BLOCKING;
}

/* Asks for a mode for which the cache is prepared. */
static void ask_unless_lost(struct glock *gl, enum glock_mode to, unsigned int tries)
{
	if (!glock__lock_is_lost(gl)) {
		ask(gl, to, tries);
		return;
	}
	glock__writes_no_more(gl);
	gl_busy(gl)->ask_again = false;
	gl_busy(gl)->req = to;
	finish(gl, to == GLOCK_UN ? GLOCK__GRANTED : GLOCK__ERROR);
}

void glock__xmote(struct glock *gl, enum glock_mode to, const struct glock__holder *gh)
{
	unsigned int tries = gh ? gh->flags & GLOCK__TRIES : 0;

	assert(gl_held(gl) && gl->flags & GLOCK__F_LOCK);
	assert(to != gl->state && !glock__first_holder(gl));
	note_blocking(gl, to, tries);
	prepare_cache(gl, to);
	ask_unless_lost(gl, to, tries);
}

void glock__ask_again(struct glock *gl)
{
	assert(gl_held(gl) && gl->flags & GLOCK__F_LOCK);
	ask_unless_lost(gl, gl_busy(gl)->req, 0);
}

void glock__cancel_request(struct glock *gl)
{
	struct glock__holder *gh = glock__first_waiter(gl);
	struct glock_space *space = gl_space(gl);
	bool done;

	assert(gl_held(gl));
	if (!(gl->flags & GLOCK__F_LOCK) ||
	    gl->flags & (GLOCK__F_DEMOTE_IN_PROGRESS | GLOCK__F_CANCELING | GLOCK__F_HAVE_REPLY |
			 GLOCK__F_FROZEN))
		return;
	if (gh && gh->mode == gl_busy(gl)->target)
		return; /* another waiter wants the same mode */
	if (!(gl->flags & GLOCK__F_MAY_CANCEL)) {
		gl_busy(gl)->cancel = true; /* the request is not made yet: cancel it then */
		return;
	}
	gl->flags |= GLOCK__F_CANCELING;
	glock__pin(gl);
	gl_unlock(gl);
	done = space->lm->ops->cancel(space->lm, &gl->lk);
	gl_lock(gl);
	gl->flags &= ~(uint32_t)GLOCK__F_CANCELING;
	glock__unpin(gl); /* the caller has another reference */
	if (gl->flags & GLOCK__F_HAVE_REPLY) {
		glock__work_queue(gl, gl_now(gl)); /* a work run left the reply to this thread */
	} else if (!done) {
		gl_busy(gl)->cancel = true;
		glock__work_queue(gl, gl_now_anew(gl) + AGAIN_MAX);
	}
}
