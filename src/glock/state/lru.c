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
 * the list when it comes to the head. All threads share the list, so a thread moves few glocks in
 * a millisecond if the space has no limits. The list is then in order but for the last 0.27 s.
 *
 * The lock of the list is taken inside gl->lock. A thread that comes from the list only tries
 * gl->lock, and comes again later if another thread has it.
 *
 * A glock stores since when it is idle in four bytes, in units of 2^18 ns, rounded up. Times are
 * compared modulo 2^32, so an age limit means at most 13 days.
 */
#include "find.h"

#include "busy.h"
#include "cache.h"
#include "demote.h"
#include "glock/fast/word.h"
#include "work.h"

#include <assert.h>

/* In units of 2^18 ns: a stretch of 2^MOVES_SHIFT units, in which a thread moves MOVES glocks. */
enum { UNIT_SHIFT = 18, MOVES_SHIFT = 2, MOVES = 64, PLACE_SHIFT = 10 };

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

/*
 * Tells whether a listed glock that is idle anew moves to the end. In a space without limits a
 * thread moves few glocks in a millisecond. The others stay until the next stretch of 0.27 s.
 */
static bool moves(const struct glock_space *space, uint32_t now, uint32_t before)
{
	struct glock__idle_moves *m = &glock__tls()->moves;

	if (now == before || space->lru.max || space->lru.age ||
	    now >> PLACE_SHIFT != before >> PLACE_SHIFT)
		return now != before;
	if (m->stretch != now >> MOVES_SHIFT)
		*m = (struct glock__idle_moves){.stretch = now >> MOVES_SHIFT};
	return m->n++ < MOVES;
}

/* Notes that the glock is idle from now on. Returns false if its place in the list may stay. */
static bool set_idle_since(struct glock *gl)
{
	bool busy = gl->flags & GLOCK__F_BUSY, locked = glock__tls()->deferred.locked == gl;
	uint32_t *since = busy ? &glock__busy_of(gl)->idle_since : &gl->aux;
	uint32_t now = idle_units(locked ? gl_now(gl) : glock__now(gl_space(gl))), before = *since;

	*since = now;
	return moves(gl_space(gl), now, before);
}

