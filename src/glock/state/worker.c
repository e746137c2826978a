/* SPDX-License-Identifier: MIT */
/*
 * worker.c - the threads of the library that run the work of a space.
 *
 * A space begins with one such thread, a worker. An operation of the program may take long, and the
 * work of other glocks must not wait for it. Therefore a worker makes sure that another one looks
 * after the work before it calls an operation:
 *
 *   1. A worker that is awake, and in no operation, looks at the work before it sleeps.
 *   2. A worker that sleeps until the next work is due, or less, looks then.
 *   3. Without such a worker, one that sleeps longer is woken.
 *   4. If all workers are inside operations, one more is started, up to the limit.
 *
 * Workers stay until the space is closed. Only one sleeper has the time of the next work. So the
 * other ones sleep on when a time has come.
 *
 * Two workers never run the work of one glock at once, see due.c.
 *
 * Locks: the fields of all workers are under work.lock.
 */
#include "work.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- a worker ---- */

/* Tells whether a worker other than `but` looks at the work at that time, or earlier. */
static bool is_looked_after(const struct glock_space *space, const struct glock__worker *but,
			    int64_t at)
{
	for (uint32_t i = 0; i < space->work.n_workers; i++) {
		const struct glock__worker *w = &space->work.workers[i];

		if (w != but && !w->ops && w->until <= at)
			return true;
	}
	return false;
}

/* Returns the time until which the worker sleeps. One sleeper is enough for the next work. */
static int64_t sleeps_until(struct glock_space *space, struct glock__worker *w)
{
	int64_t next;

	glock__lock_take(&space->work.lock);
	next = space->work.armed;
	if (is_looked_after(space, w, next))
		next = INT64_MAX;
	w->until = next;
	glock__lock_drop(&space->work.lock);
	return next;
}

static struct glock__worker *begins(struct glock_space *space)
{
	struct glock__worker *w;

	glock__tls_check(space->generation);
	glock__lock_take(&space->work.lock);
	assert(space->work.n_running < space->work.n_workers);
	w = &space->work.workers[space->work.n_running++];
	w->space = space;
	glock__lock_drop(&space->work.lock);
	return glock__tls()->id.worker = w;
}

static void run_worker(struct glock_space *space)
{
	struct glock__worker *w = begins(space);
	uint32_t event;
	int64_t until;

	for (;;) {
		/* Read the event first, because a stop after that changes the event. */
		event = atom_load32(&space->work.events);
		if (atom_load8(&space->work.stop))
			break;
		space->work.run_due(space);
		until = sleeps_until(space, w);
		glock__sleep_on(&space->work.idle, &space->work.events, event,
				until == INT64_MAX ? 0 : until);
	}
	glock__tls()->id.worker = NULL;
}

static void *worker_thread(void *space)
{
	run_worker(space);
	return NULL;
}

/* ---- starting a worker ---- */

static int start_thread(struct glock_space *space, uint32_t number)
{
	struct glock__worker *w = &space->work.workers[number];
	char name[16] = "glock-work";

	if (space->env.start) {
		space->env.start(space->env.arg, run_worker, space);
		return 0;
	}
	if (number)
		snprintf(name, sizeof(name), "glock-work-%u", number + 1);
	return glock__start_thread(&w->thread, name, worker_thread, space);
}

/* Under work.lock, which it drops and takes again. A worker that is being started is awake. */
static int start_worker(struct glock_space *space)
{
	uint32_t number = space->work.n_workers++;
	int err;

	space->work.starting = true;
	glock__lock_drop(&space->work.lock);
	err = start_thread(space, number);
	glock__lock_take(&space->work.lock);
	space->work.starting = false;
	space->work.n_workers -= err != 0;
	return err;
}

static bool may_start(const struct glock_space *space)
{
	return space->work.n_workers < space->work.max_workers && !space->work.starting &&
	       !atom_load8(&space->work.stop);
}

/* ---- operations ---- */

static bool all_in_ops(const struct glock_space *space)
{
	for (uint32_t i = 0; i < space->work.n_workers; i++)
		if (!space->work.workers[i].ops)
			return false;
	return true;
}

/* Makes another worker look after the work. Under work.lock, which it may drop and take again. */
static void hand_over(struct glock_space *space)
{
	int64_t next;
	int err = 0;

	/* A worker that was just started may be inside an operation, too. */
	while (!err && all_in_ops(space) && may_start(space))
		err = start_worker(space);
	next = glock__work_first(space);
	glock__work_arm(space, next);
	if (!is_looked_after(space, NULL, next))
		glock__work_signal(space);
}

/* Returns the part of the calling thread if it is one of several workers of the space, or NULL. */
static struct glock__worker *worker_here(const struct glock_space *space)
{
	struct glock__worker *w = glock__tls()->id.worker;

	return w && w->space == space && space->work.max_workers > 1 ? w : NULL;
}

void glock__worker_op_begins(struct glock_space *space)
{
	struct glock__worker *w = worker_here(space);

	if (!w)
		return;
	glock__lock_take(&space->work.lock);
	if (!w->ops++)
		hand_over(space);
	glock__lock_drop(&space->work.lock);
}

void glock__worker_op_ends(struct glock_space *space)
{
	struct glock__worker *w = worker_here(space);

	if (!w)
		return;
	glock__lock_take(&space->work.lock);
	w->ops--;
	glock__lock_drop(&space->work.lock);
}

/* ---- all workers ---- */

int glock__workers_start(struct glock_space *space, unsigned int most,
			 int (*run_due)(struct glock_space *space))
{
	int err;

	space->work.workers = calloc(most, sizeof(*space->work.workers));
	if (!space->work.workers)
		return -ENOMEM;
	space->work.max_workers = most;
	space->work.run_due = run_due;
	space->work.have_thread = true;
	glock__lock_take(&space->work.lock);
	err = start_worker(space);
	glock__lock_drop(&space->work.lock);
	if (err) {
		space->work.have_thread = false;
		free(space->work.workers);
	}
	return err;
}

void glock__workers_stop(struct glock_space *space)
{
	glock__lock_take(&space->work.lock);
	atom_store8(&space->work.stop, true);
	glock__lock_drop(&space->work.lock);
	atom_add32(&space->work.events, 1);
	glock__futex_wake_all(&space->work.events);
	if (space->env.join)
		space->env.join(space->env.arg, space);
	/* A worker may be starting the next one. That one has a higher number. */
	for (uint32_t i = 0; !space->env.join && i < space->work.n_workers; i++)
		pthread_join(space->work.workers[i].thread, NULL);
	free(space->work.workers);
}
