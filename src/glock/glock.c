/* SPDX-License-Identifier: MIT */
/*
 * glock.c - the state machine: run queue and state change. The only file that changes a glock's
 * state.
 *
 * A state change: run_queue() decides on it and takes the bit lock. do_xmote() has the cache
 * prepared and asks the lock manager, and that is all until the reply comes. reply.c stores it and
 * queues work; the work's finish() takes it in, perhaps asks again, and clears the bit lock. Then
 * the queue is run. Demands of others come before waiters of this node, so that nobody starves
 * the others; but holders are never thrown out.
 *
 * Everything here runs under gl->lock. The functions that drop it for a while are do_xmote(),
 * enter(), finish() and what calls them; all hold the bit lock meanwhile, so that what other
 * threads may do is: add and take away waiters, let holders go, ask for demotes, store a reply.
 */
#include "fast.h"

#include <assert.h>
#include <errno.h>

#define TRIES (GLOCK_TRY | GLOCK_TRY_1CB)

#define LONG_WAIT 1000000000 /* ns: who waited longer makes the hold time grow */

static void do_xmote(struct glock *gl, enum glock_mode to);

void glock__drop(struct glock *gl)
{
	/* Whoever clears the bit lock runs the queue, or has the work do it. */
	assert(!gl_busy(gl)->must_run || gl->flags & GLOCK__F_LOCK || glock__work_queued(gl));
	glock__busy_settle(gl);
	glock__lock_drop(&gl->lock);
}

static void clear_lock(struct glock *gl)
{
	assert(gl_held(gl) && gl->flags & GLOCK__F_LOCK && !(gl->flags & GLOCK__F_CANCELING));
	gl->flags &= ~(uint32_t)GLOCK__F_LOCK;
	gl_busy(gl)->cancel = false;
	gl_busy(gl)->must_run = true;
}

static bool withdrawn(const struct glock *gl)
{
	return glock__is_shut(gl_space(gl));
}

/* The lock manager does not know of our lock any more, and what it covers is not ours. */
static bool lost(const struct glock *gl)
{
	return withdrawn(gl) || gl->flags & GLOCK__F_STALE;
}

/* ---- the queue ---- */

/* Granted holders are at the head, without gaps. */
struct glock__holder *glock__first_holder(struct glock *gl)
{
	struct glock__list *head = &gl_busy(gl)->holders;
	struct glock__holder *gh;

	assert(gl_held(gl));
	if (glock__list_empty(head))
		return NULL;
	gh = glock__entry(head->next, struct glock__holder, list);
	return gh_state(gh) & GLOCK__H_HOLDER ? gh : NULL;
}

bool glock__is_held(struct glock *gl)
{
	glock__fast_close(gl);
	return glock__first_holder(gl) || glock__fast_mode(gl) != GLOCK_UN;
}

struct glock__holder *glock__first_waiter(struct glock *gl)
{
	struct glock__list *head = &gl_busy(gl)->holders;
	struct glock__holder *first = NULL;

	assert(gl_held(gl));
	for (struct glock__list *l = head->prev; l != head; l = l->prev) {
		struct glock__holder *gh = glock__entry(l, struct glock__holder, list);

		if (gh_state(gh) & GLOCK__H_HOLDER)
			break;
		first = gh;
	}
	return first;
}

/* As far as the list goes; others: somebody is there whom the list does not show. */
static bool may_join_list(struct glock *gl, const struct glock__holder *gh, bool others)
{
	struct glock__holder *held = glock__first_holder(gl);
	uint32_t flags = held || others ? gh->flags & ~GLOCK_EXACT : gh->flags;

	/*
	 * A holder in SH that said ANY may be here on DF; who wants SH proper may not join it. With
	 * a holder EXACT says nothing. (Linux looks at the holder only, and lets them in.)
	 */
	if (held && !glock__holder_admits(held->mode, held->flags, gh->mode, gh->flags))
		return false;
	return glock__state_serves(gl->state, gh->mode, flags) || (FAULT(2) && gl->state) ||
	       (FAULT(16) && held);
}

/*
 * Whose turn it is. While recovery goes on and somebody with RECOVER was let in, nobody without it
 * follows: who says it comes first then, and stands where who is granted must stand.
 */
static struct glock__holder *next_waiter(struct glock *gl)
{
	struct glock__holder *first = glock__first_waiter(gl);
	struct glock__list *l;

