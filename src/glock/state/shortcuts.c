/* SPDX-License-Identifier: MIT */
/*
 * shortcuts.c - ways past the queue and the work, for one holder that has the glock to itself.
 *
 * Each shortcut leads to the same grants, calls of operations and requests as the general path, in
 * the same order. It only skips steps that find nothing to do:
 *
 *   shortcut      general path                     what is skipped
 *   lone_miss     the loop of glock__run_queue()   the search for a waiter that can be granted
 *   is_at_rest    another run of the work          a run of the queue
 *   miss          a run of the work                a run of the queue, and prepare_cache()
 *   grant_alone   finish() and glock__promote()    failures, demotes, another run of the work
 *
 * One rule covers all of them: is_alone(). tests/sim/test_shortcuts.sh compares a library with
 * shortcuts and one without; the faults here break one shortcut each.
 */
#include "shortcuts.h"

#include "cache.h"
#include "events.h"
#include "queue.h"
#include "show.h"
#include "word.h"
#include "work.h"
#include "xmote.h"

#include <assert.h>

#ifdef GLOCK_ATOM_HOOKS
unsigned long glock__shortcuts_taken[GLOCK__SHORTCUT_MAX];
#define TAKEN(shortcut) (glock__shortcuts_taken[shortcut]++)
#else
#define TAKEN(shortcut) ((void)0)
#endif

#if GLOCK_SHORTCUTS

/* Without ENTERED, because an object that a holder has entered is in use, and at rest. */
#define IN_FLIGHT ((GLOCK__F_GOING_ON & ~(uint32_t)GLOCK__F_ENTERED) | GLOCK__F_STALE)

/*
 * The rule. A shortcut may be taken only if gh is all that the queue would find:
 *
 *   1. gh is the only holder in the list, and no holder has the glock by its word.
 *   2. Of the flags IN_FLIGHT exactly `flags` are set. No other change is in flight, no demand
 *      waits, and the lock is not lost.
 *   3. The space has its locks: it is not withdrawn, not lost, not paused.
 *   4. No recovery goes on, and no holder waits for the end of one.
 */
GLOCK__INLINE bool is_alone(const struct glock *gl, const struct glock__holder *gh, uint32_t flags)
{
	const struct glock_space *space = gl_space(gl);
	const struct glock__busy *b = gl_busy(gl);

	return (gl->flags & IN_FLIGHT) == flags && b->holders.next == &gh->list &&
	       b->holders.prev == &gh->list && glock__fast_mode(gl) == GLOCK_UN &&
	       !glock__is_unusable(space) && !glock__grants_paused(space) &&
	       !atom_load8(&space->recovering) && !b->recover_first;
}

/* Returns the first holder of the list, or NULL. */
GLOCK__INLINE struct glock__holder *shortcut_first(const struct glock *gl)
{
	const struct glock__list *head = &gl_busy(gl)->holders;

	return glock__list_empty(head) ? NULL
				       : glock__entry(head->next, struct glock__holder, list);
}

struct glock__holder *glock__lone_miss(struct glock *gl)
{
	struct glock__holder *gh = shortcut_first(gl);

	if (!gh || gh_state(gh) & GLOCK__H_HOLDER ||
	    !is_alone(gl, gh, FAULT(LONE_MISS_BEFORE_DEMOTE) ? gl->flags & GLOCK__F_DEMOTE : 0) ||
	    glock__state_serves(gl->state, gh->mode, gh->flags))
		return NULL;
	gl_busy(gl)->must_run = false;
	TAKEN(GLOCK__LONE_MISS);
	return gh;
}

bool glock__is_at_rest(struct glock *gl)
{
	struct glock__holder *gh = shortcut_first(gl);

	if (!gh || !is_alone(gl, gh, 0))
		return false;
	if (!(gh_state(gh) & GLOCK__H_HOLDER) && !FAULT(WAITER_AT_REST))
		return false;
	gl_busy(gl)->must_run = false;
	TAKEN(GLOCK__AT_REST);
	return true;
}

/* Tells whether a change from UN calls no operation of the type. */
static bool type_is_quiet(const struct glock_ops *ops)
{
	return (!ops->lock && !ops->unlock && !ops->instantiate && !ops->xmote_th &&
		!ops->xmote_bh) ||
	       FAULT(MISS_CALLS_NOTHING);
}

/* Grants gh, as finish() and glock__promote() do. No queue has to run, because gh is alone. */
static void grant_alone(struct glock *gl, struct glock__holder *gh)
{
	gl->flags &= ~(uint32_t)GLOCK__F_HAVE_REPLY;
	gl_busy(gl)->cancel = false;
	glock__unpin(gl); /* the reference of the open request */
	glock__trace_state_change(gl, gh->mode);
	glock__change_state(gl, gh->mode);
	glock__publish_object(gl);
	glock__grant(gl, gh);
	/* Last, because a reader that sees the new state must see that a change was in flight. */
	gl->flags &= ~(uint32_t)GLOCK__F_LOCK;
	TAKEN(GLOCK__GRANT_ALONE);
}

/* Goes on after the request for gh, with the bit lock. */
GLOCK__INLINE void shortcut_asked(struct glock *gl, struct glock__holder *gh, int err)
{
	if (err || !(gl->flags & GLOCK__F_HAVE_REPLY))
		glock__xmote_submitted(gl, gh->mode, err);
	else if ((gl_busy(gl)->reply == GLOCK__GRANTED || FAULT(REFUSAL_GRANTED)) &&
		 gl_busy(gl)->target == gh->mode &&
		 is_alone(gl, gh, GLOCK__F_LOCK | GLOCK__F_HAVE_REPLY))
		grant_alone(gl, gh);
	else
		glock__work_queue(gl, gl_now(gl));
}

bool glock__miss(struct glock *gl, struct glock__holder *gh)
{
	struct glock__tls *tls = glock__tls();

	assert(tls->deferred.gl == gl);
	if (gl->state != GLOCK_UN || !type_is_quiet(&gl_type(gl)->ops) ||
	    gh->flags & (GLOCK__TRIES | GLOCK_RECOVER | GLOCK_PRIORITY) ||
	    !(is_alone(gl, gh, 0) || FAULT(MISS_NOT_ALONE)) || !glock__work_claim(gl))
		return false;
	TAKEN(GLOCK__MISS);
	glock__enter_work();
	gl->flags |= GLOCK__F_LOCK;
	gl_busy(gl)->target = gh->mode;
	glock__xmote_blocking(gl, gh->mode, 0);
	shortcut_asked(gl, gh, glock__xmote_request(gl, gh->mode, 0));
	glock__leave_work();
	tls->deferred.queued |= glock__work_release(gl);
	return true;
}

#endif