uint32_t glock__lru_count(struct glock_space *space)
{
	uint32_t n = atom_load32(&space->parts[0].idle);

	for (unsigned int i = 1; !space->lru.max && i < GLOCK__PARTS; i++)
		n += atom_load32(&space->parts[i].idle);
	return n;
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

	assert(glock__lock_held(&gl->lock) && !gl_refs(gl) && gl->state != GLOCK_UN);
	assert(!(gl->flags & GLOCK__F_LRU));
	/* The glock has its place already if it was idle a moment ago. */
	if (set_idle_since(gl) || !(gl->flags & GLOCK__F_LISTED)) {
		glock__lock_take(&space->lru.lock);
		if (gl->flags & GLOCK__F_LISTED)
			list_del(space, gl);
		list_add(space, gl);
		glock__lock_drop(&space->lru.lock);
	}
	gl->flags |= GLOCK__F_LRU | GLOCK__F_LISTED;
	atom_add32(glock__idle_count_of(gl), 1);
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

enum { HEADS = 16 }; /* glocks at the head whose locks are tried */

/*
 * Returns the first glock whose lock is free, locked: a thread that is preempted with the lock of
 * the head keeps the others not back. Returns NULL if the list is empty, or if other threads have
 * the locks. If one has, *next is the time to look again.
 */
static struct glock *lock_first(struct glock_space *space, int64_t *next)
{
	struct glock *gl;

	glock__lock_take(&space->lru.lock);
	gl = glock__at(space, space->lru.first);
	for (int i = 1; gl && !glock__lock_try(&gl->lock); i++) {
		*next = glock__now(space) + 1000000;
		gl = i < HEADS ? glock__at(space, gl->lru_next) : NULL;
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
		if (is_idle && (!age || idle < age) && glock__lru_count(space) <= keep) {
			if (age && gl_now(gl) + age - idle < *next)
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
 * The work demotes the glocks that a limit gave up, with their operations. A program may take new
 * locks faster than that. So a request for a lock that is not cached waits while too many glocks
 * are leaving. The wait is short, because an operation may wait for the program.
 */
static void note_leaving(struct glock *gl)
{
	struct glock_space *space = gl_space(gl);

	if (!space->lru.max || gl_busy(gl)->leaving)
		return;
	gl_busy(gl)->leaving = true;
	atom_add32(&space->lru.leaving, 1);
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
	if (ok) {
		note_leaving(gl);
		glock__request_demote(gl, GLOCK_UN, 0, false); /* the work has a reference now */
	} else {
		glock__lru_add(gl);
	}
out:
	gl_unlock(gl);
	return ok;
}

/* ---- giving back for memory ---- */

enum { WALK = 256 }; /* glocks at which a walk looks before it drops the lock of the list */

static bool is_in_part(struct glock_space *space, const struct glock *gl, unsigned int part)
{
	const struct glock__lm_memory *memory = space->lm->memory;

	return !memory->part || memory->part(space->lm, gl->type, gl->number) == part;
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
	int64_t next = INT64_MAX;
	uint32_t tries = 0; /* 0: not known yet, because mostly nothing is to be done */
	struct glock *gl;

	if (!space->lru.max && !space->lru.age)
		return INT64_MAX;
	while ((gl = coldest(space, keep, space->lru.age, &next))) {
		tries = tries ? tries : glock__lru_count(space) + 1;
		give_up(gl);
		if (!--tries)
			break;
	}
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
	tries = glock__lru_count(space);
	while (done < n && tries-- && (gl = coldest(space, 0, 0, &next)))
		done += give_up(gl);
	return done;
}

/* ---- room for other locks ---- */

/*
 * The lock manager is short of memory: idle locks make room for locks that are wanted.
 *
 * A node gives back idle locks when the lock manager asks for them (the event give_back). The
 * request without memory may be of this node or of another one. The event may come on any thread,
 * so the work serves it.
 *
 * A request that finds no memory does not sleep. It clears the bit lock, and the work of its glock
 * makes the request anew after a while. Meanwhile the thread that runs the work goes on with the
 * locks that are given back. A waiter keeps its deadline, and the request can be canceled. The lock
 * manager decides when there is no hope.
 *
 * A try does not wait. It only makes the lock manager look for memory, and the next try may find
 * some.
 */

/* A part of the idle locks at a time, because the others may be used again. */
enum { GIVE_MIN = 64, GIVE_MAX = 1024, GIVE_SHARE = 128 };

void glock__on_give_back(void *owner, uint32_t parts)
{
	struct glock_space *space = owner;

	if ((atom_or32(&space->short_of, parts) & parts) != parts)
		glock__work_kick(space, glock__now(space));
}

void glock__give_back(struct glock_space *space)
{
	uint32_t parts = atom_load32(&space->short_of) ? atom_swap32(&space->short_of, 0) : 0;
	size_t n = glock__lru_count(space) / GIVE_SHARE;

	if (n < GIVE_MIN)
		n = GIVE_MIN;
	if (n > GIVE_MAX)
		n = GIVE_MAX;
	for (; parts; parts &= parts - 1) {
		unsigned int part = (unsigned int)__builtin_ctz(parts);

		space->lm->memory->gave_back(space->lm, part, glock__lru_give_back(space, part, n));
	}
}

int64_t glock__room_delay(struct glock *gl)
{
	struct glock_space *space = gl_space(gl);
	const struct glock__lm_memory *memory = space->lm->memory;
	const struct glock__holder *gh = glock__first_waiter(gl);
	struct glock__busy *b = gl_busy(gl);
	int64_t delay, waited;
	bool tries;

	assert(gl_held(gl) && gl->flags & GLOCK__F_LOCK);
	if (!memory || !gh || gl->flags & GLOCK__F_DEMOTE_IN_PROGRESS)
		return 0;
	tries = gh->flags & GLOCK__TRIES;
	if (b->short_since < gh->asked) /* an earlier request was short of memory */
		b->short_since = gl_now_anew(gl);
	waited = gl_now_anew(gl) - b->short_since;
	gl_unlock(gl);
	delay = memory->make_room(space->lm, gl->type, gl->number, waited);
	gl_lock(gl);
	return tries ? 0 : delay;
}