	if (!first || !gl_busy(gl)->held_back || !atom_load8(&gl_space(gl)->blocked) ||
	    withdrawn(gl))
		return first;
	for (l = &first->list; l != &gl_busy(gl)->holders; l = l->next) {
		struct glock__holder *gh = glock__entry(l, struct glock__holder, list);

		if (!(gh->flags & GLOCK_RECOVER))
			continue;
		if (gh != first) {
			glock__list_del(&gh->list);
			glock__list_add(&first->list, &gh->list);
		}
		return gh;
	}
	return NULL;
}

bool glock__may_grant(struct glock *gl, const struct glock__holder *gh)
{
	enum glock_mode fast = glock__fast_mode(gl);

	if (glock__is_paused(gl_space(gl)) || gl->flags & GLOCK__F_STALE)
		return false;
	/* By the word only plain holders come, which say nothing of others. */
	if (fast != GLOCK_UN && !glock__holder_admits(fast, 0, gh->mode, gh->flags))
		return false;
	return may_join_list(gl, gh, fast != GLOCK_UN);
}

void glock__grant(struct glock *gl, struct glock__holder *gh)
{
	int64_t waited;
	bool died;

	/* Not the word: there is somebody in it now and then who will go away again. */
	assert(gl_held(gl) && may_join_list(gl, gh, true));
	waited = gl_now(gl) - gh->asked;
	if (waited > LONG_WAIT)
		glock__hold_grow(gl);
	glock__publish_waited(gl, waited);
	glock__publish_holder(gl, gh, GLOCK__H_HOLDER);
	gh->error = 0;
	glock__trace_holder(gl, GLOCK__EV_PROMOTE, gh, false);
	died = gl->flags & GLOCK__F_DIED;
	if (gh->mode == GLOCK_EX)
		gl->flags &= ~(uint32_t)GLOCK__F_DIED; /* who is told in EX may repair it */
	glock__holder_set(gl_space(gl), gh,
			  GLOCK__H_QUEUED | GLOCK__H_HOLDER | (died ? GLOCK__H_DIED : 0) |
			      (gl->flags & GLOCK__F_STALE ? GLOCK__H_LOST
							  : 0)); /* while its lock operation ran */
}

/* The holder leaves the list; its memory is the program's again when its state is set. */
void glock__unlink(struct glock *gl, struct glock__holder *gh)
{
	assert(gl_held(gl) && gh_state(gh) & GLOCK__H_QUEUED);
	glock__list_del(&gh->list);
	glock__order_forget(gl_space(gl), gh);
	glock__publish_unlinked(gl, gh);
	glock__trace_holder(gl, GLOCK__EV_QUEUE, gh, true);
}

void glock__fail(struct glock *gl, struct glock__holder *gh, int error)
{
	assert(gh_state(gh) & GLOCK__H_WAIT && !(gh_state(gh) & GLOCK__H_HOLDER));
	glock__publish_waited(gl, gl_now(gl) - gh->asked);
	glock__unlink(gl, gh);
	gh->error = error;
	glock__holder_set(gl_space(gl), gh, 0);
}

/* All who wait; or, tries_only, those who would rather not wait. */
static void fail_waiters(struct glock *gl, int error, bool tries_only)
{
	struct glock__list *l = gl_busy(gl)->holders.next, *next;

	for (; l != &gl_busy(gl)->holders; l = next) {
		struct glock__holder *gh = glock__entry(l, struct glock__holder, list);

		next = l->next;
		if (gh_state(gh) & (GLOCK__H_HOLDER | GLOCK__H_ENTERING))
			continue;
		if (tries_only && !(gh->flags & TRIES))
			continue;
		gl_busy(gl)->more->counts.tries_failed += tries_only;
		glock__fail(gl, gh, error);
	}
}

/* The first holder on this node: its type's operation reads the object in. */
static void enter(struct glock *gl, struct glock__holder *gh)
{
	bool had = gl->flags & GLOCK__F_LOCK;
	int err;

	gl->flags |= GLOCK__F_LOCK;
	atom_or32(&gh->state, GLOCK__H_ENTERING);
	err = glock__op_lock(gl, gh);
	assert(gl->flags & GLOCK__F_LOCK && gh_state(gh) & GLOCK__H_WAIT);
	/* Who wants to cancel it waits for this. */
	glock__holder_set(gl_space(gl), gh, GLOCK__H_QUEUED | GLOCK__H_WAIT);
	if (err) {
		glock__fail(gl, gh, err);
	} else {
		gl->flags |= GLOCK__F_ENTERED;
		glock__publish_object(gl);
		glock__grant(gl, gh);
	}
	if (!had)
		clear_lock(gl);
}

