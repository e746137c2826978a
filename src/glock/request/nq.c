/* SPDX-License-Identifier: MIT */
/*
 * nq.c - asks for a lock.
 *
 * A request takes the fast path (fast.h) if the lock is cached here and no thread waits for it.
 * Otherwise the holder joins the list of its glock. The holder stays in the list until the program
 * lets it go or takes it back, or the request fails. While the holder waits in the list, only a
 * thread with gl->lock changes its state word. wait.c reads the word without the lock.
 */
#include "glock/core/notify.h"
#include "glock/core/space.h"
#include "glock/publish/publish_space.h"
#include "glock/state/cache.h"
#include "glock/state/demote.h"
#include "glock/state/queue.h"
#include "glock/state/reply.h"
#include "glock/state/show.h"
#include "glock/state/work.h"

#include "glock/fast/fast.h"

#include <errno.h>
#include <string.h>

void glock_holder_init(struct glock_holder *pub, struct glock *gl, enum glock_mode mode,
		       unsigned int flags)
{
	struct glock__holder *gh = gh_of(pub);

	/* The links stay: the list of a glock holds together if this holder stands in it. */
	memset((char *)pub + sizeof(gh->list), 0, sizeof(*pub) - sizeof(gh->list));
	gh->gl = gl;
	gh->mode = (uint8_t)(mode < GLOCK_MODE_MAX ? mode : GLOCK_UN);
	/* Unknown flags are refused later. */
	gh->flags = flags & ~GLOCK_FLAGS_ALL ? ~(GLOCK__OWNED | GLOCK__NOTIFIES) : flags;
	glock__list_init(&gh->order);
}

void glock_holder_owner(struct glock_holder *pub, uint64_t owner)
{
	struct glock__holder *gh = gh_of(pub);

	gh->owner = owner;
	gh->flags = (gh->flags & ~GLOCK__OWNED) | (owner ? GLOCK__OWNED : 0);
}

struct glock *glock_of(const struct glock_holder *gh)
{
	return gh_of(gh)->gl;
}

enum glock_mode glock_mode_of(const struct glock_holder *gh)
{
	return gh_of(gh)->mode;
}

/* ---- asking ---- */

static int mistake(struct glock *gl, const struct glock__holder *gh, const char *what)
{
	glock__log(gl_space(gl), "glock %u:%" PRIu64 " at %s: %s", gl->type, gl->number,
		   gh->where ? gh->where : "?", what);
	return -EINVAL;
}

#define INIT_WHILE_HELD "this holder was queued during glock_holder_init(); call glock_dq() first"

/* A child has the fd of its parent's notifier. The child must not make that fd readable. */
static int check_notifier(struct glock *gl, const struct glock__holder *gh)
{
	if (!(gh->flags & GLOCK__NOTIFIES))
		return 0;
	if (!(gh->flags & GLOCK_ASYNC))
		return mistake(gl, gh, "a notifier is only for requests with ASYNC");
	if (gh->notifier->generation == glock__generation())
		return 0;
	(void)mistake(gl, gh, "the notifier is of another process; open one in this process");
	return -ECHILD;
}

static int check_request(struct glock *gl, const struct glock__holder *gh)
{
	struct glock_space *space = gl_space(gl);
	const uint32_t tries = gh->flags & GLOCK__TRIES;
	int err = glock__check(space, "glock_nq");

	if (err)
		return err;
	if (gh_state(gh) & GLOCK__H_QUEUED)
		return mistake(gl, gh, "this holder is queued already; call glock_dq() first");
	if (glock__thread_in(space) && glock__slots_have(glock__thread_in(space), gh))
		return mistake(gl, gh, INIT_WHILE_HELD);
	if (gh->mode == GLOCK_UN || !(gl_type(gl)->info.modes & GLOCK__MODES(gh->mode)))
		return mistake(gl, gh, "the type of this glock does not have this mode");
	if (gh->flags & ~(GLOCK_FLAGS_ALL | GLOCK__OWNED | GLOCK__NOTIFIES | GLOCK__TRY_NOQUEUE) ||
	    tries & (tries - 1))
		return mistake(
		    gl, gh,
		    "a flag is unknown, or two of TRY, TRY_1CB and TRY_CACHED are combined");
	if (gh->flags & GLOCK_ANY && gh->mode == GLOCK_EX)
		return mistake(gl, gh, "ANY cannot be combined with EX");
	if (gh->flags & GLOCK_PRIORITY &&
	    (!gl_type(gl)->info.priority || !atom_load8(&space->recovering)))
		return mistake(gl, gh, "PRIORITY is only for journals, during a recovery");
	if (glock__is_unusable(space))
		return -EIO;
	if (atom_load8(&space->closing))
		return -ESHUTDOWN;
	return check_notifier(gl, gh);
}

