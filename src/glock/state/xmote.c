/* SPDX-License-Identifier: MIT */
/*
 * xmote.c - the state machine: a change of state. The only file that changes a glock's state.
 *
 * Who decided on one has taken the bit lock (glock.c). glock__xmote() has the cache prepared and asks the
 * lock manager, and that is all until the reply comes. reply.c stores it and queues work; the work's finish()
 * takes it in, perhaps asks again, and clears the bit lock. Then the queue is run. A
 * request that the lock manager answers at once skips the work if its holder is alone: see
 * shortcuts.c.
 *
 * Everything here runs under gl->lock, which is dropped while the type's operations and the lock manager
 * are called.
 */
#include "xmote.h"

#include "glock/core/log.h"

#include "cache.h"
#include "demote.h"
#include "events.h"
#include "queue.h"
#include "reply.h"
#include "shortcuts.h"
#include "show.h"
#include "word.h"
#include "work.h"

#include <assert.h>
#include <errno.h>

#define TRIES (GLOCK_TRY | GLOCK_TRY_1CB)

GLOCK__INLINE void set_usable(struct glock *gl, bool usable)
{
	struct glock__record *r;

	if (usable == !!(gl->flags & GLOCK__F_USABLE))
		return;
	r = glock__record_edit(gl);
	r->usable = glock__share_turn(r->usable, gl_now(gl), usable);
	gl->flags ^= GLOCK__F_USABLE;
}

/* The hold time begins: the lock manager granted that mode. To give something up is no grant. */
GLOCK__INLINE void hold_start(struct glock *gl, enum glock_mode to)
{
	if (!glock__mode_is_down(gl->state, to) || gl_space(gl)->flags & GLOCK_SPACE_LINUX_6_1)
		glock__record_edit(gl)->granted_at = gl_now(gl);
}

void glock__change_state(struct glock *gl, enum glock_mode to)
{
	if (to != gl_busy(gl)->target)
		glock__hold_shrink(gl);
	hold_start(gl, to);
	gl->state = to;
	set_usable(gl, to != GLOCK_UN);
}

/* The lock manager did not give what was wanted. */
static void failed(struct glock *gl, enum glock__reply reply)
{
	struct glock__holder *gh = glock__first_waiter(gl);
	bool demoting = gl->flags & GLOCK__F_DEMOTE_IN_PROGRESS;

	if (!demoting) {
		bool refused =
		    gh && gh->flags & TRIES && reply != GLOCK__GRANTED && reply != GLOCK__CANCELED;

		if (!gh || refused || reply == GLOCK__CANCELED || reply == GLOCK__ERROR) {
			if (reply == GLOCK__ERROR)
				glock__fail_waiters(gl, -EIO, false);
			else if (refused)
				glock__fail_waiters(gl, -EAGAIN, true);
			gl_busy(gl)->target = gl->state;
			if (!FAULT(BIT_LOCK_KEPT_AFTER_REFUSAL))
				glock__clear_lock(gl);
			return;
		}
		/* Who is first now need not be who was first when the request was made. */
		if (gl->state == GLOCK_UN)
			gl_busy(gl)->target = gh->mode;
	}
	if (reply != GLOCK__GRANTED)
		gl_busy(gl)->more->counts.conversions_failed++;
	/* What is held in SH or DF is in somebody's way: give it up, then ask anew. */
	glock__xmote(gl, gl->state == GLOCK_UN || gl->state == GLOCK_EX ||
				 FAULT(REFUSED_CONVERSION_KEEPS_MODE)
			     ? gl_busy(gl)->target
			     : GLOCK_UN);
}