/*
 * Grants whatever can be, in the order of asking: nobody overtakes. False: there is something to do
 * that may block, and it was not allowed to.
 */
static bool promote(struct glock *gl, bool nonblock)
{
	struct glock__holder *gh;

	while ((gh = next_waiter(gl))) {
		if (withdrawn(gl)) {
			glock__fail(gl, gh, -EIO);
			continue;
		}
		if (!glock__may_grant(gl, gh)) {
			if (!glock__is_held(gl))
				break;
			fail_waiters(gl, -EAGAIN, true);
			if (glock__first_waiter(gl) == gh)
				break;
			continue; /* it was a try itself, and who is behind it may fit */
		}
		if (!gl_type(gl)->ops.lock || gl->flags & GLOCK__F_ENTERED ||
		    gh->flags & GLOCK_SKIP) {
			bool last = gh->list.next == &gl_busy(gl)->holders;

			glock__grant(gl, gh);
			if (last)
				return true;
			continue;
		}
		if (nonblock)
			return false;
		enter(gl, gh);
	}
	return true;
}

/* Starts what the demote asks for, or finds that it is done. True: nothing else can be done now. */
static bool run_demote(struct glock *gl, bool nonblock)
{
	enum glock_mode to = glock__demote_target(gl);

	if (to == gl->state) {
		glock__demote_done(gl);
		return false;
	}
	if (glock__is_held(gl))
		return true; /* until it lets go; new requests wait behind */
	if (nonblock) {
		glock__work_queue(gl, gl_now(gl));
		return true;
	}
	gl->flags |= GLOCK__F_LOCK | GLOCK__F_DEMOTE_IN_PROGRESS;
	gl_busy(gl)->target = to;
	do_xmote(gl, to);
	return true;
}

/*
 * The usual case, which all that follows would come to as well: one wants it whom the state does not
 * serve, and that is all. NULL: it is another one.
 */
static struct glock__holder *lone_miss(struct glock *gl)
{
	struct glock__list *head = &gl_busy(gl)->holders;
	struct glock__holder *gh = glock__entry(head->next, struct glock__holder, list);

	if (gl->flags & (GLOCK__F_LOCK | GLOCK__F_DEMOTE) || glock__list_empty(head) ||
	    gh->list.next != head || gh_state(gh) & GLOCK__H_HOLDER || gl_busy(gl)->held_back)
		return NULL;
	if (glock__is_paused(gl_space(gl)) || lost(gl) || glock__fast_mode(gl) != GLOCK_UN ||
	    glock__state_serves(gl->state, gh->mode, gh->flags))
		return NULL;
	gl_busy(gl)->must_run = false;
	return gh;
}

void glock__run_queue(struct glock *gl, bool nonblock)
{
	struct glock__holder *gh;

	assert(gl_held(gl));
	glock__fast_close(gl);
	if (withdrawn(gl))
		fail_waiters(gl, -EIO, false);
	gh = lone_miss(gl);
	while (!gh) {
		gl_busy(gl)->must_run = false;
		if (gl->flags & GLOCK__F_LOCK)
			return; /* whoever has it runs the queue */
		if (glock__is_paused(gl_space(gl)) && !lost(gl)) {
			fail_waiters(gl, -EAGAIN, true);
			return; /* until it goes on */
		}
		if (gl->flags & GLOCK__F_DEMOTE && !FAULT(8) && run_demote(gl, nonblock))
			return;
		if (!promote(gl, nonblock)) {
			glock__work_queue(gl, gl_now(gl));
			return;
		}
		gl_busy(gl)->must_run = false;
		gh = next_waiter(gl);
		if (glock__is_held(gl) || !gh)
			return;
		if (!(gl->flags & GLOCK__F_DEMOTE) &&
		    (!glock__state_serves(gl->state, gh->mode, gh->flags) || FAULT(26)))
			break;
		gh = NULL;
		/*
		 * A demote was asked for while a lock operation ran. Or the waiter fits, and was
		 * not granted because of one that had tried the fast way and is gone again.
		 */
	}
	if (nonblock) {
		glock__work_queue(gl, gl_now(gl));
		return;
	}
	gl_busy(gl)->target = gh->mode;
	if (!(gh->flags & TRIES) && gh->list.next != &gl_busy(gl)->holders)
		fail_waiters(gl, -EAGAIN, true);
	gl->flags |= GLOCK__F_LOCK;
	do_xmote(gl, gl_busy(gl)->target);
}

