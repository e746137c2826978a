/* SPDX-License-Identifier: MIT */
/*
 * queue.c - the list of a glock: which waiter may be granted, grants, failures, deadlines.
 *
 * run.c decides when the functions here run, and xmote.c changes the state. All run under gl->lock.
 * enter(), the functions of xmote.c and their callers drop gl->lock for a while, and hold the bit
 * lock meanwhile. In that time other threads may add and remove waiters, let holders go, ask for
 * demotes and store a reply.
 */
#include "queue.h"

#include "glock/core/notify.h"
#include "glock/publish/publish_space.h"

#include "busy.h"
#include "cache.h"
#include "demote.h"
#include "show.h"
#include "work.h"

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
	return glock__state_serves(gl->state, gh->mode, flags) || (held && glock__linux_hz);
}

struct glock__holder *glock__next_waiter(struct glock *gl)
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
	int64_t end = gh->flags & GLOCK_TRY ? gh->asked + glock__hold_idle(gl) : 0;

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
	if (glock__linux_hz && waited > LONG_WAIT)
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
	glock__publish_unlinked(gl, gh, glock__spare_of(gl_space(gl)));
	glock__trace_holder(gl, GLOCK__EV_QUEUE, gh, true);
}

void glock__fail(struct glock *gl, struct glock__holder *gh, int error)
{
	assert(gh_state(gh) & GLOCK__H_WAIT && !(gh_state(gh) & GLOCK__H_HOLDER));
	count_wait(gl, gl_now(gl) - gh->asked);
	if (gl_busy(gl)->awaits == gh)
		gl_busy(gl)->awaits = NULL;
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
		glock__fail(gl, gh, error == -EBUSY && !(gh->flags & GLOCK_TRY) ? -EAGAIN : error);
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

bool glock__deadlines_expire(struct glock *gl)
{
	struct glock__holder *gh;
	bool first = false;

	while ((gh = deadline_first(gl)) && deadline_of(gl, gh) <= gl_now(gl)) {
		bool idle = gh->flags & GLOCK_TRY;

		first |= glock__first_waiter(gl) == gh;
		gl_busy(gl)->more->counts.tries_failed += idle;
		glock__fail(gl, gh, idle ? -EAGAIN : -ETIMEDOUT);
	}
	gl_busy(gl)->deadlines = gh;
	if (gh)
		glock__work_queue(gl, deadline_of(gl, gh));
	return first;
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
	       (!(gh->flags & GLOCK_SKIP) || gl_type(gl)->path);
}

/*
 * Tells whether the holder may read all that this node may cache. A holder in DF may not read data,
 * which the node caches under EX and SH.
 */
static bool reads_all(const struct glock *gl, const struct glock__holder *gh)
{
	return gh->mode != GLOCK_DF || gl->state == GLOCK_DF ||
	       !(gl_type(gl)->info.caches & GLOCK_CACHES_DATA);
}

/*
 * Reads the object in. The next holder does so, too, after an error, if the lock was lost
 * meanwhile, and if this holder may not read all of it.
 */
static int instantiate(struct glock *gl, struct glock__holder *gh)
{
	int err = glock__op_instantiate(gl, gh);

	if (!err && glock__lock_is_lost(gl))
		err = -EIO;
	if (!err && reads_all(gl, gh))
		gl->flags &= ~(uint32_t)GLOCK__F_INSTANTIATE_NEEDED;
	return err;
}

/*
 * Another program has a lock on the file, or shall get one. The waiter stays the first one, and
 * keeps the glock from other nodes as a holder does, unless the operation wants another state.
 * Returns the error of a try, or 0.
 */
static int await_file(struct glock *gl, const struct glock__holder *gh, int delay)
{
	if (delay == GLOCK__PATH_CHANGE) {
		gl_busy(gl)->awaits = NULL;
		glock__request_demote(gl, gl->state == GLOCK_EX ? gh->mode : GLOCK_UN, 0, false);
		return 0;
	}
	if (gh->flags & GLOCK__TRIES)
		return gh->flags & GLOCK_TRY ? -EBUSY : -EAGAIN;
	gl_busy(gl)->awaits = gh;
	glock__work_queue(gl, gl_now_anew(gl) + delay);
	return 0;
}

/*
 * Runs the operations instantiate and lock for a holder, as far as they are due. The bit lock keeps
 * all other holders waiting, and the cache as it is. Returns false if the holder waits on.
 */
static bool enter(struct glock *gl, struct glock__holder *gh)
{
	const struct glock_ops *ops = &gl_type(gl)->ops;
	const struct glock__entered here = {gh, glock__tls()->id.entered};
	bool had = gl->flags & GLOCK__F_LOCK;
	int err = 0, delay = 0;

	gl->flags |= GLOCK__F_LOCK;
	atom_or32(&gh->state, GLOCK__H_ENTERING);
	glock__tls()->id.entered = &here;
	if (must_instantiate(gl, gh))
		err = instantiate(gl, gh);
	if (!err && ops->lock && !(gl->flags & GLOCK__F_ENTERED))
		err = glock__op_lock(gl, gh);
	if (err > 0 && gl_type(gl)->path) {
		delay = err;
		err = await_file(gl, gh, delay);
	}
	glock__tls()->id.entered = here.outer;
	assert(gl->flags & GLOCK__F_LOCK && gh_state(gh) & GLOCK__H_WAIT);
	/* A thread that wants to cancel this request waits for the end of ENTERING. */
	glock__holder_set(gl_space(gl), gh, GLOCK__H_QUEUED | GLOCK__H_WAIT);
	if (err) {
		glock__fail(gl, gh, err);
	} else if (!delay) {
		gl_busy(gl)->awaits = NULL;
		if (ops->lock || ops->unlock)
			gl->flags |= GLOCK__F_ENTERED;
		glock__publish_object(gl);
		glock__grant(gl, gh);
	}
	if (!had)
		glock__clear_lock(gl);
	return err || !delay;
}

struct glock__holder *glock__promote_waiters(struct glock *gl, bool nonblock, bool *left)
{
	struct glock__holder *gh;

	while ((gh = glock__next_waiter(gl))) {
		if (glock__is_unusable(gl_space(gl))) {
			glock__fail(gl, gh, -EIO);
			continue;
		}
		if (gl->state == GLOCK_UN)
			return gh; /* most misses */
		if (!glock__may_grant(gl, gh)) {
			if (!glock__is_held(gl))
				return gh;
			glock__fail_waiters(gl, -EBUSY, true);
			/* Linux 6.1 stops here, also if gh was a try and the next waiter fits. */
			if (glock__first_waiter(gl) == gh || glock__linux_hz)
				return NULL;
			continue; /* gh was a try itself, and the next waiter may fit */
		}
		if (!glock__must_enter(gl, gh)) {
			bool last = gh->list.next == &gl_busy(gl)->holders;

			glock__grant(gl, gh);
			if (last)
				return NULL;
			continue;
		}
		*left = nonblock || glock__inline_leaves(gl, gh);
		if (*left)
			return NULL;
		if (!enter(gl, gh))
			return gl_busy(gl)->awaits ? NULL : gh;
	}
	return NULL;
}