/*
 * Locks the glock. Returns false without the lock if the program has no reference, because the
 * glock may be freed then. A freed glock stays readable, and has no busy part.
 */
GLOCK__INLINE bool lock_referenced(struct glock *gl)
{
	glock__lock_take(&gl->lock);
	if (__builtin_expect(!gl->users, 0)) {
		glock__lock_drop(&gl->lock);
		return false;
	}
	gl_locked(gl);
	return true;
}

static void sign(struct glock__holder *gh, const char *where)
{
	gh->where = where;
	gh->pid = glock__thread_id();
	memcpy(gh->comm, glock__thread_name(), sizeof(gh->comm));
	if (!(gh->flags & GLOCK__OWNED))
		gh->owner = glock__thread_number();
}

static int recursion(struct glock *gl, const struct glock__holder *gh,
		     const struct glock__holder *other)
{
	glock__log(gl_space(gl),
		   "glock %u:%" PRIu64 ": the request for %s at %s would wait for its own owner, "
		   "which already %s %s from %s; release that holder first",
		   gl->type, gl->number, glock__modes[gh->mode].name, gh->where,
		   gh_state(other) & GLOCK__H_HOLDER ? "holds" : "waits for",
		   glock__modes[other->mode].name, other->where);
	return -EDEADLK;
}

/* holders: a request of an owner that the program named, and the holder that was found. */
static void look_for_owner(struct glock *gl, const struct glock__fast_holder *fh, void *holders)
{
	const struct glock__holder **found = holders;

	(void)gl;
	if (glock__is_owners(fh->gh) && fh->gh->owner == found[0]->owner)
		found[1] = fh->gh;
}

/* Returns the holder in a slot that keeps the owner of this request from asking, or NULL. */
static const struct glock__holder *find_in_slots(struct glock *gl, const struct glock__holder *gh)
{
	const struct glock__holder *found[2] = {gh};

	if (!(gh->flags & GLOCK__OWNED))
		return glock__fast_mine(gl);
	glock__fast_each(gl, look_for_owner, found);
	return found[1];
}

/* Looks for a request of the same owner: the owner would wait for itself. */
static int look_for_recursion(struct glock *gl, const struct glock__holder *gh)
{
	const struct glock__holder *mine = NULL;

	while ((mine = glock__next_holder(gl, (struct glock__holder *)(uintptr_t)mine)))
		if (mine == gh)
			return mistake(gl, gh, INIT_WHILE_HELD);
	if (gl_type(gl)->info.may_recur)
		return 0;
	mine = find_in_slots(gl, gh);
	if (mine)
		return recursion(gl, gh, mine);
	for (struct glock__list *l = gl_busy(gl)->holders.next; l != &gl_busy(gl)->holders;
	     l = l->next) {
		struct glock__holder *other = glock__entry(l, struct glock__holder, list);

		if (other->owner != gh->owner || (other->flags ^ gh->flags) & GLOCK__OWNED)
			continue;
		if (other->flags & GLOCK_NOPID && gh_state(other) & GLOCK__H_HOLDER)
			continue;
		return recursion(gl, gh, other);
	}
	return 0;
}

