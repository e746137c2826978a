/* SPDX-License-Identifier: MIT */
/*
 * queue.c - the queue of a glock. It decides on the next step; xmote.c changes the state.
 *
 * glock__run_queue() decides on a change of state and takes the bit lock. The thread that clears
 * the bit lock runs the queue again. A demand of another node comes before the waiters of this
 * node, because this node must not starve the others. No demand takes a lock away from a holder.
 *
 * All functions run under gl->lock. enter(), the functions of xmote.c and their callers drop
 * gl->lock for a while, and hold the bit lock meanwhile. In that time other threads may add and
 * remove waiters, let holders go, ask for demotes and store a reply.
 */
#include "queue.h"

#include "glock/core/notify.h"
#include "glock/core/measure.h"
#include "glock/core/order.h"
#include "glock/publish/publish_lent.h"
#include "glock/publish/publish_space.h"

#include "busy.h"
#include "cache.h"
#include "demote.h"
#include "events.h"
#include "hold.h"
#include "inline_work.h"
#include "shortcuts.h"
#include "show.h"
#include "sync.h"
#include "word.h"
#include "work.h"
#include "xmote.h"

#include <assert.h>
#include <errno.h>

#define LONG_WAIT 1000000000 /* ns: a longer wait makes the hold time grow */

void glock__clear_lock(struct glock *gl)
{
	assert(gl_held(gl) && gl->flags & GLOCK__F_LOCK && !(gl->flags & GLOCK__F_CANCELING));
	gl->flags &= ~(uint32_t)GLOCK__F_LOCK;
	gl_busy(gl)->cancel = false;
	gl_busy(gl)->must_run = true;
	glock__bit_lock_free(gl);
}

/* ---- the queue ---- */

/* Returns the first granted holder. Granted holders are at the head, without gaps. */
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

/* Inside this file no call is made, because each hand-over asks several times. */
GLOCK__INLINE bool is_held(struct glock *gl)
{
	glock__fast_shut(gl);
	return glock__first_holder(gl) || glock__fast_mode(gl) != GLOCK_UN;
}