static void finish(struct glock *gl, enum glock__reply reply)
{
	int err;

	assert(gl_held(gl) && gl->flags & GLOCK__F_LOCK);
	gl->flags &= ~(uint32_t)GLOCK__F_MAY_CANCEL;
	if (gl->flags & GLOCK__F_STALE && gl_busy(gl)->req != GLOCK_UN)
		reply = GLOCK__ERROR; /* granted before the lock was lost */
	if (reply == GLOCK__ERROR && gl->flags & GLOCK__F_DEMOTE_IN_PROGRESS) {
		/* There is no lock manager any more to give it back to. */
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
		glock__change_state(gl, gl_busy(gl)->req);
	else if (reply != GLOCK__ERROR && gl_space(gl)->flags & GLOCK_SPACE_LINUX_6_1)
		glock__change_state(gl, gl->state); /* a refusal is a change to what it was */
	else
		set_usable(gl, gl->state != GLOCK_UN); /* refused, even if to give it up */
	if (gl->state == GLOCK_UN)
		gl->flags &= ~(uint32_t)GLOCK__F_STALE;
	if (gl->flags & GLOCK__F_DEMOTE_IN_PROGRESS && glock__demote_target(gl) == GLOCK_UN)
		gl_busy(gl)->target = GLOCK_UN; /* asked for while it went to another mode */
	if (gl->state != gl_busy(gl)->target) {
		failed(gl, reply);
		return;
	}
	if (gl->flags & GLOCK__F_DEMOTE_IN_PROGRESS) {
		gl->flags &= ~(uint32_t)GLOCK__F_DEMOTE_IN_PROGRESS;
		glock__demote_done(gl);
	}
	glock__publish_object(gl);
	if (gl->state != GLOCK_UN) {
		err = glock__op_xmote_bh(gl, gl->state);
		if (err)
			glock__fail_waiters(gl, err, false);
	}
	glock__promote(gl, false);
	glock__clear_lock(gl);
}

void glock__take_reply(struct glock *gl)
{
	gl->flags &= ~(uint32_t)GLOCK__F_HAVE_REPLY;
	glock__unpin(gl); /* the open request's; the work has one */
	finish(gl, gl_busy(gl)->reply);
}

/* Without a reply: whoever began the change goes away now, so the work must run the queue. */
static void finish_now(struct glock *gl, enum glock__reply reply)
{
	finish(gl, reply);
	glock__work_queue(gl, gl_now(gl));
}

/* The lock manager's flags for the request that is being made. */
static uint32_t lkf(const struct glock *gl, enum glock_mode to, unsigned int tries)
{
	uint32_t flags = 0;

	if (gl->lk.has_lvb)
		flags |= GLOCK__LKF_VALBLK;
	if (gl->lk.id)
		flags |= GLOCK__LKF_CONVERT;
	/* A death of which nobody here was told in EX: who comes next is to be, here or elsewhere. */
	if (gl->state == GLOCK_EX && gl->flags & GLOCK__F_DIED)
		flags |= GLOCK__LKF_DEATH_UNREPORTED;
	if (glock__mode_is_down(gl->state, to))
		return flags;
	if (tries)
		flags |= GLOCK__LKF_NOQUEUE;
	if (gl->lk.id) /* behind those who convert already; a try does not overtake them either */
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

	if (!glock__lock_is_lost(gl) && !FAULT(DIRTY_NOT_WRITTEN_BACK))
		err = glock__op_xmote_th(gl, to, sync);
	if (err) {
		glock__log(gl_space(gl), "glock %u:%" PRIu64 ": xmote_th failed (%d): withdrawing",
			   gl->type, gl->number, err);
		glock__log_glock(gl);
		atom_store8(&gl_space(gl)->withdrawn, true);
	}
	if (c.inval && !FAULT(CACHE_NOT_INVALIDATED))
		glock__op_inval(gl, c.inval);
	assert(gl->flags & GLOCK__F_LOCK);
}

/* Asks the lock manager. Drops and retakes the lock. The answer may be stored then. */
int glock__xmote_request(struct glock *gl, enum glock_mode to, unsigned int tries)
{
	struct glock_space *space = gl_space(gl);
	struct glock__tls *tls = glock__tls();
	struct glock__busy *b = gl_busy(gl);
	uint32_t flags = lkf(gl, to, tries);
	int err;

	if (to == GLOCK_UN)
		set_usable(gl, false);
	b->req = to;
	b->requested = gl_now(gl);
	b->in_call = true;
	glock__pin(gl); /* the open request's */
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

/* The request was refused, or is not answered at once. */
void glock__xmote_submitted(struct glock *gl, enum glock_mode to, int err)
{
	struct glock_space *space = gl_space(gl);

	if (err) {
		glock__log(space, "glock %u:%" PRIu64 ": %s: request for %s refused (%d)", gl->type,
			   gl->number, space->lm->ops->name, glock__modes[to].name, err);
		glock__log_glock(gl);
		glock__unpin(gl);
		if (err == -ENOSPC && !(gl->flags & GLOCK__F_DEMOTE_IN_PROGRESS))
			glock__fail_waiters(gl, err, false);
		finish_now(gl, GLOCK__ERROR);
		return;
	}
	if (gl->flags & (GLOCK__F_HAVE_REPLY | GLOCK__F_FROZEN))
		return;
	gl->flags |= GLOCK__F_MAY_CANCEL;
	if (gl_busy(gl)->cancel) {
		gl_busy(gl)->cancel = false;
		glock__cancel_request(gl);
	}
}

static void ask(struct glock *gl, enum glock_mode to, unsigned int tries)
{
	int err = glock__xmote_request(gl, to, tries);

	if (err || !(gl->flags & GLOCK__F_HAVE_REPLY) || gl->flags & GLOCK__F_CANCELING ||
	    glock__tls()->deferred.gl != gl) {
		glock__xmote_submitted(gl, to, err);
		return;
	}
	/* At once, and we are the one who works on it: no detour. */
	glock__take_reply(gl);
	if (!glock__is_at_rest(gl))
		glock__work_queue(gl, gl_now(gl));
}

void glock__xmote_blocking(struct glock *gl, enum glock_mode to, unsigned int tries)
{
	gl->flags &= ~(uint32_t)GLOCK__F_BLOCKING;
	if (glock__request_blocks(gl->state, to, tries))
		gl->flags |= GLOCK__F_BLOCKING;
}

void glock__xmote(struct glock *gl, enum glock_mode to)
{
	struct glock__holder *gh = glock__first_waiter(gl);
	bool demoting = gl->flags & GLOCK__F_DEMOTE_IN_PROGRESS;
	unsigned int tries = gh && !demoting ? gh->flags & TRIES : 0;

	assert(gl_held(gl) && gl->flags & GLOCK__F_LOCK);
	assert(to != gl->state && !glock__first_holder(gl));
	glock__xmote_blocking(gl, to, tries);
	prepare_cache(gl, to);
	if (!glock__lock_is_lost(gl)) {
		ask(gl, to, tries);
		return;
	}
	gl_busy(gl)->req = to;
	finish_now(gl, to == GLOCK_UN ? GLOCK__GRANTED : GLOCK__ERROR);
}

void glock__cancel_request(struct glock *gl)
{
	struct glock__holder *gh = glock__first_waiter(gl);
	struct glock_space *space = gl_space(gl);

	assert(gl_held(gl));
	if (!(gl->flags & GLOCK__F_LOCK) ||
	    gl->flags & (GLOCK__F_DEMOTE_IN_PROGRESS | GLOCK__F_CANCELING | GLOCK__F_HAVE_REPLY |
			 GLOCK__F_FROZEN))
		return;
	if (gh && gh->mode == gl_busy(gl)->target)
		return; /* somebody else wants the same */
	if (!(gl->flags & GLOCK__F_MAY_CANCEL)) {
		gl_busy(gl)->cancel = true; /* it is not made yet */
		return;
	}
	gl->flags |= GLOCK__F_CANCELING;
	glock__pin(gl);
	gl_unlock(gl);
	space->lm->ops->cancel(space->lm, &gl->lk);
	gl_lock(gl);
	gl->flags &= ~(uint32_t)GLOCK__F_CANCELING;
	glock__unpin(gl); /* the caller has one */
	if (gl->flags & GLOCK__F_HAVE_REPLY)
		glock__work_queue(gl, gl_now(gl)); /* it left the reply to us */
}
