/* SPDX-License-Identifier: MIT */
/* lent.c - see lent.h. */
#include "lent.h"
#include "notify.h"

#include "glock/stats/choice.h"

#include <assert.h>

void glock__lent_init(struct glock_space *space)
{
	glock__slab_init(&space->lent.slab, sizeof(struct glock__lent), 0, GLOCK__AREA_LENT, NULL,
			 space);
	space->lent.max = GLOCK__LENT_MAX;
	space->lent.hand = 1;
}

void glock__lent_end(struct glock_space *space)
{
	glock__slab_end(&space->lent.slab);
}

/* ---- policies of types --------------------------------------------------------------------- */

struct glock__policy glock__policy_of_type(const struct glock *gl)
{
	struct glock_space *space = gl_space(gl);
	struct glock__policy policy;

	glock__lock_take(&space->lent.lock);
	policy = space->lent.types[gl->type];
	glock__lock_drop(&space->lent.lock);
	return policy;
}

void glock__lent_teach(struct glock *gl)
{
	struct glock_space *space = gl_space(gl);
	const struct glock__lent *l = gl_busy(gl)->lent;

	if (!l)
		return;
	glock__lock_take(&space->lent.lock);
	glock__policy_teach(&space->lent.types[gl->type], &l->policy);
	glock__lock_drop(&space->lent.lock);
}

/* ---- the pool ------------------------------------------------------------------------------ */

struct glock__lent *glock__lent_take(struct glock *gl, bool *full)
{
	struct glock_space *space = gl_space(gl);
	struct glock__lent *l = NULL;
	uint32_t number;

	assert(gl_held(gl) && !(gl->flags & GLOCK__F_DEAD) && !gl_busy(gl)->lent);
	glock__lock_take(&space->lent.lock);
	number = glock__slab_get(&space->lent.slab);
	if (number) {
		l = glock__slab_at(&space->lent.slab, number);
		*l = (struct glock__lent){
		    .policy = space->lent.types[gl->type], .gl = gl, .used = 1};
		space->lent.n++;
	}
	*full = space->lent.n > space->lent.max;
	glock__lock_drop(&space->lent.lock);
	return gl_busy(gl)->lent = l;
}

void glock__lent_put(struct glock *gl)
{
	struct glock_space *space = gl_space(gl);
	struct glock__lent *l = gl_busy(gl)->lent;

	assert(gl_held(gl) && l && l->gl == gl);
	gl_busy(gl)->lent = NULL;
	glock__lock_take(&space->lent.lock);
	l->gl = NULL;
	space->lent.n--;
	glock__slab_put(&space->lent.slab, glock__slab_number(l));
	glock__lock_drop(&space->lent.lock);
}

/* Moves the hand by one record. Under lent.lock. */
static struct glock__lent *hand_moves(struct glock_space *space)
{
	struct glock__slab *s = &space->lent.slab;

	while (!glock__slab_had(s, space->lent.hand)) {
		uint32_t chunk = space->lent.hand / GLOCK__CHUNK_SLOTS;

		space->lent.hand = chunk >= s->begun ? 1 : (chunk + 1) * GLOCK__CHUNK_SLOTS;
	}
	return glock__slab_at(s, space->lent.hand++);
}

bool glock__lent_next(struct glock_space *space, struct glock **gl)
{
	struct glock__lent *l;
	bool full;

	*gl = NULL;
	glock__lock_take(&space->lent.lock);
	full = space->lent.n > space->lent.max;
	l = full ? hand_moves(space) : NULL;
	/* A glock with a record stays in memory while lent.lock is held. */
	if (l && l->gl && !atom_load8(&l->used))
		*gl = glock__lock_try(&l->gl->lock) ? l->gl : NULL;
	else if (l)
		atom_store8(&l->used, 0);
	glock__lock_drop(&space->lent.lock);
	return full;
}

/* ---- use times: see notify.h ---- */

void glock__measure_next(struct glock *gl, bool again)
{
	struct glock__lent *l = glock__lent_of(gl);

	if (!l || gl_busy(gl)->measured)
		return;
	if (again)
		glock__policy_edit(l)->choice.uses = 0;
	gl_busy(gl)->measure_next = true;
}

void glock__measure_granted(struct glock *gl, const struct glock__holder *gh)
{
	gl_busy(gl)->measure_next = false;
	gl_busy(gl)->measured = gh;
	gl_busy(gl)->measured_from = gl_now(gl);
}

/* The record may have been taken back meanwhile. */
void glock__measure_released(struct glock *gl)
{
	struct glock__lent *l = glock__lent_of(gl);

	gl_busy(gl)->measured = NULL;
	if (l)
		glock__choice_used(&glock__policy_edit(l)->choice,
				   gl_now_anew(gl) - gl_busy(gl)->measured_from);
}