GLOCK__INLINE int check_recursion(struct glock *gl, const struct glock__holder *gh)
{
	const struct glock__thread *t = glock__tls()->fast.thread;
	bool owned = gh->flags & GLOCK__OWNED;

	/* The list is empty, and this thread has nothing in its slots, or no thread has. */
	if (glock__list_empty(&gl_busy(gl)->holders) &&
	    (owned ? glock__fast_mode(gl) == GLOCK_UN
		   : t && !t->used && atom_load_ptr(&t->space) == gl_space(gl)))
		return 0;
	return look_for_recursion(gl, gh);
}

/* Tells whether a try would have to wait for a demote: for its holders or for its operations. */
static bool demote_is_in_the_way(struct glock *gl, bool waits)
{
	bool ops = gl_type(gl)->has_ops && !waits;

	if (gl->flags & GLOCK__F_DEMOTE_IN_PROGRESS)
		return ops;
	return gl->flags & GLOCK__F_DEMOTE && glock__demote_target(gl) != gl->state &&
	       (ops || glock__is_held(gl));
}

/*
 * Linux 6.1 queues a try unless a request is in flight for a waiter that is no try. The queue then
 * refuses the try if a holder is in its way.
 */
static bool try_is_futile_in_linux(struct glock *gl, const struct glock__holder *gh)
{
	if (!(gl->flags & GLOCK__F_LOCK) || glock__may_grant(gl, gh))
		return false;
	for (struct glock__list *l = gl_busy(gl)->holders.next; l != &gl_busy(gl)->holders;
	     l = l->next)
		if (!(glock__entry(l, struct glock__holder, list)->flags & GLOCK__TRIES))
			return true;
	return false;
}

/* Tells whether the request needs more than the lock that this node has: a request, or a wait. */
static bool needs_more(struct glock *gl, const struct glock__holder *gh)
{
	return gl->flags & (GLOCK__F_LOCK | GLOCK__F_DEMOTE) || glock__first_waiter(gl) ||
	       !glock__may_grant(gl, gh);
}

/*
 * Tells whether a try is to fail now, because it would clearly have to wait. It would wait behind a
 * request, or for an operation that runs or is due on this node. TRY waits for an operation.
 */
static bool try_is_futile(struct glock *gl, const struct glock__holder *gh)
{
	const bool idle = gh->flags & GLOCK_TRY;

	if (!(gh->flags & GLOCK__TRIES))
		return false;
	if (gh->flags & GLOCK_TRY_CACHED)
		return needs_more(gl, gh);
	if (glock__linux_hz)
		return try_is_futile_in_linux(gl, gh);
	if (demote_is_in_the_way(gl, idle) || (glock__is_held(gl) && !glock__may_grant(gl, gh)))
		return true;
	/* The unlock operation runs, or a request that was taken back. */
	if (gl->flags & GLOCK__F_LOCK && gl_type(gl)->has_ops && !glock__first_waiter(gl) && !idle)
		return true;
	for (struct glock__list *l = gl_busy(gl)->holders.next; l != &gl_busy(gl)->holders;
	     l = l->next) {
		struct glock__holder *other = glock__entry(l, struct glock__holder, list);

		if (gh_state(other) & GLOCK__H_HOLDER)
			continue;
		if (idle || other->flags & GLOCK_TRY || !(other->flags & GLOCK__TRIES) ||
		    gh_state(other) & GLOCK__H_ENTERING)
			return true;
	}
	return false;
}

/*
 * Returns the place before all waiters. If the lock operation of the first waiter runs, that waiter
 * counts as granted, and the place is behind it.
 */
static struct glock__list *priority_place(struct glock *gl)
{
	struct glock__holder *first = glock__first_waiter(gl);

	if (!first)
		return &gl_busy(gl)->holders;
	return gh_state(first) & GLOCK__H_ENTERING ? first->list.next : &first->list;
}

