/* SPDX-License-Identifier: MIT */
/*
 * bias_offer.c - begins the bias of a word, gives one up, and goes on where a thread finds that its
 * bias has ended. fast/bias.h states the protocol.
 */
#include "glock/fast/fast.h"

#include "glock/state/demote.h"
#include "glock/state/queue.h"

#include <assert.h>

/* ---- the rest of nq and dq ---- */

/* Forgets the slot of the calling thread. Takes a claim back, and returns true if there was one. */
static bool unclaim(struct glock *gl, struct glock__slot *s)
{
	bool claimed = s->claimed;

	assert(gl_held(gl));
	glock__bias_forget(s);
	s->claimed = false;
	if (claimed)
		atom_sub64(&gl->fast, s->mode == GLOCK_EX ? GLOCK__FAST_EX : GLOCK__FAST_SH);
	return claimed;
}

void glock__bias_refused(struct glock__holder *gh)
{
	struct glock__thread *t = glock__tls()->fast.thread;
	struct glock *gl = gh->gl;
	struct glock__slot *s = glock__slot_of_bias(t, gl);
	uint32_t *count = glock__slot_count(s, gh->mode);
	struct glock__bias_sum sum = {0};

	glock__slot_empty(t, s);
	gl_lock(gl);
	atom_store32(count, *count - 1);
	glock__bias_fold(gl, &sum);
	glock__fast_add_uses(gl, sum.uses);
	if (unclaim(gl, s))
		glock__run_queue(gl, true);
	gl_unlock(gl);
	atom_store32(&gh->state, 0);
}

int glock__fast_dq_revoked(struct glock__holder *gh)
{
	struct glock *gl = gh->gl;

	gl_lock(gl);
	unclaim(gl, glock__slot_of_bias(glock__tls()->fast.thread, gl));
	glock__hold_let_go(gl, gh);
	glock__run_queue(gl, true);
	gl_unlock(gl);
	atom_store32(&gh->state, 0);
	glock__poll(gl_space(gl));
	return 0;
}

/* ---- giving up ---- */

/*
 * Returns the glock for which the slot of the calling thread is kept, locked. NULL: it is kept for
 * none. While another thread closes the word it has the lock, and then the slot is kept for none.
 */
static struct glock *lock_glock_of(const struct glock__thread *t, const struct glock__slot *s)
{
	struct glock *gl = NULL;
	bool kept;

	for (unsigned int turn = 0;; turn++) {
		glock__lock_take(&glock__threads_lock);
		kept = t->space && (atom_load8(&s->allowed) || !glock__bias_is_folded(s));
		if (kept && glock__lock_try(&s->gl->lock))
			gl = s->gl;
		glock__lock_drop(&glock__threads_lock);
		if (!kept || gl)
			return gl;
		glock__back_off(turn);
	}
}

/* Gives the slot of the calling thread up. A holder in the slot counts in the word from now on. */
static void give_up(struct glock__thread *t, struct glock__slot *s)
{
	struct glock *gl = lock_glock_of(t, s);
	struct glock__bias_sum sum = {0};

	if (!gl)
		return;
	gl_locked(gl);
	if (atom_load8(&s->allowed) == GLOCK_EX)
		glock__fast_unbias(gl);
	glock__bias_give_up(t, s, &sum);
	glock__fast_add_sum(gl, &sum);
	gl_unlock(gl);
}

static void give_all_up(struct glock__thread *t)
{
	for (unsigned int i = GLOCK__THREAD_SLOTS; i < GLOCK__ALL_SLOTS; i++)
		give_up(t, &t->slots[i]);
}

/* ---- beginning ---- */

/* Closes the word to holders in EX. Returns true if there is none. */
static bool has_readers_only(struct glock *gl)
{
	uint64_t word = atom_and64(&gl->fast, ~GLOCK__FAST_OPEN_EX);

	return word & GLOCK__FAST_OPEN && !(word & GLOCK__FAST_ANY_EX);
}

/* Closes a word that is open to EX. Returns true if it has no holder. Such a word has no bias. */
static bool has_no_holder(struct glock *gl)
{
	if (!(atom_load64(&gl->fast) & GLOCK__FAST_OPEN_EX))
		return false;
	glock__fast_shut(gl);
	return glock__fast_mode(gl) == GLOCK_UN;
}

static bool may_begin(struct glock *gl, const struct glock__thread *t, const struct glock__slot *s)
{
	struct glock_space *space = gl_space(gl);

	return atom_load8(&space->bias) && !glock__bias_uses(t, s) && !s->claimed &&
	       !atom_load8(&s->allowed) && (s->gl == gl || glock__bias_is_folded(s)) &&
	       !(gl->flags & GLOCK__F_PENDING_DEMOTE) &&
	       gl_now(gl) >= (int64_t)atom_load64(&space->bias_not_before);
}

bool glock__bias_offer(struct glock *gl, enum glock_mode mode)
{
	struct glock__thread *t = glock__thread_in(gl_space(gl));
	struct glock__slot *s = t ? glock__slot_of_bias(t, gl) : NULL;
	bool begins;

	if (s && s->gl != gl && !glock__bias_uses(t, s))
		give_up(t, s);
	gl_lock(gl);
	glock__fast_fold(gl);
	begins = s && may_begin(gl, t, s) &&
		 (mode == GLOCK_EX ? has_no_holder(gl) : has_readers_only(gl));
	if (begins) {
		glock__slots_end = give_all_up;
		glock__fast_bias(gl, mode);
		glock__bias_allow(t, s, gl, mode);
	}
	gl_unlock(gl);
	return begins;
}

void glock__bias_count(struct glock *gl)
{
	gl_lock(gl);
	glock__fast_fold(gl);
	gl_unlock(gl);
}
