/* SPDX-License-Identifier: MIT */
/*
 * reply.c - takes in what the lock manager tells about a glock: a reply, a demand.
 *
 * A reply is only stored here, with its time. xmote.c applies the reply. During recovery grants are
 * frozen, because the data that they cover may not be repaired yet.
 */
#include "reply.h"

#include "glock/core/lent.h"
#include "glock/publish/publish_space.h"
#include "glock/stats/choice.h"

#include "busy.h"
#include "demote.h"
#include "find.h"
#include "glock/fast/word.h"
#include "show.h"
#include "work.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static enum glock__reply reply_of(int status)
{
	switch (status) {
	case 0:
		return GLOCK__GRANTED;
	case -EAGAIN:
		return GLOCK__TRY_AGAIN;
	case -EBUSY:
		return GLOCK__IN_USE;
	case -EDEADLK:
		return GLOCK__DEADLOCK;
	case -GLOCK__DLM_ECANCEL:
		return GLOCK__CANCELED;
	default:
		return GLOCK__ERROR;
	}
}

/*
 * Gives up a grant that is frozen, or would be. The waiters ask again after the thaw. The node that
 * demands the lock may be the one that recovers, so that the thaw waits for this lock.
 */
static void give_up_frozen(struct glock *gl)
{
	gl_busy(gl)->recover_first = true; /* until the thaw no waiter without RECOVER asks */
	if (!(gl->flags & GLOCK__F_DEMOTE_IN_PROGRESS))
		gl_busy(gl)->target =
		    GLOCK_UN; /* so no waiter is granted, and xmote_bh not called */
	if (gl->flags & GLOCK__F_PENDING_DEMOTE)
		gl->flags ^= GLOCK__F_PENDING_DEMOTE | GLOCK__F_DEMOTE; /* no use is to come */
	glock__unfreeze(gl);
}

static bool should_freeze(struct glock *gl)
{
	/* A withdrawn space gets no thaw, and the event block may come late. */
	if (!atom_load8(&gl_space(gl)->recovering) || glock__is_unusable(gl_space(gl)))
		return false;
	/* A refused request covers no data. The kernel does the same. */
	if (gl_busy(gl)->reply != GLOCK__GRANTED || gl_busy(gl)->req == GLOCK_UN)
		return false;
	for (struct glock__list *l = gl_busy(gl)->holders.next; l != &gl_busy(gl)->holders;
	     l = l->next) {
		struct glock__holder *gh = glock__entry(l, struct glock__holder, list);

		if (gh->flags & GLOCK_RECOVER && !(gh_state(gh) & GLOCK__H_HOLDER)) {
			gl_busy(gl)->recover_first = true;
			return false;
		}
	}
	if (!(gl->flags & (GLOCK__F_DEMOTE | GLOCK__F_PENDING_DEMOTE)))
		return true;
	give_up_frozen(gl); /* the demand came before the grant */
	return false;
}

static struct glock__stats_asked take_asked(struct glock *gl)
{
	struct glock__busy *b = gl_busy(gl);
	const struct glock__stats_asked rq = {
	    .at = b->requested, .queued = b->uncounted, .first = gl->flags & GLOCK__F_INITIAL};

	b->in_call = false;
	b->uncounted = 0;
	return rq;
}

void glock__count_request(struct glock *gl)
{
	struct glock__stats_asked rq;
	struct glock__record *r;

	if (!gl_busy(gl)->in_call)
		return; /* counted with its reply */
	rq = take_asked(gl);
	r = glock__record_edit(gl);
	glock__stats_request(&r->stats, &gl_space(gl)->type_stats, gl->type, &r->stamp, &rq);
}

/* Returns the round-trip time. */
static int64_t count_round_trip(struct glock *gl, int64_t now)
{
	struct glock__type_stats *ts = &gl_space(gl)->type_stats;
	struct glock__record *r = glock__record_edit(gl);
	bool blocking = gl->flags & GLOCK__F_BLOCKING;
	struct glock__stats_asked rq;

	if (!gl_busy(gl)->in_call)
		return glock__stats_reply(&r->stats, ts, gl->type, r->stamp, now, blocking);
	rq = take_asked(gl);
	return glock__stats_trip(&r->stats, ts, gl->type, &r->stamp, &rq, now, blocking);
}

/* Notes grants and failures for a choice among glocks. */
static void note_outcome(struct glock *gl, int64_t now)
{
	const struct glock__busy *b = gl_busy(gl);
	bool granted = b->reply == GLOCK__GRANTED && b->req != GLOCK_UN;
	bool failed = b->reply == GLOCK__TRY_AGAIN || b->reply == GLOCK__IN_USE ||
		      b->reply == GLOCK__CANCELED;
	struct glock__lent *l = failed ? glock__lend(gl) : granted ? glock__lent_of(gl) : NULL;

	if (l && failed)
		glock__choice_failed(&glock__policy_edit(l)->choice, now);
	else if (l && l->policy.choice.failures)
		glock__choice_granted(&glock__policy_edit(l)->choice);
}

