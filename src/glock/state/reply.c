/* SPDX-License-Identifier: MIT */
/*
 * reply.c - events of the lock manager: replies, basts, and recovery.
 *
 * An event comes on any thread, without a lock held. A reply is only stored here, with its time,
 * and the work of the glock is queued. xmote.c applies the reply.
 *
 * A thread that works on the glock, and takes its lock next in any case, defers events. It defers
 * those that come before it has the lock. They are the reply to the request that the thread makes
 * just now, and events that it polls right before.
 *
 * During recovery grants are frozen, because the data that they cover may not be repaired yet.
 */
#include "reply.h"

#include "glock/core/lent.h"
#include "glock/publish/publish_lent.h"
#include "glock/stats/choice.h"

#include "busy.h"
#include "control.h"
#include "demote.h"
#include "events.h"
#include "find.h"
#include "pressure.h"
#include "queue.h"
#include "withdraw.h"
#include "word.h"
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
	if (!atom_load8(&gl_space(gl)->recovering) ||
	    (glock__is_unusable(gl_space(gl)) && !FAULT(WITHDRAWN_REPLY_FREEZES)))
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
	struct glock_space *space = gl_space(gl);
	struct glock__busy *b = gl_busy(gl);
	int64_t round_trip;

	assert(gl_held(gl));
	gl_now_is(gl, a->at); /* the time of arrival, before the wait for gl->lock */
	round_trip = count_round_trip(gl, a->at);
	if (!(space->flags & GLOCK_SPACE_LINUX_6_1)) /* 6.1 keeps the flag until the next request */
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

static bool defers_events(const struct glock__tls *tls, const struct glock *gl)
{
	/*
	 * A reply is applied before a bast. If a bast was deferred already, apply the reply at
	 * once, after the deferred events.
	 */
	return tls->deferred.gl == gl && tls->deferred.wanted && !tls->deferred.bast;
}

/* Takes the lock for an event that is not deferred. */
static void lock_and_apply(struct glock *gl)
{
	gl_lock(gl);
	glock__apply_deferred(gl);
}

static void on_reply(struct glock__lm_lock *lk, int status, unsigned int sbflags)
{
	struct glock *gl = glock__entry(lk, struct glock, lk);
	const struct glock__answer a = {
	    .there = true, .status = status, .sbflags = sbflags, .at = glock__now(gl_space(gl))};
	struct glock__tls *tls = glock__tls();

	if (tls->deferred.asking == gl || defers_events(tls, gl)) {
		tls->deferred.answer = a;
		tls->deferred.queued |= tls->deferred.wanted;
		return;
	}
	lock_and_apply(gl);
	glock__store_reply(gl, &a);
	if (gl->flags & GLOCK__F_DEAD) {
		glock__free(gl);
		return;
	}
	if (gl->flags & GLOCK__F_HAVE_REPLY && !FAULT(REPLY_RUNS_NO_WORK))
		glock__work_queue(gl, a.at);
	gl_unlock(gl);
}

bool glock__on_bast(struct glock *gl, enum glock_mode to, bool idle)
{
	bool used;

	lock_and_apply(gl);
	if (idle)
		glock__fast_close(gl); /* the answer depends on the holders */
	used = on_bast_locked(gl, to, idle);
	gl_unlock(gl);
	return used;
}

static bool on_bast(struct glock__lm_lock *lk, int mode)
{
	struct glock *gl = glock__entry(lk, struct glock, lk);
	struct glock__tls *tls = glock__tls();
	bool idle = mode & GLOCK__BAST_IDLE;
	int to = glock__mode_for_bast(mode & ~GLOCK__BAST_IDLE);

	if (to < 0)
		return false;
	if (idle || !defers_events(tls, gl)) /* the answer must not wait */
		return glock__on_bast(gl, to, idle);
	tls->deferred.bast = tls->deferred.queued = true;
	tls->deferred.bast_mode = (uint8_t)to;
	return false;
}

static uint32_t number_of(const struct glock__lm_lock *lk)
{
	return glock__number_of(glock__entry(lk, struct glock, lk));
}

static struct glock__lm_lock *find_lock(void *owner, uint32_t number)
{
	struct glock_space *space = owner;
	const struct glock__slab *s = &space->glocks[!!(number & GLOCK__NUMBER_LVB)];

	return glock__slab_had(s, number & ~GLOCK__NUMBER_LVB) ? &glock__at(space, number)->lk
							       : NULL;
}

static void on_block(void *owner)
{
	struct glock_space *space = owner;

	atom_store8(&space->recovering, true);
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

/*
 * The lock manager may call this under a lock of its own. A walk over the glocks may drop the last
 * reference to a glock. The glock is then unlocked at the lock manager, which takes that lock. So
 * the work does the walk.
 */
static void on_thaw(void *owner)
{
	struct glock_space *space = owner;

	atom_store8(&space->recovering, false);
	atom_store8(&space->thaw_pending, true);
	glock__work_kick(space, glock__now(space));
}

void glock__peer(const struct glock__lm_peer *from, struct glock_peer *to)
{
	int mode = glock__mode_of_dlm(from->mode);

	*to = (struct glock_peer){.pid = from->pid,
				  .mode = mode < 0 ? GLOCK_UN : (enum glock_mode)mode,
				  .waits = from->waits,
				  .stopped = from->stopped,
				  .dead = from->dead};
	memcpy(to->comm, from->comm, sizeof(to->comm));
}

void glock__node(const struct glock__lm_node *from, struct glock_node *to)
{
	*to = (struct glock_node){.size = sizeof(*to),
				  .id = from->id,
				  .slot = from->slot,
				  .self = from->self,
				  .pid = from->pid};
	static_assert(sizeof(to->name) == sizeof(from->name), "a name fits");
	memcpy(to->name, from->name, sizeof(to->name));
}

static void on_recover(void *owner, const struct glock__lm_peer *dead,
		       const struct glock__lm_node *from)
{
	struct glock_space *space = owner;
	struct glock_peer peer;
	struct glock_node node;

	glock__peer(dead, &peer);
	glock__node(from, &node);
	if (!space->recover && !space->recover_node)
		return;
	glock__tls_check(space->generation);
	glock__tls()->id.recovers = space;
	if (space->recover_node)
		space->recover_node(space->recover_arg, &node);
	else
		space->recover(space->recover_arg, &peer);
	glock__tls()->id.recovers = NULL;
}

/* Leaves the withdrawal to the work, because this may be any thread. */
static void on_gone(void *owner)
{
	struct glock_space *space = owner;

	atom_store8(&space->withdrawn, true);
	glock__work_kick(space, glock__now(space));
}

static void on_lost(void *owner)
{
	glock__cluster_lost(owner);
}

static void on_back(void *owner)
{
	glock__cluster_back(owner);
}

static void on_pause(void *owner)
{
	glock__pause_grants(owner, true);
}

static void on_resume(void *owner)
{
	glock__pause_grants(owner, false);
}

const struct glock__lm_events glock__events = {
    .number = number_of,
    .find = find_lock,
    .reply = on_reply,
    .bast = on_bast,
    .block = on_block,
    .thaw = on_thaw,
    .gone = on_gone,
    .lost = on_lost,
    .back = on_back,
    .pause = on_pause,
    .resume = on_resume,
    .recover = on_recover,
    .give_back = glock__on_give_back,
    .control = glock__on_control,
};