/* ---- a state change ---- */

static void set_usable(struct glock *gl, bool usable)
{
	struct glock__record *r;

	if (usable == !!(gl->flags & GLOCK__F_USABLE))
		return;
	r = glock__record_edit(gl);
	r->usable = glock__share_turn(r->usable, gl_now(gl), usable);
	gl->flags ^= GLOCK__F_USABLE;
}

static void change_state(struct glock *gl, enum glock_mode to)
{
	if (to != gl_busy(gl)->target)
		glock__hold_shrink(gl);
	glock__hold_start(gl, to);
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
				fail_waiters(gl, -EIO, false);
			else if (refused)
				fail_waiters(gl, -EAGAIN, true);
			gl_busy(gl)->target = gl->state;
			if (!FAULT(10))
				clear_lock(gl);
			return;
		}
		/* Who is first now need not be who was first when the request was made. */
		if (gl->state == GLOCK_UN)
			gl_busy(gl)->target = gh->mode;
	}
	if (reply != GLOCK__GRANTED)
		gl_busy(gl)->more->counts.conversions_failed++;
	/* What is held in SH or DF is in somebody's way: give it up, then ask anew. */
	do_xmote(gl, gl->state == GLOCK_UN || gl->state == GLOCK_EX || FAULT(11)
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
		if (!lost(gl))
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
	else if (reply != GLOCK__ERROR && gl_space(gl)->flags & GLOCK_SPACE_LINUX_6_1)
		change_state(gl, gl->state); /* a refusal is a change to what it was */
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
			fail_waiters(gl, err, false);
	}
	promote(gl, false);
	clear_lock(gl);
}

static void take_reply(struct glock *gl)
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

/* Somebody has it, nobody waits or wants it elsewhere: to run the queue would change nothing. */
static bool is_at_rest(struct glock *gl)
{
	if (gl->flags & (GLOCK__F_LOCK | GLOCK__F_DEMOTE | GLOCK__F_PENDING_DEMOTE) || lost(gl) ||
	    glock__is_paused(gl_space(gl)) || glock__first_waiter(gl) || !glock__first_holder(gl))
		return false;
	gl_busy(gl)->must_run = false;
	return true;
}

/* The lock manager's flags for the request that is being made. */
static uint32_t lkf(const struct glock *gl, enum glock_mode to, unsigned int tries)
{
	uint32_t flags = 0;

	if (gl->lk.has_lvb)
		flags |= GLOCK__LKF_VALBLK;
	if (gl->lk.id)
		flags |= GLOCK__LKF_CONVERT;
	if (glock__mode_is_down(gl->state, to))
		return flags;
	if (tries)
		flags |= GLOCK__LKF_NOQUEUE;
	if (gl->lk.id) /* behind those who convert already; a try does not overtake them either */
		flags |= GLOCK__LKF_QUECVT;
	if (tries & GLOCK_TRY_1CB)
		flags |= GLOCK__LKF_NOQUEUEBAST;
	if (glock__self()->mine == gl && glock__self()->mine_waits)
		flags |= GLOCK__LM_CALLER_WAITS;
	return flags;
}

/* Writes back and drops what the new mode does not allow. Drops and retakes the lock. */
static void prepare_cache(struct glock *gl, enum glock_mode to)
{
	struct glock__cache_change c =
	    glock__type_cache_change(gl_type(gl)->info.caches, gl->state, to);
	unsigned int sync = c.sync >> 2; /* as GLOCK_CACHES_ bits */
	int err = 0;

	if (!lost(gl) && !FAULT(4))
		err = glock__op_xmote_th(gl, to, sync);
	if (err) {
		glock__log(gl_space(gl), "glock %u:%" PRIu64 ": xmote_th failed (%d): withdrawing",
			   gl->type, gl->number, err);
		glock__log_glock(gl);
		atom_store8(&gl_space(gl)->withdrawn, true);
	}
	if (c.inval && !FAULT(3))
		glock__op_inval(gl, c.inval);
	assert(gl->flags & GLOCK__F_LOCK);
}

