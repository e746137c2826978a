/* SPDX-License-Identifier: MIT */
/*
 * fast.c - the fast path by any slot of the thread, with any contents; see fast.h.
 */
#include "fast.h"

enum glock__fast_result glock__fast_nq_more(struct glock *gl, struct glock__holder *gh,
					    const char *where)
{
	struct glock__thread *t = glock__fast_thread(gl);
	enum glock_mode mode = gh->mode;
	struct glock__slot *s = t ? glock__slot_of_bias(t, gl) : NULL;

	/* The slow path reports a recursion. */
	if (!t || (mode != GLOCK_SH && mode != GLOCK_EX) || glock__slot_with(t, gl) ||
	    glock__slots_have(t, gh))
		return GLOCK__FAST_NOT;
	if (t->used & s->bit || !glock__bias_admits(s, gl, mode))
		s = glock__fast_is_open(gl) ? glock__slot_free(t) : NULL;
	if (!s)
		return GLOCK__FAST_NOT;
	if (!t->used)
		t->last = s;
	glock__slot_fill(t, s, gl, gh, where);
	return glock__fast_nq_in(t, s, t->used | s->bit, gl, gh, mode, where);
}

enum glock__fast_result glock__movable_nq_more(struct glock *gl, struct glock__holder *gh,
					       const char *where)
{
	struct glock__thread *t = glock__fast_thread(gl);
	struct glock__movable *s = t ? glock__movable_free(t) : NULL;

	if (!s || gh->flags & ~GLOCK__MOVABLE_FLAGS || glock__is_threads(gh) ||
	    (gh->mode != GLOCK_SH && gh->mode != GLOCK_EX) || !glock__fast_is_open(gl))
		return GLOCK__FAST_NOT;
	if (glock__slots_have(t, gh))
		return GLOCK__FAST_NOT;
	/* The slow path reports that the thread holds the glock by a holder of its own. */
	if (!(gh->flags & GLOCK__OWNED) && glock__slot_with(t, gl))
		return GLOCK__FAST_NOT;
	glock__movable_write(t, s, gl, gh, where);
	return glock__movable_nq_in(t, s, gl, gh, where);
}