void glock__store_reply(struct glock *gl, const struct glock__answer *a)
{
	struct glock__busy *b = gl_busy(gl);
	int64_t round_trip;

	assert(gl_held(gl));
	gl_now_is(gl, a->at); /* the time of arrival, before the wait for gl->lock */
	round_trip = count_round_trip(gl, a->at);
	if (!glock__linux_hz) /* 6.1 keeps the flag until the next request */
		gl->flags &= ~(uint32_t)GLOCK__F_BLOCKING;
	glock__trace_lock_time(gl, a->at, round_trip, a->status, a->sbflags);
	if (gl->flags & GLOCK__F_DEAD)
		return;
	assert(gl->flags & GLOCK__F_LOCK);
	assert(!(gl->flags & (GLOCK__F_HAVE_REPLY | GLOCK__F_FROZEN)));
	b->reply = reply_of(a->status);
	note_outcome(gl, a->at);
	if (b->reply == GLOCK__GRANTED) {
		gl->flags &= ~(uint32_t)(GLOCK__F_INITIAL | GLOCK__F_DIED);
		if (a->sbflags & GLOCK__SBF_OWNER_DIED)
			gl->flags |= GLOCK__F_DIED;
	}
	gl->flags |= should_freeze(gl) ? GLOCK__F_FROZEN : GLOCK__F_HAVE_REPLY;
}

/* The record begins with one grant, because a holder asked for the mode that this node has. */
static void lend_on_demand(struct glock *gl)
{
	bool had = gl_busy(gl)->lent;

	if (glock__lend(gl) && !had && gl->state != GLOCK_UN)
		glock__publish_granted(gl, gl->state, 1);
}

/* Tells whether a holder or a request of this node is in the way of another node. */
static bool is_used(struct glock *gl)
{
	const struct glock__holder *gh = glock__first_waiter(gl);

	return glock__is_held(gl) ||
	       (gh && (!(gh->flags & GLOCK__TRIES) || gh_state(gh) & GLOCK__H_ENTERING));
}

/* Under gl->lock. idle: the lock goes at once unless it is used. Returns true if it is used. */
static bool on_bast_locked(struct glock *gl, enum glock_mode to, bool idle)
{
	bool used = idle && !(gl->flags & GLOCK__F_DEAD) && is_used(gl);

	if (gl->flags & GLOCK__F_DEAD)
		return false;
	gl_busy(gl)->more->counts.basts++;
	lend_on_demand(gl);
	glock__hold_or_demote(gl, to, idle && !used);
	if (gl->flags & GLOCK__F_FROZEN)
		give_up_frozen(gl);
	return used;
}

/* Applies the deferred events in the order of their arrival. Under gl->lock. */
void glock__apply_deferred(struct glock *gl)
{
	struct glock__tls *tls = glock__tls();

	assert(gl_held(gl));
	if (tls->deferred.gl != gl)
		return;
	if (tls->deferred.answer.there) {
		tls->deferred.answer.there = false;
		glock__store_reply(gl, &tls->deferred.answer);
	}
	if (tls->deferred.bast) {
		tls->deferred.bast = false;
		(void)on_bast_locked(gl, tls->deferred.bast_mode, false);
	}
}

bool glock__on_bast(struct glock *gl, enum glock_mode to, bool idle)
{
	bool used;

	gl_lock(gl);
	glock__apply_deferred(gl);
	if (idle)
		glock__fast_close(gl); /* the answer depends on the holders */
	used = on_bast_locked(gl, to, idle);
	gl_unlock(gl);
	return used;
}

void glock__unfreeze(struct glock *gl)
{
	assert(gl_held(gl));
	if (!(gl->flags & GLOCK__F_FROZEN))
		return;
	gl->flags &= ~(uint32_t)GLOCK__F_FROZEN;
	gl->flags |= GLOCK__F_HAVE_REPLY;
	glock__work_queue(gl, gl_now(gl));
}

static void thaw_one(struct glock *gl, void *arg)
{
	(void)arg;
	gl_lock(gl);
	if (atom_load8(&gl_space(gl)->recovering)) { /* a new recovery began: stay frozen */
		gl_unlock(gl);
		return;
	}
	if (gl_busy(gl)->recover_first) {
		gl_busy(gl)->recover_first = false;
		glock__work_queue(gl, gl_now(gl));
	}
	glock__unfreeze(gl);
	gl_unlock(gl);
}

void glock__thaw(struct glock_space *space)
{
	if (atom_load8(&space->thaw_pending) && atom_swap8(&space->thaw_pending, false))
		glock__each(space, thaw_one, NULL);
}
