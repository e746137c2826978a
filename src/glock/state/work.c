/* SPDX-License-Identifier: MIT */
/*
 * work.c - delayed work: the heap of due work, the threads that run it, and waiting.
 *
 * The heap holds busy parts of glocks, ordered by the time at which their work is due. Work that is
 * queued again keeps the earlier of the two times. A hold time that ends in 200 ms must not delay a
 * reply that came now. Work that is queued while it runs runs again.
 *
 * A thread of the library runs the work, or the program runs it by glock_dispatch(). The program
 * can poll a timer that says when work is due. If the program runs the work, a waiter runs work
 * while it waits, because possibly no other thread does. Such a waiter sleeps on one word of the
 * space. The word changes whenever work is queued or a wait ends.
 *
 * A thread that waits for a glock, or has just let it go, runs the work of that one glock inline:
 * inline_work.c.
 *
 * Locks: work.lock is taken inside gl->lock. work.state says whether a thread runs the work of a
 * glock. The thread that takes the work out of the heap sets the state without a lock. The thread
 * clears it under gl->lock. Queued work has a reference to its glock. The thread that queues the
 * work takes the reference, and the thread that ran the work drops it.
 */
#include "work.h"

#include "glock/publish/publish_space.h"

#include "cache.h"
#include "find.h"
#include "lru.h"
#include "pressure.h"
#include "queue.h"
#include "reply.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* ---- the heap; under work.lock ---- */

static void put_at(struct glock_space *space, size_t i, struct glock__busy *b)
{
	space->work.heap[i] = b;
	b->work.place = i;
}

static void sift_up(struct glock_space *space, size_t i)
{
	struct glock__busy *b = space->work.heap[i];

	for (; i && space->work.heap[(i - 1) / 2]->work.at > b->work.at; i = (i - 1) / 2)
		put_at(space, i, space->work.heap[(i - 1) / 2]);
	put_at(space, i, b);
}

static void sift_down(struct glock_space *space, size_t i)
{
	struct glock__busy **heap = space->work.heap, *b = heap[i];
	size_t n = space->work.n, child;

	for (; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && heap[child + 1]->work.at < heap[child]->work.at)
			child++;
		if (heap[child]->work.at >= b->work.at)
			break;
		put_at(space, i, heap[child]);
	}
	put_at(space, i, b);
}

static void heap_push(struct glock_space *space, struct glock__busy *b, int64_t at)
{
	assert(space->work.n < space->work.room && b->work.place == GLOCK__NO_PLACE);
	b->work.at = at;
	put_at(space, space->work.n++, b);
	sift_up(space, b->work.place);
}

static struct glock__busy *heap_remove(struct glock_space *space, size_t i)
{
	struct glock__busy *b = space->work.heap[i], *last = space->work.heap[--space->work.n];

	if (last != b) {
		put_at(space, i, last);
		sift_up(space, i);
		sift_down(space, last->work.place);
	}
	b->work.place = GLOCK__NO_PLACE;
	return b;
}

static struct glock__busy *heap_pop(struct glock_space *space)
{
	return heap_remove(space, 0);
}

int glock__work_reserve(struct glock_space *space, size_t glocks)
{
	struct glock__busy **heap;
	size_t room;
	int err = 0;

	glock__lock_take(&space->work.lock);
	if (glocks > space->work.room) {
		room = glocks < 32 ? 64 : 2 * glocks;
		heap = realloc(space->work.heap, room * sizeof(*heap));
		if (heap) {
			space->work.heap = heap;
			space->work.room = room;
		} else {
			err = -ENOMEM;
		}
	}
	glock__lock_drop(&space->work.lock);
	return err;
}

/* ---- wake-ups for the threads that run the work ---- */

int glock__sleep_on(uint32_t *sleepers, uint32_t *word, uint32_t seen, int64_t deadline)
{
	int err;

	atom_add32(sleepers, 1);
	err = glock__futex_wait(word, seen, deadline);
	atom_sub32(sleepers, 1);
	return err;
}