static int add_to_queue(struct glock *gl, struct glock__holder *gh)
{
	bool priority = gh->flags & GLOCK_PRIORITY;
	int err = check_recursion(gl, gh);

	if (err)
		return err;
	if (try_is_futile(gl, gh)) {
		gl_busy(gl)->more->counts.tries_failed++;
		return gh->flags & GLOCK_TRY ? -EBUSY : -EAGAIN;
	}
	glock__trace_holder(gl, GLOCK__EV_QUEUE, gh, false);
	glock__hold_asked(gl, gh->mode);
	gl_busy(gl)->uncounted++;
	atom_store32(&gh->state, GLOCK__H_QUEUED | GLOCK__H_WAIT);
	glock__list_add(priority ? priority_place(gl) : &gl_busy(gl)->holders, &gh->list);
	glock__publish_queued(gl, gh, glock__spare_of(gl_space(gl)));
	if (gh->flags & GLOCK_RECOVER && gl->flags & GLOCK__F_FROZEN) {
		gl_busy(gl)->recover_first = true;
		glock__unfreeze(gl);
	}
	return 0;
}

/* Grants the request at once or refuses it. The holder never waits in the queue. */
static int nq_noblock(struct glock *gl, struct glock__holder *gh)
{
	int err;

	if (needs_more(gl, gh) || glock__must_enter(gl, gh))
		return -ECHILD;
	err = check_recursion(gl, gh);
	if (err)
		return err;
	glock__hold_asked(gl, gh->mode);
	glock__list_add(&gl_busy(gl)->holders, &gh->list);
	glock__publish_queued(gl, gh, glock__spare_of(gl_space(gl)));
	glock__grant(gl, gh);
	return 0;
}

/*
 * Moves a holder that waited from the list to a slot. The word grants only while the list is empty.
 * If holders stayed in the list, each new holder would find one there, and join the list as well.
 */
static void out_of_the_list(struct glock *gl, struct glock__holder *gh)
{
	gl_lock(gl);
	if (gh_state(gh) & GLOCK__H_HOLDER) {
		glock__hold_entered(gl);
		glock__fast_from_list(gl, gh);
	}
	gl_unlock(gl);
}

/* Checks the request, signs it, and delivers the events that wait. */
static int begin(struct glock *gl, struct glock__holder *gh, const char *where)
{
	int err;

	if (!(gh_state(gh) & GLOCK__H_QUEUED))
		gh->where = where;
	err = check_request(gl, gh);
	if (err)
		return err;
	sign(gh, where);
	err = glock__order_check(gl, gh);
	if (!err)
		glock__poll(gl_space(gl));
	return err;
}

/*
 * Queues the request and takes the steps that this thread may take, under gl->lock. Returns 1 if
 * the holder is granted, 0 if it may have to wait. A notifier's reader may have freed the holder
 * then.
 */
static int nq_locked(struct glock *gl, struct glock__holder *gh, bool inline_work)
{
	const uint32_t flags = gh->flags;
	int err;

	glock__fast_close(gl);
	gh->asked = gl_now(gl);
	if (flags & GLOCK_NOBLOCK)
		err = nq_noblock(gl, gh);
	else
		err = add_to_queue(gl, gh);
	if (!err && flags & GLOCK__NOTIFIES)
		glock__deadline_set(gl, gh);
	/* This thread runs the work below. With ASYNC most requests wait, without work. */
	if (!err && !(flags & GLOCK_NOBLOCK)) {
		if (inline_work && !(flags & GLOCK_ASYNC))
			glock__work_queue(gl, gl_now(gl));
		else
			glock__run_queue(gl, true);
	}
	if (inline_work && glock__tls()->deferred.queued)
		glock__inline_run(gl);
	if (err || flags & GLOCK__NOTIFIES)
		return err;
	if (gh_state(gh) & GLOCK__H_HOLDER) {
		glock__fast_from_list(gl, gh);
		return 1;
	}
	if (flags & GLOCK_TRY)
		glock__deadline_set(gl, gh); /* late, because most requests have an answer by now */
	return 0;
}