/* Asks the lock manager. Drops and retakes the lock. */
static void ask(struct glock *gl, enum glock_mode to, unsigned int tries)
{
	uint32_t flags = lkf(gl, to, tries);
	struct glock_space *space = gl_space(gl);
	struct glock__self *self = glock__self();
	struct glock__record *r;
	int64_t now = gl_now_anew(gl);
	int err;

	gl_busy(gl)->req = to;
	if (to == GLOCK_UN)
		set_usable(gl, false);
	glock__pin(gl); /* the open request's */
	r = glock__record_edit(gl);
	glock__stats_request(&r->stats, &space->type_stats, gl->type, &r->stamp, now,
			     gl->flags & GLOCK__F_INITIAL, gl_busy(gl)->uncounted);
	gl_busy(gl)->uncounted = 0;
	glock__drop(gl);
	self->answer.there = false;
	if (self->mine == gl)
		self->asking = gl;
	err = space->lm->ops->lock(space->lm, &gl->lk, gl->type, gl->number,
				   glock__modes[to].dlm_mode, flags);
	self->asking = NULL;
	gl_take(gl);
	if (self->answer.there)
		glock__store_reply(gl, &self->answer);
	if (err) {
		glock__log(space, "glock %u:%" PRIu64 ": %s: request for %s refused (%d)", gl->type,
			   gl->number, space->lm->ops->name, glock__modes[to].name, err);
		glock__log_glock(gl);
		glock__unpin(gl);
		if (err == -ENOSPC && !(gl->flags & GLOCK__F_DEMOTE_IN_PROGRESS))
			fail_waiters(gl, err, false);
		finish_now(gl, GLOCK__ERROR);
		return;
	}
	if (gl->flags & GLOCK__F_HAVE_REPLY && !(gl->flags & GLOCK__F_CANCELING) &&
	    self->mine == gl) {
		/* At once, and we are the one who works on it: no detour. */
		take_reply(gl);
		if (!is_at_rest(gl))
			glock__work_queue(gl, gl_now(gl));
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

static void do_xmote(struct glock *gl, enum glock_mode to)
{
	struct glock__holder *gh = glock__first_waiter(gl);
	bool demoting = gl->flags & GLOCK__F_DEMOTE_IN_PROGRESS;
	unsigned int tries = gh && !demoting ? gh->flags & TRIES : 0;

	assert(gl_held(gl) && gl->flags & GLOCK__F_LOCK);
	assert(to != gl->state && !glock__first_holder(gl));
	gl->flags &= ~(uint32_t)GLOCK__F_BLOCKING;
	if (glock__request_blocks(gl->state, to, tries))
		gl->flags |= GLOCK__F_BLOCKING;
	prepare_cache(gl, to);
	if (!lost(gl)) {
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
	glock__drop(gl);
	space->lm->ops->cancel(space->lm, &gl->lk);
	gl_take(gl);
	gl->flags &= ~(uint32_t)GLOCK__F_CANCELING;
	glock__unpin(gl); /* the caller has one */
	if (gl->flags & GLOCK__F_HAVE_REPLY)
		glock__work_queue(gl, gl_now(gl)); /* it left the reply to us */
}

bool glock__now_idle(struct glock *gl)
{
	assert(gl_held(gl));
	if (gl->flags & GLOCK__F_LOCK || !gl->lk.held || !glock__list_empty(&gl_busy(gl)->holders))
		return false;
	gl->lk.held = false;
	return true;
}

void glock__work_run(struct glock *gl)
{
	assert(gl_held(gl));
	/* Not while it is being canceled: that must not hit the next request. */
	if (gl->flags & GLOCK__F_HAVE_REPLY && (!(gl->flags & GLOCK__F_CANCELING) || FAULT(19)))
		take_reply(gl);
	glock__demote_if_due(gl);
	glock__run_queue(gl, false);
	if (!glock__now_idle(gl))
		return;
	glock__drop(gl);
	gl_space(gl)->lm->ops->idle(gl_space(gl)->lm, &gl->lk);
	gl_take(gl);
}
