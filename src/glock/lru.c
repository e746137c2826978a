/* SPDX-License-Identifier: MIT */
/*
 * lru.c - idle glocks, the coldest first, and how many of them are kept for how long.
 *
 * On the list is what has no reference and is not at UN: cached, with nobody here who wants it.
 * (The references of work and of walks over all glocks leave it there; they are short.) Its type
 * may veto that it is given up (demote_ok); then it counts as used just now. The list's lock is
 * taken inside a glock's; going from the list to a glock only tries that one's lock, and leaves it
 * for the next time if it is taken.
 */
#include "impl.h"

#include <assert.h>

void glock__lru_add(struct glock *gl)
{
	struct glock_space *space = gl->space;

	assert(gl_held(gl) && !gl->refs && gl->state != GLOCK_UN);
	gl->idle_since = glock__now(space);
	gl->flags |= GLOCK__F_LRU;
	glock__lock_take(&space->lru.lock);
	glock__list_add(&space->lru.list, &gl->lru);
	space->lru.n++;
	glock__lock_drop(&space->lru.lock);
}

void glock__lru_remove(struct glock *gl)
{
	struct glock_space *space = gl->space;

	assert(gl_held(gl));
	if (!(gl->flags & GLOCK__F_LRU))
		return;
	gl->flags &= ~(uint32_t)GLOCK__F_LRU;
	glock__lock_take(&space->lru.lock);
	glock__list_del(&gl->lru);
	space->lru.n--;
	glock__lock_drop(&space->lru.lock);
}

/*
 * The coldest glock, locked and off the list, if it is there or was idle at that time already; or
 * NULL, with *next set to the time when it is due.
 */
static struct glock *coldest(struct glock_space *space, size_t keep, int64_t idle_before,
			     int64_t *next)
{
	struct glock *gl = NULL;

	*next = INT64_MAX;
	glock__lock_take(&space->lru.lock);
	if (!glock__list_empty(&space->lru.list))
		gl = glock__entry(space->lru.list.next, struct glock, lru);
	if (gl && space->lru.n <= keep && gl->idle_since > idle_before) {
		if (space->lru.age)
			*next = gl->idle_since + space->lru.age;
		gl = NULL;
	}
	if (gl && !glock__lock_try(&gl->lock)) {
		*next = glock__now(space) + 1000000; /* its owner is at it: come back */
		gl = NULL;
	}
	if (gl) {
		glock__list_del(&gl->lru);
		space->lru.n--;
		gl->flags &= ~(uint32_t)GLOCK__F_LRU;
	}
	glock__lock_drop(&space->lru.lock);
	return gl;
}

/* False: its type would rather keep it, or it is not idle any more. Drops the lock. */
static bool give_up(struct glock *gl)
{
	bool ok = false;

	assert(gl_held(gl));
	if (gl->refs) /* whoever has that puts it back on the list */
		goto out;
	ok = glock__op_demote_ok(gl);
	if (ok)
		glock__request_demote(gl, GLOCK_UN, 0, false); /* the work has a reference now */
	else
		glock__lru_add(gl);
out:
	gl_drop(gl);
	return ok;
}

int64_t glock__lru_trim(struct glock_space *space)
{
	size_t keep = space->lru.max ? space->lru.max : SIZE_MAX, tries;
	int64_t before = space->lru.age ? glock__now(space) - space->lru.age : INT64_MIN;
	int64_t next = INT64_MAX;
	struct glock *gl;

	if (!space->lru.max && !space->lru.age)
		return INT64_MAX;
	glock__lock_take(&space->lru.lock);
	tries = space->lru.n;
	glock__lock_drop(&space->lru.lock);
	while (tries-- && (gl = coldest(space, keep, before, &next)))
		give_up(gl);
	return next;
}

size_t glock_shrink(struct glock_space *space, size_t n)
{
	size_t done = 0, tries;
	struct glock *gl;
	int64_t next;

	if (glock__check(space, "glock_shrink"))
		return 0;
	glock__lock_take(&space->lru.lock);
	tries = space->lru.n;
	glock__lock_drop(&space->lru.lock);
	while (done < n && tries-- && (gl = coldest(space, 0, INT64_MAX, &next)))
		done += give_up(gl);
	return done;
}
