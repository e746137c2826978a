/* SPDX-License-Identifier: MIT */
/*
 * mine.c - work of a glock, run by who waits for it or has just let it go (it is "mine"), so that to hand a
 * lock over to another node takes no thread more than it must. Not where the program runs the work.
 */
#include "glock/core/internal.h"

#include <assert.h>

void glock__attend(struct glock_space *space, bool begin)
{
	const struct glock__lm_ops *ops = space->lm->ops;
	struct glock__self *self = glock__self();

	self->moment = 0;
	if (begin && !self->attends) {
		self->attends = ops->attend && ops->attend(space->lm);
	} else if (!begin && self->attends) {
		self->attends = false;
		ops->attended(space->lm);
	}
}

bool glock__mine_begin(struct glock *gl)
{
	struct glock__self *self = glock__self();

	if (!gl_space(gl)->work.have_thread || self->mine || glock__in_work())
		return false;
	self->mine = gl;
	self->mine_queued = false;
	glock__attend(gl_space(gl), true);
	return true;
}

void glock__mine_run(struct glock *gl)
{
	struct glock_space *space = gl_space(gl);
	struct glock__self *self = glock__self();

	assert(gl_held(gl) && self->mine == gl);
	glock__take_in(gl);
	while (self->mine_queued) {
		bool free = glock__work_claim(gl);

		if (free)
			glock__enter_work();
		while (free && self->mine_queued) {
			self->mine_queued = false;
			glock__work_run(gl);
		}
		if (free)
			glock__leave_work();
		self->mine_queued = free && glock__work_release(gl);
		if (atom_load8(&space->withdrawn))
			glock__work_kick(space, gl_now(gl));
	}
}

static void mine_run(struct glock *gl)
{
	if (!glock__self()->mine_queued)
		return;
	gl_take(gl);
	glock__mine_run(gl);
	glock__drop(gl);
}

void glock__mine_finish(struct glock *gl)
{
	struct glock__self *self = glock__self();

	mine_run(gl);
	if (self->attends) {
		self->keeps = true;
		glock__attend(gl_space(gl), false);
		self->keeps = false;
		mine_run(gl);
	}
}

void glock__mine_fetch(struct glock *gl)
{
	struct glock__self *self = glock__self();

	self->keeps = self->mine == gl;
	glock__fetch(gl_space(gl));
	self->keeps = false;
}

/* Whoever waits for the lock manager as well may be told by it what the word waits for. */
static int sleep_for(struct glock_space *space, uint32_t *word, uint32_t seen, int64_t deadline)
{
	int err = -EBUSY;

	if (!glock__self()->attends)
		return glock__sleep_on(&space->work.waiters, word, seen, deadline);
	glock__self()->moment = 0;
	atom_add32(&space->work.waiters, 1);
	glock__self()->keeps = true;
	if (atom_load32(word) == seen)
		err = space->lm->ops->wait(space->lm, word, seen, deadline);
	glock__self()->keeps = false;
	if (err == -EBUSY)
		err = glock__futex_wait(word, seen, deadline);
	atom_sub32(&space->work.waiters, 1);
	return err;
}

int glock__wait_for(struct glock *gl, uint32_t *word, uint32_t seen, int64_t deadline)
{
	struct glock__self *self = glock__self();
	int err = 0;

	if (self->mine != gl && !glock__mine_begin(gl))
		return glock__wait(gl_space(gl), word, seen, deadline);
	mine_run(gl);
	if (atom_load32(word) == seen)
		err = sleep_for(gl_space(gl), word, seen, deadline);
	glock__mine_end(gl);
	return err;
}
