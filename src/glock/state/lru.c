/* SPDX-License-Identifier: MIT */
/*
 * lru.c - the list of idle glocks, the coldest first, with limits on their number and age.
 *
 * A glock is idle if it has no reference and is not at UN. It is cached, and no thread of this node
 * wants it. The references of work and of walks over all glocks are short, and leave it on the
 * list. The type may veto giving the glock up (demote_ok). Then the glock counts as used just now.
 *
 * A glock that is used again stays on the list and loses its mark GLOCK__F_LRU. So glock_get() does
 * not touch the neighbours in the list. The glock moves to the end when it is idle again. It leaves
 * the list when it comes to the head.
 *
 * The lock of the list is taken inside gl->lock. A thread that comes from the list only tries
 * gl->lock, and comes again later if another thread has it.
 *
 * A glock stores since when it is idle in four bytes, in units of 2^18 ns, rounded up. Times are
 * compared modulo 2^32, so an age limit means at most 13 days.
 */
#include "lru.h"

#include "busy.h"
#include "cache.h"
#include "demote.h"

#include <assert.h>

enum { UNIT_SHIFT = 18 };

static uint32_t idle_units(int64_t now)
{
	return (uint32_t)((uint64_t)(now + (1 << UNIT_SHIFT) - 1) >> UNIT_SHIFT);
}

/* Returns how long the glock has been idle: at most one unit too little, and never too much. */
static int64_t idle_for(const struct glock *gl, int64_t now)
{
	uint32_t since = gl_busy(gl)->idle_since;
	int64_t idle = (int64_t)((uint64_t)now >> UNIT_SHIFT) - since;

	idle = (uint32_t)idle; /* modulo 2^32 */
	if (since == idle_units(now))
		return 0;
	return (idle << UNIT_SHIFT) + (now & ((1 << UNIT_SHIFT) - 1));
}

/* ---- the list; under its lock ---- */

static void list_add(struct glock_space *space, struct glock *gl)
{
	uint32_t number = glock__number_of(gl);
	struct glock *last = glock__at(space, space->lru.last);

	gl->lru_prev = space->lru.last;
	gl->lru_next = 0;
	space->lru.last = number;
	if (last)
		last->lru_next = number;
	else
		space->lru.first = number;
}

static void list_del(struct glock_space *space, struct glock *gl)
{
	struct glock *prev = glock__at(space, gl->lru_prev), *next = glock__at(space, gl->lru_next);

	*(prev ? &prev->lru_next : &space->lru.first) = gl->lru_next;
	*(next ? &next->lru_prev : &space->lru.last) = gl->lru_prev;
	if (space->lru.hand && glock__at(space, space->lru.hand) == gl)
		space->lru.hand = gl->lru_next;
	gl->lru_next = gl->lru_prev = 0;
}

/* ---- a glock comes and goes ---- */

void glock__lru_add(struct glock *gl)
{
	struct glock_space *space = gl_space(gl);

	assert(gl_held(gl) && !gl_refs(gl) && gl->state != GLOCK_UN);
	assert(!(gl->flags & GLOCK__F_LRU));
	gl_busy(gl)->idle_since = idle_units(gl_now(gl));
	glock__lock_take(&space->lru.lock);
	if (gl->flags & GLOCK__F_LISTED)
		list_del(space, gl);
	list_add(space, gl);
	glock__lock_drop(&space->lru.lock);
	gl->flags |= GLOCK__F_LRU | GLOCK__F_LISTED;
	atom_add32(&space->lru.n, 1);
}

void glock__lru_unlink(struct glock *gl)
{
	struct glock_space *space = gl_space(gl);

	assert(gl_held(gl) && !(gl->flags & GLOCK__F_LRU));
	if (!(gl->flags & GLOCK__F_LISTED))
		return;
	gl->flags &= ~(uint32_t)GLOCK__F_LISTED;
	glock__lock_take(&space->lru.lock);
	list_del(space, gl);
	glock__lock_drop(&space->lru.lock);
}

/* ---- giving back ---- */

/*
 * Returns the glock at the head, locked. Returns NULL if the list is empty, or if another thread
 * has the lock of the glock. In the second case *next is the time to look again.
 */
static struct glock *lock_first(struct glock_space *space, int64_t *next)
{
	struct glock *gl;

	glock__lock_take(&space->lru.lock);
	gl = glock__at(space, space->lru.first);
	if (gl && !glock__lock_try(&gl->lock)) {
		*next = glock__now(space) + 1000000;
		gl = NULL;
	}
	glock__lock_drop(&space->lru.lock);
	if (gl)
		gl_locked(gl);
	return gl;
}