/* Asks by the queue, and waits unless the request has ASYNC. */
GLOCK__NOINLINE static int nq_by_queue(struct glock_holder *pub, const char *where)
{
	struct glock__holder *gh = gh_of(pub);
	struct glock *gl = gh->gl;
	bool inline_work, async = gh->flags & GLOCK_ASYNC;
	int err = begin(gl, gh, where);

	if (err)
		return err;
	if (gl_space(gl)->lru.max && !(gh->flags & (GLOCK__TRIES | GLOCK_NOBLOCK | GLOCK_ASYNC)))
		glock__await_leaving(gl);
	if (gh->flags & GLOCK__NOTIFIES)
		glock__notify_begin(gh);
	/* Without operations this thread itself sends the request, also if it does not wait. */
	inline_work = !(gh->flags & GLOCK_NOBLOCK) && !(async && gl_type(gl)->has_ops) &&
		      glock__inline_begin(gl, gh);
	if (lock_referenced(gl)) {
		err = nq_locked(gl, gh, inline_work);
		gl_unlock(gl);
	} else {
		err = mistake(gl, gh, "the program has no reference; see glock_get()");
	}
	if (inline_work && (err < 0 || async || glock_poll(pub)))
		glock__inline_end(gl);
	if (err < 0) {
		glock__order_forget(gl_space(gl), gh);
		glock__notify_end(gh);
		return err;
	}
	if (async)
		return 0;
	if (err) { /* granted */
		glock__report_death(gh);
		return 0;
	}
	err = glock_wait(pub, 0, 0);
	if (inline_work && glock__tls()->deferred.gl == gl)
		glock__inline_end(gl); /* glock_wait() did not have to wait after all */
	if (err && gh_state(gh) & GLOCK__H_QUEUED)
		glock_dq(pub); /* waiting is not allowed here */
	if (!err)
		out_of_the_list(gl, gh);
	return err;
}

/* Tells whether the thread is new in the space, or used another space last, and now has slots. */
static bool gets_slots(struct glock_space *space)
{
	const struct glock__tls *tls = glock__tls();
	const struct glock__thread *t = tls->fast.thread;

	if (t && atom_load_ptr(&t->space) == space)
		return false;
	glock__check_left(false);
	return !tls->id.spinlocked && glock__thread_in(space);
}

/*
 * Goes on after the fast path, which did not simply grant the request. Tries any slot of the
 * thread, as long as that may help. The queue comes last, because it closes the word and ends the
 * bias of all threads.
 */
GLOCK__NOINLINE static int nq_more(struct glock_holder *pub, const char *where,
				   enum glock__fast_result result)
{
	struct glock__holder *gh = gh_of(pub);
	bool again = result != GLOCK__FAST_REFUSED && result != GLOCK__FAST_REVOKED;

	if (!again)
		again = glock__fast_undo(gh, result);
	while (again && result != GLOCK__FAST_COUNT && !(gh->flags & ~GLOCK__MOVABLE_FLAGS)) {
		result = glock__is_threads(gh) ? glock__fast_nq_more(gh->gl, gh, where)
					       : glock__movable_nq_more(gh->gl, gh, where);
		if (result == GLOCK__FAST_TAKEN)
			return 0;
		again = result == GLOCK__FAST_NOT ? gets_slots(gl_space(gh->gl))
						  : glock__fast_undo(gh, result);
	}
	if (result != GLOCK__FAST_COUNT)
		return nq_by_queue(pub, where);
	glock__bias_count(gh->gl);
	return 0;
}

/* A request with an owner of the program's, or with flags that the fast path does not have. */
GLOCK__NOINLINE GLOCK__CACHELINE_ALIGNED static int nq_movable(struct glock_holder *pub,
							       const char *where)
{
	enum glock__fast_result result = glock__movable_nq(gh_of(pub)->gl, gh_of(pub), where);

	return result == GLOCK__FAST_TAKEN ? 0 : nq_more(pub, where, result);
}

GLOCK__CACHELINE_ALIGNED int glock_nq_at(struct glock_holder *pub, const char *where)
{
	struct glock__holder *gh = gh_of(pub);
	struct glock *gl = gh->gl;
	enum glock__fast_result result;

	if (!gl)
		return -EINVAL;
	if (gh_state(gh) & GLOCK__H_QUEUED)
		return nq_by_queue(pub, where);
	if (gh->flags & ~GLOCK__FAST_FLAGS)
		return nq_movable(pub, where);
	result = glock__fast_nq(gl, gh, where);
	return __builtin_expect(result == GLOCK__FAST_TAKEN, 1) ? 0 : nq_more(pub, where, result);
}