bool glock__is_held(struct glock *gl)
{
	return is_held(gl);
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

/*
 * Tells whether the list admits gh. `others` says that holders exist that the list does not show.
 */
static bool may_join_list(struct glock *gl, const struct glock__holder *gh, bool others)
{
	struct glock__holder *held = glock__first_holder(gl);
	uint32_t flags = held || others ? gh->flags & ~GLOCK_EXACT : gh->flags;

	/*
	 * If the holder in SH said ANY, the state may be DF. Then a request for SH without ANY may
	 * not join the holder. If there is a holder, EXACT adds nothing. Linux 6.1 looks at the
	 * holder only, and grants both.
	 */
	if (held && !glock__holder_admits(held->mode, held->flags, gh->mode, gh->flags))
		return false;
	return glock__state_serves(gl->state, gh->mode, flags) ||
	       (held && gl_space(gl)->flags & GLOCK_SPACE_LINUX_6_1) ||
	       (FAULT(GRANT_FROM_ANY_MODE) && gl->state) ||
	       (FAULT(HOLDER_ADMITS_ANY_STATE) && held);
}
/*
 * Returns the waiter whose turn it is. If a holder with RECOVER was let in during recovery, only
 * waiters with RECOVER follow. The first one of them moves to the place in the list where granted
 * holders stand.
 */
static struct glock__holder *next_waiter(struct glock *gl)
{
	struct glock__holder *first = glock__first_waiter(gl);
	struct glock__list *l;

	if (!first || !glock__is_kept_back(gl) || glock__is_unusable(gl_space(gl)))
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

	if (glock__grants_paused(gl_space(gl)) || gl->flags & GLOCK__F_STALE ||
	    (glock__is_kept_back(gl) && !(gh->flags & GLOCK_RECOVER)))
		return false;
	/* Holders by the word have no flags that matter to other holders. */
	if (fast != GLOCK_UN && !glock__holder_admits(fast, 0, gh->mode, gh->flags))
		return false;
	return may_join_list(gl, gh, fast != GLOCK_UN);
}

#ifdef GLOCK_ATOM_HOOKS
void (*glock__grant_hook)(const struct glock *gl, const struct glock__holder *gh);
#define GRANT_HOOK(gl, gh) (glock__grant_hook ? glock__grant_hook(gl, gh) : (void)0)
#else
#define GRANT_HOOK(gl, gh) ((void)0)
#endif

/* Counts an ended wait. A grant at once is no wait. A long wait makes the glock busy. */
GLOCK__INLINE void count_wait(struct glock *gl, int64_t ns)
{
	glock__publish_waited(gl, ns);
	if (ns >= GLOCK__WAITED_NS)
		glock__lend(gl);
	if (ns >= GLOCK__SHORTEST_WAIT_NS)
		glock__publish_time(gl, GLOCK__WAITS, ns);
}

/* Returns the time at which a waiter fails; 0: never. */
static int64_t deadline_of(const struct glock *gl, const struct glock__holder *gh)
{
	int64_t end = gh->flags & GLOCK_TRY_IDLE ? gh->asked + glock__hold_idle(gl) : 0;

	return end && (!gh->deadline || end < gh->deadline) ? end : gh->deadline;
}

/* Sets the state of a request that is granted or has failed. The holder may be gone then. */
GLOCK__INLINE void holder_finish(struct glock *gl, struct glock__holder *gh, uint32_t state)
{
	uint32_t *word = &gh->state;

	/* The work that waits for the deadline runs now, because it would keep the glock. */
	if (__builtin_expect(gl_busy(gl)->deadlines, 0) && deadline_of(gl, gh))
		glock__work_queue(gl, gl_now(gl));
	if (__builtin_expect(!(gh->flags & GLOCK__NOTIFIES), 1)) {
		glock__holder_set(gl_space(gl), gh, state);
		return;
	}
	glock__notify_finish(gh, state);
	glock__wake(gl_space(gl), word);
}

void glock__grant(struct glock *gl, struct glock__holder *gh)
{
	int64_t waited;
	bool died;

	/*
	 * Do not check gl->fast. A holder that is about to be refused may be counted there for a
	 * moment.
	 */
	assert(gl_held(gl) && may_join_list(gl, gh, true));
	GRANT_HOOK(gl, gh);
	waited = gl_now(gl) - gh->asked;
	if (waited > LONG_WAIT)
		glock__hold_grow(gl);
	count_wait(gl, waited);
	glock__publish_granted(gl, gh->mode, 1);
	glock__hold_count(gl, gh->mode, 1);
	glock__hold_waited(gl, gh->asked);
	glock__publish_holder(gl, gh, GLOCK__H_HOLDER);
	gh->error = 0;
	glock__trace_holder(gl, GLOCK__EV_PROMOTE, gh, false);
	glock__measure_begin(gl, gh);
	died = gl->flags & GLOCK__F_DIED;
	if (gh->mode == GLOCK_EX)
		gl->flags &= ~(uint32_t)GLOCK__F_DIED; /* a holder in EX is told, and may repair */
	/* With STALE, the lock was lost while the lock operation ran. */
	holder_finish(gl, gh,
		      GLOCK__H_QUEUED | GLOCK__H_HOLDER | (died ? GLOCK__H_DIED : 0) |
			  (gl->flags & GLOCK__F_STALE ? GLOCK__H_LOST : 0));
}

/* Removes the holder from the list. The program owns its memory again once its state is set. */
void glock__unlink(struct glock *gl, struct glock__holder *gh)
{
	assert(gl_held(gl) && gh_state(gh) & GLOCK__H_QUEUED);
	glock__list_del(&gh->list);
	glock__measure_end(gl, gh);
	glock__order_forget(gl_space(gl), gh);
	glock__publish_unlinked(gl, gh);
	glock__trace_holder(gl, GLOCK__EV_QUEUE, gh, true);
}

void glock__fail(struct glock *gl, struct glock__holder *gh, int error)
{
	assert(gh_state(gh) & GLOCK__H_WAIT && !(gh_state(gh) & GLOCK__H_HOLDER));
	count_wait(gl, gl_now(gl) - gh->asked);
	glock__unlink(gl, gh);
	gh->error = error;
	holder_finish(gl, gh, 0);
}

/* Fails all waiters; with tries_only, those that would rather fail than wait. */
void glock__fail_waiters(struct glock *gl, int error, bool tries_only)
{
	struct glock__list *l = gl_busy(gl)->holders.next, *next;

	for (; l != &gl_busy(gl)->holders; l = next) {
		struct glock__holder *gh = glock__entry(l, struct glock__holder, list);

		next = l->next;
		if (gh_state(gh) & (GLOCK__H_HOLDER | GLOCK__H_ENTERING))
			continue;
		if (tries_only && !(gh->flags & GLOCK__TRIES))
			continue;
		gl_busy(gl)->more->counts.tries_failed += tries_only;
		glock__fail(gl, gh,
			    error == -EBUSY && !(gh->flags & GLOCK_TRY_IDLE) ? -EAGAIN : error);
	}
}

/* ---- deadlines ---- */

void glock__deadline_set(struct glock *gl, const struct glock__holder *gh)
{
	int64_t deadline = deadline_of(gl, gh);

	if (!deadline || !(gh_state(gh) & GLOCK__H_WAIT))
		return;
	gl_busy(gl)->deadlines = true;
	glock__work_queue(gl, deadline);
}

/*
 * Returns the waiter with the earliest deadline, or NULL. A request whose operation runs counts as
 * granted.
 */
static struct glock__holder *deadline_first(struct glock *gl)
{
	struct glock__holder *gh = NULL, *first = NULL;

	while ((gh = glock__next_holder(gl, gh)))
		if (deadline_of(gl, gh) &&
		    !(gh_state(gh) & (GLOCK__H_HOLDER | GLOCK__H_ENTERING)) &&
		    (!first || deadline_of(gl, gh) < deadline_of(gl, first)))
			first = gh;
	return first;
}

/* Fails the waiters whose deadline has come. */
GLOCK__COLD static void deadlines_expire(struct glock *gl)
{
	struct glock__holder *gh;
	bool first = false;

	while ((gh = deadline_first(gl)) && deadline_of(gl, gh) <= gl_now(gl)) {
		bool idle = gh->flags & GLOCK_TRY_IDLE;

		first |= glock__first_waiter(gl) == gh;
		gl_busy(gl)->more->counts.tries_failed += idle;
		glock__fail(gl, gh, idle ? -EAGAIN : -ETIMEDOUT);
	}
	gl_busy(gl)->deadlines = gh;
	if (gh)
		glock__work_queue(gl, deadline_of(gl, gh));
	if (first)
		glock__cancel_request(gl);
}

/* ---- operations and grants ---- */

/* Tells whether the object has to be read in for gh. The flag is set only for types that do so. */
static bool must_instantiate(const struct glock *gl, const struct glock__holder *gh)
{
	return gl->flags & GLOCK__F_INSTANTIATE_NEEDED && !(gh->flags & GLOCK_SKIP);
}

bool glock__must_enter(const struct glock *gl, const struct glock__holder *gh)
{
	const struct glock_ops *ops = &gl_type(gl)->ops;

	if (must_instantiate(gl, gh))
		return true;
	return (ops->lock || ops->unlock) && !(gl->flags & GLOCK__F_ENTERED) &&
	       !(gh->flags & GLOCK_SKIP);
}

/* Reads the object in. After an error, or if the lock was lost meanwhile, the next holder does. */
static int instantiate(struct glock *gl, struct glock__holder *gh)
{
	int err = glock__op_instantiate(gl, gh);

	if (!err && glock__lock_is_lost(gl))
		err = -EIO;
	if (!err && !FAULT(INSTANTIATED_TWICE))
		gl->flags &= ~(uint32_t)GLOCK__F_INSTANTIATE_NEEDED;
	return err;
}

/*
 * Runs the operations instantiate and lock for a holder, as far as they are due. The bit lock keeps
 * all other holders waiting, and the cache as it is.
 */
static void enter(struct glock *gl, struct glock__holder *gh)
{
	const struct glock_ops *ops = &gl_type(gl)->ops;
	const struct glock__entered here = {gh, glock__tls()->id.entered};
	bool had = gl->flags & GLOCK__F_LOCK;
	int err = 0;

	gl->flags |= GLOCK__F_LOCK;
	atom_or32(&gh->state, GLOCK__H_ENTERING);
	glock__tls()->id.entered = &here;
	if (must_instantiate(gl, gh))
		err = instantiate(gl, gh);
	if (!err && ops->lock && !(gl->flags & GLOCK__F_ENTERED))
		err = glock__op_lock(gl, gh);
	glock__tls()->id.entered = here.outer;
	assert(gl->flags & GLOCK__F_LOCK && gh_state(gh) & GLOCK__H_WAIT);
	/* A thread that wants to cancel this request waits for the end of ENTERING. */
	glock__holder_set(gl_space(gl), gh, GLOCK__H_QUEUED | GLOCK__H_WAIT);
	if (err) {
		glock__fail(gl, gh, err);
	} else {
		if (ops->lock || ops->unlock)
			gl->flags |= GLOCK__F_ENTERED;
		glock__publish_object(gl);
		glock__grant(gl, gh);
	}
	if (!had)
		glock__clear_lock(gl);
}

/*
 * Grants the waiters that fit, in the order of asking. No waiter overtakes another one. Returns
 * false if the next step may block, and nonblock is set.
 */
bool glock__promote(struct glock *gl, bool nonblock)
{
	struct glock__holder *gh;

	while ((gh = next_waiter(gl))) {
		if (glock__is_unusable(gl_space(gl))) {
			glock__fail(gl, gh, -EIO);
			continue;
		}
		if (!glock__may_grant(gl, gh)) {
			if (!is_held(gl))
				break;
			glock__fail_waiters(gl, -EBUSY, true);
			/* Linux 6.1 stops here, also if gh was a try and the next waiter fits. */
			if (glock__first_waiter(gl) == gh ||
			    gl_space(gl)->flags & GLOCK_SPACE_LINUX_6_1)
				break;
			continue; /* gh was a try itself, and the next waiter may fit */
		}
		if (!glock__must_enter(gl, gh)) {
			bool last = gh->list.next == &gl_busy(gl)->holders;

			glock__grant(gl, gh);
			if (last)
				return true;
			continue;
		}
		if (nonblock || glock__inline_leaves(gl, gh))
			return false;
		enter(gl, gh);
	}
	return true;
}

/* Queues work that goes on with the queue, on this thread only if it may take the next step. */
static void run_later(struct glock *gl, bool leave)
{
	if (leave)
		glock__inline_leave(gl);
	else
		glock__work_queue(gl, gl_now(gl));
}

/* Starts the demote, or finds that it is done. Returns true if nothing else can be done now. */
static bool run_demote(struct glock *gl, bool nonblock)
{
	enum glock_mode to = glock__demote_target(gl);
	bool leave = glock__inline_leaves(gl, NULL);

	if (to == gl->state) {
		glock__demote_done(gl);
		return false;
	}
	if (glock__is_held(gl))
		return true; /* until the holders let go; new requests wait behind */
	if (nonblock || leave) {
		run_later(gl, leave);
		return true;
	}
	glock__hold_giving_up(gl);
	gl->flags |= GLOCK__F_LOCK | GLOCK__F_DEMOTE_IN_PROGRESS;
	gl_busy(gl)->target = to;
	glock__xmote(gl, to);
	return true;
}

void glock__run_queue(struct glock *gl, bool nonblock)
{
	struct glock__holder *gh;
	bool leave;

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
	gh = glock__lone_miss(gl);
	while (!gh) {
		gl_busy(gl)->must_run = false;
		if (gl->flags & GLOCK__F_LOCK)
			return; /* the thread with the bit lock runs the queue */
		if (glock__grants_paused(gl_space(gl)) && !glock__lock_is_lost(gl)) {
			glock__fail_waiters(gl, -EAGAIN, true);
			return; /* until the event resume */
		}
		if (gl->flags & GLOCK__F_DEMOTE && !FAULT(WAITER_BEFORE_DEMOTE) &&
		    run_demote(gl, nonblock))
			return;
		if (!glock__promote(gl, nonblock)) {
			run_later(gl, !nonblock); /* this thread leaves the operation */
			return;
		}
		gl_busy(gl)->must_run = false;
		gh = next_waiter(gl);
		if (is_held(gl) || !gh)
			return;
		if (!(gl->flags & GLOCK__F_DEMOTE) &&
		    (!glock__state_serves(gl->state, gh->mode, gh->flags) ||
		     FAULT(SERVED_WAITER_ASKS)))
			break;
		gh = NULL;
		/*
		 * Go on. A demote was asked for while a lock operation ran. Or the waiter fits, but
		 * was not granted because of a thread that tried the fast path and left again.
		 */
	}
	leave = glock__xmote_is_left(gl, gh);
	if (nonblock || leave) {
		run_later(gl, leave);
		return;
	}
	gl_busy(gl)->target = gh->mode;
	if (!(gh->flags & GLOCK__TRIES) && gh->list.next != &gl_busy(gl)->holders)
		glock__fail_waiters(gl, -EBUSY, true);
	gl->flags |= GLOCK__F_LOCK;
	glock__xmote(gl, gl_busy(gl)->target);
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
	if (gl_busy(gl)->fence)
		glock__fast_close(gl);
	/*
	 * A reply is not applied during its cancel, because the cancel must not hit the next
	 * request.
	 */
	if (gl->flags & GLOCK__F_HAVE_REPLY &&
	    (!(gl->flags & GLOCK__F_CANCELING) || FAULT(REPLY_TAKEN_WHILE_CANCELING))) {
		if (glock__reply_is_left(gl)) {
			glock__inline_leave(gl);
			return;
		}
		glock__take_reply(gl);
	}
	glock__demote_if_due(gl);
	if (gl_busy(gl)->deadlines)
		deadlines_expire(gl);
	glock__run_queue(gl, false);
	/* If the queue still has to run, the caller does that next. Do not drop the lock before. */
	if (gl_busy(gl)->must_run || !glock__now_idle(gl))
		return;
	gl_unlock(gl);
	gl_space(gl)->lm->ops->idle(gl_space(gl)->lm, &gl->lk);
	gl_lock(gl);
}