static void signal_event(struct glock_space *space)
{
	atom_add32(&space->work.events, 1);
	if (glock__has_sleepers(&space->work.idle))
		glock__futex_wake_all(&space->work.events);
}

/* Sets the time at which the fd becomes readable. Under work.lock. */
static void arm_timer(struct glock_space *space, int64_t at)
{
	struct itimerspec when = {{0, 0}, {0, 0}};

	space->work.armed = at;
	glock__publish_due(space, at);
	if (space->work.fd < 0)
		return;
	if (at != INT64_MAX) {
		if (at < 1)
			at = 1; /* all zero would switch the timer off */
		when.it_value.tv_sec = at / 1000000000;
		when.it_value.tv_nsec = at % 1000000000;
	}
	timerfd_settime(space->work.fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void kick_locked(struct glock_space *space, int64_t at)
{
	if (at >= space->work.armed)
		return;
	arm_timer(space, at);
	signal_event(space);
}

void glock__work_kick(struct glock_space *space, int64_t at)
{
	glock__lock_take(&space->work.lock);
	kick_locked(space, at);
	glock__lock_drop(&space->work.lock);
}

/* Under gl->lock and work.lock. */
static void queue_locked(struct glock_space *space, struct glock *gl, int64_t at)
{
	struct glock__busy *b = gl_busy(gl);

	if (b->work.place != GLOCK__NO_PLACE) {
		if (at < b->work.at) {
			b->work.at = at;
			sift_up(space, b->work.place);
		}
	} else if (!(atom_load32(&b->work.state) & GLOCK__WORK_AGAIN)) {
		glock__pin(gl);
		heap_push(space, b, at);
	}
	kick_locked(space, at);
}

void glock__work_queue(struct glock *gl, int64_t at)
{
	struct glock_space *space = gl_space(gl);
	struct glock__tls *tls = glock__tls();

	assert(gl_held(gl));
	/* This thread runs work that is due now. It does not wait for work that is due later. */
	if (tls->deferred.gl == gl && (at <= gl_now(gl) || FAULT(LATER_WORK_DEFERRED))) {
		tls->deferred.queued = true;
		return;
	}
	glock__lock_take(&space->work.lock);
	queue_locked(space, gl, at);
	glock__lock_drop(&space->work.lock);
}

/* ---- running the work ---- */

/*
 * Marks work that was taken out of the heap as running. Returns false if it runs already: it then
 * runs once more, and keeps this reference until then.
 */
static bool set_running(struct glock__busy *b)
{
	uint32_t state = 0;

	while (!atom_cas32(&b->work.state, &state,
			   state ? state | GLOCK__WORK_AGAIN : GLOCK__WORK_RUNNING))
		;
	return !state;
}

/*
 * Returns the busy part of the next glock whose work is due, and marks the work as running. Returns
 * NULL if no work is due. The reference of the work keeps the busy part attached.
 */
static struct glock__busy *next_due(struct glock_space *space)
{
	struct glock__busy *b = NULL;
	int64_t now;

	glock__lock_take(&space->work.lock);
	now = space->work.n ? glock__now(space) : 0;
	while (!b && space->work.n && space->work.heap[0]->work.at <= now) {
		b = heap_pop(space);
		if (!set_running(b))
			b = NULL;
	}
	glock__lock_drop(&space->work.lock);
	return b;
}

/* Under gl->lock. */
static void work_ended(struct glock_space *space, struct glock__busy *b)
{
	if (!(atom_swap32(&b->work.state, 0) & GLOCK__WORK_AGAIN))
		return;
	glock__lock_take(&space->work.lock);
	heap_push(space, b, gl_now(b->gl));
	glock__lock_drop(&space->work.lock);
}

/* Tells whether an event of the lock manager about the whole space waits to be handled. */
static bool is_told(const struct glock_space *space)
{
	return (atom_load8(&space->thaw_pending) || atom_load32(&space->short_of) ||
		(atom_load8(&space->withdrawn) && !atom_load8(&space->withdraw_done))) &&
	       !FAULT(SPACE_EVENT_FORGOTTEN);
}

int64_t glock__work_first(struct glock_space *space)
{
	if (is_told(space))
		return glock__now(space);
	return space->work.n ? space->work.heap[0]->work.at : INT64_MAX;
}

int64_t glock__work_next(struct glock_space *space)
{
	int64_t next;

	glock__lock_take(&space->work.lock);
	next = glock__work_first(space);
	glock__lock_drop(&space->work.lock);
	return next;
}

static int run_due(struct glock_space *space)
{
	struct glock__busy *b;
	int64_t next, trim;
	int n = 0;

	glock__enter_work();
	glock__thaw(space);
	glock__give_back(space);
	glock__lru_trim(space);
	while ((b = next_due(space))) {
		struct glock *gl = b->gl;

		if (space->publisher)
			glock__publish_work(space, gl, glock__now(space));
		gl_lock(gl);
		atom_or32(&b->work.state, GLOCK__WORK_BEGUN);
		glock__work_run(gl);
		work_ended(space, b);
		glock__put_locked(gl);
		n++;
	}
	trim = glock__lru_trim(space); /* again, because glocks that are idle now get due later */
	if (atom_load8(&space->withdrawn))
		glock_withdraw(space);
	glock__leave_work();
	if (n)
		glock__publish_work(space, NULL, 0);
	glock__lock_take(&space->work.lock);
	next = glock__work_first(space);
	arm_timer(space, next < trim ? next : trim);
	if (is_told(space)) /* the event came during this run, when the timer was armed already */
		signal_event(space);
	glock__lock_drop(&space->work.lock);
	return n;
}

void glock__work_leave_to_other(struct glock *gl)
{
	struct glock_space *space = gl_space(gl);

	glock__lock_take(&space->work.lock);
	queue_locked(space, gl, gl_now(gl));
	glock__lock_drop(&space->work.lock);
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
	return space->work.fd;
}

/* ---- waiting ---- */

void glock__wake_up(struct glock_space *space, uint32_t *word)
{
	if (!space->work.have_thread) {
		signal_event(space);
		return;
	}
	glock__futex_wake_all(word);
	if (space->lm->ops->nudge)
		space->lm->ops->nudge(space->lm, word);
}

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

/* ---- the library's thread ---- */

static void run_all(struct glock_space *space)
{
	uint32_t event;
	int64_t next;

	for (;;) {
		/* Read the event first, because a stop after that changes the event. */
		event = atom_load32(&space->work.events);
		if (atom_load8(&space->work.stop))
			return;
		run_due(space);
		glock__lock_take(&space->work.lock);
		next = space->work.armed;
		glock__lock_drop(&space->work.lock);
		glock__sleep_on(&space->work.idle, &space->work.events, event,
				next == INT64_MAX ? 0 : next);
	}
}

static void *work_thread(void *space)
{
	run_all(space);
	return NULL;
}

static int work_start_thread(struct glock_space *space)
{
	sigset_t all, old;
	int err;

	space->work.have_thread = true;
	if (space->env.start) {
		space->env.start(space->env.arg, run_all, space);
		return 0;
	}
	/* The new thread inherits the mask, so that no signal of the program is handled there. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&space->work.thread, NULL, work_thread, space);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err) {
		space->work.have_thread = false;
		return -err;
	}
	pthread_setname_np(space->work.thread, "glock-work");
	return 0;
}

int glock__work_init(struct glock_space *space, bool real_time)
{
	space->work.fd = -1;
	space->work.armed = INT64_MAX;
	if (!(space->flags & GLOCK_SPACE_DISPATCH))
		return work_start_thread(space);
	if (!real_time)
		return 0; /* a simulator itself knows when work is due */
	space->work.fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	return space->work.fd < 0 ? -errno : 0;
}

void glock__work_stop(struct glock_space *space)
{
	if (space->work.have_thread) {
		atom_store8(&space->work.stop, true);
		signal_event(space);
		if (space->env.join)
			space->env.join(space->env.arg, space);
		else
			pthread_join(space->work.thread, NULL);
	}
	if (space->work.fd >= 0)
		close(space->work.fd);
	free(space->work.heap);
}
