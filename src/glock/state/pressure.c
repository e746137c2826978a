/* SPDX-License-Identifier: MIT */
/*
 * pressure.c - the lock manager is short of memory: idle locks make room for locks that are wanted.
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
#include "pressure.h"

#include "busy.h"
#include "lru.h"
#include "queue.h"
#include "work.h"

#include <assert.h>

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
	size_t n = atom_load32(&space->lru.n) / GIVE_SHARE;

	if (n < GIVE_MIN)
		n = GIVE_MIN;
	if (n > GIVE_MAX)
		n = GIVE_MAX;
	for (; parts; parts &= parts - 1) {
		unsigned int part = (unsigned int)__builtin_ctz(parts);

		space->lm->ops->gave_back(space->lm, part, glock__lru_give_back(space, part, n));
	}
}

bool glock__wait_for_room(struct glock *gl)
{
	struct glock_space *space = gl_space(gl);
	const struct glock__lm_ops *ops = space->lm->ops;
	const struct glock__holder *gh = glock__first_waiter(gl);
	struct glock__busy *b = gl_busy(gl);
	int64_t delay, waited;
	bool tries;

	assert(gl_held(gl) && gl->flags & GLOCK__F_LOCK);
	if (!ops->make_room || !gh || gl->flags & GLOCK__F_DEMOTE_IN_PROGRESS)
		return false;
	tries = gh->flags & GLOCK__TRIES;
	if (b->short_since < gh->asked) /* an earlier request was short of memory */
		b->short_since = gl_now_anew(gl);
	waited = gl_now_anew(gl) - b->short_since;
	gl_unlock(gl);
	delay = ops->make_room(space->lm, gl->type, gl->number, waited);
	gl_lock(gl);
	if (!delay || tries)
		return false;
	gl_busy(gl)->target = gl->state;
	glock__clear_lock(gl);
	if (!FAULT(ROOM_NOT_AWAITED))
		glock__work_queue(gl, gl_now_anew(gl) + delay);
	return true;
}