/*
 * Returns the coldest glock, locked and off the list. Does that only if more than `keep` glocks are
 * idle, or if the glock was idle for `age`. Otherwise returns NULL and sets *next to the time when
 * it is due.
 */
static struct glock *coldest(struct glock_space *space, size_t keep, int64_t age, int64_t *next)
{
	struct glock *gl;
	int64_t idle;
	bool is_idle;

	*next = INT64_MAX;
	while ((gl = lock_first(space, next))) {
		is_idle = gl->flags & GLOCK__F_LRU;
		idle = is_idle ? idle_for(gl, gl_now(gl)) : 0;
		if (is_idle && atom_load32(&space->lru.n) <= keep && (!age || idle < age)) {
			if (age)
				*next = gl_now(gl) + age - idle;
			gl_unlock(gl);
			return NULL;
		}
		glock__lru_remove(gl);
		glock__lru_unlink(gl);
		if (is_idle)
			return gl;
		gl_unlock(gl); /* the thread with the reference puts it back on the list */
	}
	return NULL;
}

/*
 * Demotes the glock to UN. Returns false if its type vetoes that, or if it is not idle any more.
 * Drops the lock.
 */
static bool give_up(struct glock *gl)
{
	bool ok = false;

	assert(gl_held(gl));
	if (gl_refs(gl)) /* the thread with the reference puts it back on the list */
		goto out;
	ok = glock__op_demote_ok(gl);
	if (ok)
		glock__request_demote(gl, GLOCK_UN, 0, false); /* the work has a reference now */
	else
		glock__lru_add(gl);
out:
	gl_unlock(gl);
	return ok;
}

/* ---- giving back for memory ---- */

enum { WALK = 256 }; /* glocks at which a walk looks before it drops the lock of the list */

static bool is_in_part(struct glock_space *space, const struct glock *gl, unsigned int part)
{
	const struct glock__lm_ops *ops = space->lm->ops;

	return !ops->part || ops->part(space->lm, gl->type, gl->number) == part;
}

/*
 * Moves the hand to the next glock of the part, and returns this glock, locked. Returns NULL if
 * there is none in the next WALK glocks. A glock whose lock another thread has is in use.
 */
static struct glock *walk_to(struct glock_space *space, unsigned int part)
{
	struct glock *gl, *found = NULL;

	glock__lock_take(&space->lru.lock);
	for (int i = 0; i < WALK && !found && space->lru.hand; i++) {
		gl = glock__at(space, space->lru.hand);
		space->lru.hand = gl->lru_next;
		if (is_in_part(space, gl, part) && glock__lock_try(&gl->lock))
			found = gl;
	}
	glock__lock_drop(&space->lru.lock);
	if (found)
		gl_locked(found);
	return found;
}

static uint32_t walk_begin(struct glock_space *space)
{
	glock__lock_take(&space->lru.lock);
	space->lru.hand = space->lru.first;
	glock__lock_drop(&space->lru.lock);
	return atom_load32(&space->alive);
}

static bool walk_has_ended(struct glock_space *space)
{
	bool ended;

	glock__lock_take(&space->lru.lock);
	ended = !space->lru.hand;
	glock__lock_drop(&space->lru.lock);
	return ended;
}

size_t glock__lru_give_back(struct glock_space *space, unsigned int part, size_t n)
{
	/* A glock that its type keeps moves to the end of the list: the walk might never end. */
	uint32_t tries = walk_begin(space) + 1;
	size_t done = 0;

	while (done < n && tries-- && !walk_has_ended(space)) {
		struct glock *gl = walk_to(space, part);

		if (!gl)
			continue;
		if (!(gl->flags & GLOCK__F_LRU)) {
			gl_unlock(gl);
			continue;
		}
		glock__lru_remove(gl);
		glock__lru_unlink(gl);
		done += give_up(gl);
	}
	return done;
}

int64_t glock__lru_trim(struct glock_space *space)
{
	size_t keep = space->lru.max ? space->lru.max : SIZE_MAX;
	uint32_t tries = atom_load32(&space->lru.n);
	int64_t next = INT64_MAX;
	struct glock *gl;

	if (!space->lru.max && !space->lru.age)
		return INT64_MAX;
	while (tries-- && (gl = coldest(space, keep, space->lru.age, &next)))
		give_up(gl);
	return next;
}

size_t glock_shrink(struct glock_space *space, size_t n)
{
	size_t done = 0;
	uint32_t tries;
	struct glock *gl;
	int64_t next;

	if (glock__check(space, "glock_shrink"))
		return 0;
	tries = atom_load32(&space->lru.n);
	while (done < n && tries-- && (gl = coldest(space, 0, 0, &next)))
		done += give_up(gl);
	return done;
}
