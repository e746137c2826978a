/* SPDX-License-Identifier: MIT */
/*
 * fast_queue.c - where the fast path meets the queue: holders that leave a closed word, requests
 * that the word refused, slots of other threads. fast.h has the path itself.
 */
#include "glock/fast/fast.h"

#include "glock/core/space.h"
#include "glock/state/cache.h"
#include "glock/state/demote.h"
#include "glock/state/queue.h"

int glock__fast_dq_more(struct glock *gl, struct glock__holder *gh)
{
	struct glock__thread *t = glock__tls()->fast.thread;
	const struct glock__slot *s;

	if (!glock__fast_is_mine(t, gh))
		return glock__fast_dq_slow(gh);
	s = glock__slot_of(t, gh);
	return glock__fast_dq_of(t, s, t->used & ~s->bit, gl, gh);
}

/* ---- leaving ---- */

/* Runs the queue of a closed word after a holder left the word. gh NULL: it never held the lock. */
static void fast_run_queue(struct glock *gl, const struct glock__holder *gh)
{
	gl_lock(gl);
	if (gh)
		glock__hold_let_go(gl, gh);
	glock__run_queue(gl, true);
	gl_unlock(gl);
}

/* Tells whether the word, which may be full, grants such a request. */
static bool word_admits(uint64_t word, const struct glock__holder *gh)
{
	uint64_t good = GLOCK__FAST_OPEN, bad = GLOCK__FAST_ANY_EX;

	if (gh->mode == GLOCK_EX)
		good |= GLOCK__FAST_OPEN_EX;
	if (gh->mode == GLOCK_EX || gh->flags & GLOCK__OWNED)
		bad |= GLOCK__FAST_ANY_SH | GLOCK__FAST_OWNED;
	return (word & (good | bad)) == good;
}

static bool undo_refused(struct glock__holder *gh)
{
	struct glock__thread *t = glock__tls()->fast.thread;
	struct glock *gl = gh->gl;
	const uint64_t one = glock__fast_one(gh) + glock__fast_count(gh);
	uint64_t old;

	if (gh_state(gh) & GLOCK__H_MOVABLE)
		glock__movable_leave(gh->at);
	else
		glock__slot_empty(t, &t->slots[gh->slot]);
	old = atom_sub64(&gl->fast, one);
	/*
	 * This holder was in the word for a moment, and a thread that closed the word may have seen
	 * it.
	 */
	if (!(old & GLOCK__FAST_OPEN))
		fast_run_queue(gl, NULL);
	glock__movable_left(gh);
	atom_store32(&gh->state, 0);
	if (!(old & GLOCK__FAST_OPEN))
		return false;
	if (old & GLOCK__FAST_FOLD && glock__is_threads(gh)) {
		if (glock__bias_offer(gl, gh->mode))
			return true;
	} else if ((old | (old - one)) & GLOCK__FAST_FOLD) {
		/* The count is below 0 if another thread folded the word in between. */
		glock__bias_count(gl);
	}
	/* Another thread that was refused may have folded the word first. */
	return word_admits(atom_load64(&gl->fast), gh);
}

bool glock__fast_undo(struct glock__holder *gh, enum glock__fast_result result)
{
	if (result == GLOCK__FAST_REFUSED)
		return undo_refused(gh);
	if (result == GLOCK__FAST_REVOKED)
		glock__bias_refused(gh);
	return result == GLOCK__FAST_REVOKED;
}

int glock__fast_rung(struct glock *gl)
{
	glock__poll(gl_space(gl));
	return 0;
}

int glock__fast_dq_closed(struct glock__holder *gh)
{
	struct glock *gl = gh->gl;

	fast_run_queue(gl, gh);
	glock__movable_left(gh);
	atom_store32(&gh->state, 0);
	return glock__fast_rung(gl);
}

/* copy: a holder that is in no slot unless this function finds it; then NULL. */
static void look_for_copy(struct glock *gl, const struct glock__fast_holder *fh, void *copy)
{
	const struct glock__holder **gh = copy;

	(void)gl;
	if (fh->gh == *gh)
		*gh = NULL;
}

int glock__fast_dq_slow(struct glock__holder *gh)
{
	struct glock *gl = gh->gl;
	struct glock_space *space = gl_space(gl);
	const struct glock__holder *copy = gh;
	struct glock__thread *t;
	int err = glock__check(space, "glock_dq");
	bool ended;

	if (err)
		return err;
	t = glock__thread_in(space);
	if (glock__fast_is_mine(t, gh))
		return glock__fast_dq_more(gl, gh);
	gl_lock(gl);
	glock__fast_close(gl);
	ended = glock__slot_of_ended(space, gh);
	if (ended) {
		atom_store32(&gh->state, 0);
		atom_sub64(&gl->fast, glock__fast_one(gh));
		glock__run_queue(gl, true);
	} else {
		glock__fast_each(gl, look_for_copy, &copy);
	}
	gl_unlock(gl);
	if (ended)
		return 0;
	return glock__not_let_go(gh, copy ? -EINVAL : -EPERM);
}

/* ---- movable holders ---- */

int glock__movable_dq_slow(struct glock__holder *gh)
{
	struct glock_space *space = gl_space(gh->gl);
	int err = glock__check(space, "glock_dq");

	if (err)
		return err;
	glock__thread_in(space); /* sets the bell of this space, also without memory */
	return glock__movable_dq_in(gh->gl, gh);
}
