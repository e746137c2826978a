/* SPDX-License-Identifier: MIT */
/* fast.c - the slow cases of the fast path; see fast.h. */
#include "fast.h"

#include "glock/core/log.h"
#include "glock/state/cache.h"
#include "glock/state/hold.h"
#include "glock/state/queue.h"

#include "dq.h"

/* ---- more than one holder ---- */

enum glock__fast_result glock__fast_nq_more(struct glock *gl, struct glock__holder *gh,
					    const char *where)
{
	struct glock__thread *t = glock__fast_thread(gl);
	enum glock_mode mode = gh->mode;
	struct glock__slot *s = t ? glock__slot_of_bias(t, gl) : NULL;

	/* The slow path reports a recursion. */
	if (!t || (mode != GLOCK_SH && mode != GLOCK_EX) || glock__slot_with(t, gl))
		return GLOCK__FAST_NOT;
	if (t->used & s->bit || !glock__bias_admits(s, gl, mode))
		s = glock__fast_is_open(gl) ? glock__slot_free(t) : NULL;
	if (!s)
		return GLOCK__FAST_NOT;
	glock__slot_fill(t, s, gl, gh, where);
	return glock__fast_nq_in(t, s, t->used | s->bit, gl, gh, mode, where);
}

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
		glock__hold_let_go(gl, gh->mode);
	if (!FAULT(FAST_EXIT_RUNS_NO_QUEUE))
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
	uint64_t old;

	if (gh_state(gh) & GLOCK__H_MOVABLE)
		glock__movable_leave(gh->at);
	else
		glock__slot_empty(t, &t->slots[gh->slot]);
	old = atom_sub64(&gl->fast, glock__fast_one(gh) + glock__fast_count(gh));
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
	} else if (old & GLOCK__FAST_FOLD) {
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

int glock__fast_dq_slow(struct glock__holder *gh)
{
	struct glock *gl = gh->gl;
	struct glock_space *space = gl_space(gl);
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
	}
	gl_unlock(gl);
	return ended ? 0 : glock__not_owner(gh);
}

/* ---- movable holders ---- */

enum glock__fast_result glock__movable_nq_more(struct glock *gl, struct glock__holder *gh,
					       const char *where)
{
	struct glock__thread *t = glock__fast_thread(gl);
	struct glock__movable *s = t ? glock__movable_free(t) : NULL;

	if (!s || gh->flags & ~GLOCK__MOVABLE_FLAGS || glock__is_threads(gh) ||
	    (gh->mode != GLOCK_SH && gh->mode != GLOCK_EX) || !glock__fast_is_open(gl))
		return GLOCK__FAST_NOT;
	/* The slow path reports that the thread holds the glock by a holder of its own. */
	if (!(gh->flags & GLOCK__OWNED) && glock__slot_with(t, gl))
		return GLOCK__FAST_NOT;
	glock__movable_write(t, s, gl, gh, where);
	return glock__movable_nq_in(t, s, gl, gh, where);
}

int glock__movable_dq_slow(struct glock__holder *gh)
{
	struct glock_space *space = gl_space(gh->gl);
	int err = glock__check(space, "glock_dq");

	if (err)
		return err;
	glock__thread_in(space); /* sets the bell of this space, also without memory */
	return glock__movable_dq_in(gh);
}
