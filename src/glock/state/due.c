/* SPDX-License-Identifier: MIT */
/*
 * due.c - the work that is due: a heap, the time at which a thread looks next, and wake-ups.
 *
 * The heap holds busy parts of glocks, ordered by the time at which their work is due. Work that is
 * queued again keeps the earlier of the two times. A hold time that ends in 200 ms must not delay a
 * reply that came now. Work that is queued while it runs runs again.
 *
 * Locks: work.lock is taken inside gl->lock. work.state says whether a thread runs the work of a
 * glock. The thread that takes the work out of the heap sets the state without a lock. The thread
 * clears it under gl->lock. Queued work has a reference to its glock. The thread that queues the
 * work takes the reference, and the thread that ran the work drops it.
 */
#include "work.h"

#include "glock/publish/publish_space.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/timerfd.h>

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

static struct glock__busy *heap_pop(struct glock_space *space)
{
	struct glock__busy *b = space->work.heap[0], *last = space->work.heap[--space->work.n];

	if (last != b) {
		put_at(space, 0, last);
		sift_down(space, 0);
	}
	b->work.place = GLOCK__NO_PLACE;
	return b;
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

/* Of the library's threads, one is enough. Of the program's, each waits for its own event. */
void glock__work_signal(struct glock_space *space)
{
	atom_add32(&space->work.events, 1);
	if (!glock__has_sleepers(&space->work.idle))
		return;
	if (space->work.have_thread)
		glock__futex_wake_one(&space->work.events);
	else
		glock__futex_wake_all(&space->work.events);
}

void glock__work_arm(struct glock_space *space, int64_t at)
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
	glock__work_arm(space, at);
	glock__work_signal(space);
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
	if (tls->deferred.gl == gl && at <= gl_now(gl)) {
		tls->deferred.queued = true;
		return;
	}
	glock__lock_take(&space->work.lock);
	queue_locked(space, gl, at);
	glock__lock_drop(&space->work.lock);
}

void glock__work_leave_to_other(struct glock *gl)
{
	struct glock_space *space = gl_space(gl);

	glock__lock_take(&space->work.lock);
	queue_locked(space, gl, gl_now(gl));
	glock__lock_drop(&space->work.lock);
}

/* ---- taking work out ---- */

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

/* Notes that the thread runs the work of that glock now, or none. Under work.lock. */
static void note_running(struct glock_space *space, struct glock__running *r,
			 const struct glock__busy *b, int64_t now)
{
	const struct glock__list *head = &space->work.running;

	if (r->list.next)
		glock__list_del(&r->list);
	*r = (struct glock__running){0};
	if (b) {
		*r = (struct glock__running){
		    .type = b->gl->type, .number = b->gl->number, .since = now};
		glock__list_add(&space->work.running, &r->list);
	}
	glock__publish_work(space, glock__list_empty(head)
				       ? NULL
				       : glock__entry(head->next, struct glock__running, list));
}

struct glock__busy *glock__work_next_due(struct glock_space *space, struct glock__running *running)
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
	if (b || running->list.next)
		note_running(space, running, b, now);
	glock__lock_drop(&space->work.lock);
	return b;
}

void glock__work_ended(struct glock_space *space, struct glock__busy *b)
{
	if (!(atom_swap32(&b->work.state, 0) & GLOCK__WORK_AGAIN))
		return;
	glock__lock_take(&space->work.lock);
	heap_push(space, b, gl_now(b->gl));
	glock__lock_drop(&space->work.lock);
}

/* Operations of other threads do not delay a withdrawal. */
bool glock__work_withdraws(const struct glock_space *space)
{
	return atom_load8(&space->withdrawn) && !atom_load8(&space->withdraw_done);
}

bool glock__work_is_told(const struct glock_space *space)
{
	return atom_load8(&space->thaw_pending) || atom_load32(&space->short_of) ||
	       glock__work_withdraws(space);
}

int64_t glock__work_first(struct glock_space *space)
{
	if (glock__work_is_told(space))
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

void glock__wake_up(struct glock_space *space, uint32_t *word)
{
	if (!space->work.have_thread) {
		glock__work_signal(space);
		return;
	}
	glock__futex_wake_all(word);
	if (space->lm->polling)
		space->lm->polling->nudge(space->lm, word);
}
