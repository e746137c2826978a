/* SPDX-License-Identifier: MIT */
/* bias.c - allows slots a bias, and ends that. bias.h states the protocol. */
#include "bias.h"

#include "glock/core/space.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

/* A store leaves its CPU within microseconds, also if the thread does not run any more. */
enum { STORES_ARRIVE_US = 50000 };

uint64_t glock__fences_begun = 1, glock__fences_ended = 1;

/* ---- slots, under gl->lock and threads_lock ---- */

bool glock__bias_is_folded(const struct glock__slot *s)
{
	return atom_load32(&s->count[0]) == s->folded[0] &&
	       atom_load32(&s->count[1]) == s->folded[1];
}

/* Step 15. Counts are signed, because a refused thread takes its use back. */
static void fold_slot(struct glock__slot *s, struct glock__bias_sum *sum)
{
	for (int i = 0; i < 2; i++) {
		uint32_t count = atom_load32(&s->count[i]);

		sum->uses[i] += (int32_t)(count - s->folded[i]);
		s->folded[i] = count;
	}
}

/* Steps 13 and 14. */
static void claim_slot(const struct glock__thread *t, struct glock__slot *s,
		       struct glock__bias_sum *sum)
{
	if (!glock__bias_uses(t, s) || s->claimed)
		return;
	s->claimed = true;
	s->gh->where = s->where; /* nq does not store it */
	sum->holders[glock__slot_mode(atom_load8(&s->mode))]++;
}

void glock__bias_fold(struct glock *gl, struct glock__bias_sum *sum)
{
	assert(gl_held(gl));
	glock__lock_take(&glock__threads_lock);
	for (struct glock__thread *t = gl_space(gl)->threads; t; t = t->next)
		if (glock__slot_of_bias(t, gl)->gl == gl)
			fold_slot(glock__slot_of_bias(t, gl), sum);
	glock__lock_drop(&glock__threads_lock);
}

/* ---- beginning ---- */

void glock__bias_allow(struct glock__thread *t, struct glock__slot *s, struct glock *gl,
		       enum glock_mode mode)
{
	assert(gl_held(gl) && !s->claimed && !glock__bias_uses(t, s));
	if (t->slots[0].gl == gl)
		t->slots[0].gh = NULL; /* so nq does not find that slot first */
	glock__lock_take(&glock__threads_lock);
	glock__bias_forget(s);
	atom_store_ptr(&s->gl, gl);
	glock__lock_drop(&glock__threads_lock);
	atom_store8(&s->allowed, (uint8_t)mode);
}

/* ---- closing ---- */

/*
 * A filter of seccomp(2) came after the space was opened. No bias begins any more. For those that
 * end, time takes the place of the fence: each store that a light fence let pass arrives meanwhile.
 */
static void wait_for_stores(struct glock_space *space, int err)
{
	GLOCK__NO_CANCEL;
	if (atom_load8(&space->bias)) {
		atom_store8(&space->bias, false);
		glock__log(space,
			   "space %s: membarrier(2) fails with error %d, so cached locks are "
			   "slower from now on; allow membarrier in the seccomp filter, or set "
			   "GLOCK_BIAS_AFTER=0",
			   space->name, err);
	}
	usleep(STORES_ARRIVE_US);
}

void glock__bias_fence(struct glock_space *space)
{
	uint64_t number;
	int err;

	assert(!glock__tls()->deferred.locked);
	glock__lock_take(&glock__threads_lock);
	number = ++glock__fences_begun;
	glock__lock_drop(&glock__threads_lock);
	err = atom_heavy_fence();
	if (err)
		wait_for_stores(space, err);
	glock__lock_take(&glock__threads_lock);
	if (number > glock__fences_ended)
		atom_store64(&glock__fences_ended, number);
	glock__lock_drop(&glock__threads_lock);
}

/*
 * A fence that goes on now does not count: for some thread it may have been there before step 8. If
 * no slot of another thread was allowed, no fence is needed.
 */
uint64_t glock__bias_refuse(struct glock *gl)
{
	bool others = false;
	uint64_t number;

	assert(gl_held(gl));
	glock__lock_take(&glock__threads_lock);
	for (struct glock__thread *t = gl_space(gl)->threads; t; t = t->next) {
		struct glock__slot *s = glock__slot_of_bias(t, gl);

		if (s->gl != gl || !atom_load8(&s->allowed))
			continue;
		others |= t->owner != glock__thread_number();
		atom_store8(&s->allowed, GLOCK_UN);
	}
	number = others ? glock__fences_begun + 1 : glock__fences_ended;
	glock__lock_drop(&glock__threads_lock);
	return number;
}

bool glock__bias_end(struct glock *gl, uint64_t fence, struct glock__bias_sum *sum)
{
	assert(gl_held(gl) && fence);
	if (fence > atom_load64(&glock__fences_ended))
		return false;
	glock__lock_take(&glock__threads_lock);
	for (struct glock__thread *t = gl_space(gl)->threads; t; t = t->next) {
		struct glock__slot *s = glock__slot_of_bias(t, gl);

		if (s->gl != gl)
			continue;
		claim_slot(t, s, sum);
		fold_slot(s, sum);
	}
	glock__lock_drop(&glock__threads_lock);
	return true;
}

void glock__bias_give_up(struct glock__thread *t, struct glock__slot *s,
			 struct glock__bias_sum *sum)
{
	assert(gl_held(s->gl));
	atom_store8(&s->allowed, GLOCK_UN);
	claim_slot(t, s, sum);
	fold_slot(s, sum);
	if (!s->claimed)
		glock__bias_forget(s);
}

/* ---- a space, a process ---- */

bool glock__bias_possible(void)
{
	return !atom_heavy_register() && !atom_heavy_fence();
}

void glock__bias_open(struct glock_space *space)
{
	const char *option = secure_getenv("GLOCK_BIAS_AFTER");
	unsigned long uses = option ? strtoul(option, NULL, 10) : GLOCK__BIAS_AFTER;

	space->bias = uses && space->fast && glock__bias_possible();
	if (space->bias && uses < GLOCK__BIAS_AFTER)
		space->bias_base = GLOCK__BIAS_AFTER - (uint32_t)uses;
}
