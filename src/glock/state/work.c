/* SPDX-License-Identifier: MIT */
/*
 * work.c - runs the work that is due, and waits.
 *
 * Threads of the library run the work (worker.c), or the program runs it by glock_dispatch(). The
 * program can poll a timer that says when work is due. If the program runs the work, a waiter runs
 * work while it waits, because possibly no other thread does. Such a waiter sleeps on one word of
 * the space. The word changes whenever work is queued or a wait ends.
 *
 * A thread that waits for a glock, or has just let it go, runs the work of that one glock inline:
 * inline_work.c. due.c says which lock protects what.
 */
#include "work.h"

#include "glock/publish/publish_space.h"

#include "cache.h"
#include "find.h"
#include "queue.h"
#include "reply.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* ---- running the work ---- */

static int run_due(struct glock_space *space)
{
	GLOCK__NO_CANCEL;
	struct glock__running running = {0};
	struct glock__busy *b;
	int64_t next, trim;
	int n = 0;

	glock__enter_work();
	glock__thaw(space);
	glock__give_back(space);
	glock__lru_trim(space);
	while ((b = glock__work_next_due(space, &running))) {
		struct glock *gl = b->gl;

		gl_lock(gl);
		atom_or32(&b->work.state, GLOCK__WORK_BEGUN);
		glock__work_run(gl);
		glock__work_ended(space, b);
		glock__put_locked(gl);
		n++;
	}
	trim = glock__lru_trim(space); /* again, because glocks that are idle now get due later */
	if (glock__work_withdraws(space))
		glock_withdraw(space);
	glock__leave_work();
	glock__lock_take(&space->work.lock);
	next = glock__work_first(space);
	glock__work_arm(space, next < trim ? next : trim);
	if (glock__work_is_told(space)) /* it came during this run, when the timer was armed */
		glock__work_signal(space);
	glock__lock_drop(&space->work.lock);
	return n;
}

int glock_dispatch(struct glock_space *space)
{
	int err = glock__check(space, "glock_dispatch");

	if (err)
		return err;
	if (space->work.have_thread)
		return -EINVAL;
	if (glock__in_work())
		return -EDEADLK;
	return run_due(space);
}

int glock_space_fd(struct glock_space *space)
{
	return space->generation == glock__generation() ? space->work.fd : -ECHILD;
}

/* ---- waiting ---- */

int glock__wait(struct glock_space *space, uint32_t *word, uint32_t seen, int64_t deadline)
{
	int64_t until = deadline ? deadline : INT64_MAX;
	uint32_t event;
	int err;

	if (space->work.have_thread)
		return glock__sleep_on(&space->work.waiters, word, seen, deadline);
	/* Read the word after the event, because a change in between changes the event, too. */
	event = atom_load32(&space->work.events);
	if (run_due(space) || atom_load32(word) != seen)
		return 0;
	glock__lock_take(&space->work.lock);
	if (space->work.armed < until)
		until = space->work.armed;
	glock__lock_drop(&space->work.lock);
	err = glock__sleep_on(&space->work.idle, &space->work.events, event,
			      until == INT64_MAX ? 0 : until);
	if (err == -ETIMEDOUT && (!deadline || glock__now(space) < deadline))
		err = 0;
	return err;
}

/* ---- beginning and end ---- */

int glock__work_init(struct glock_space *space, unsigned int threads, bool real_time)
{
	space->work.fd = -1;
	space->work.armed = INT64_MAX;
	glock__list_init(&space->work.running);
	if (!(space->flags & GLOCK_SPACE_DISPATCH))
		return glock__workers_start(space, threads, run_due);
	if (!real_time)
		return 0; /* a simulator itself knows when work is due */
	space->work.fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	return space->work.fd < 0 ? -errno : 0;
}

void glock__work_stop(struct glock_space *space)
{
	if (space->work.have_thread)
		glock__workers_stop(space);
	if (space->work.fd >= 0)
		close(space->work.fd);
	free(space->work.heap);
}
