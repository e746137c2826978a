/* SPDX-License-Identifier: MIT */
/*
 * work.h - the work of a space: when it is due, which thread runs it, how a thread waits for it.
 */
#ifndef GLOCK__WORK_H
#define GLOCK__WORK_H

#include "glock/core/internal.h"

/* ---- work.c ---- */

/* `threads` is the limit on the library's threads. */
int glock__work_init(struct glock_space *space, unsigned int threads, bool real_time);
void glock__work_stop(struct glock_space *space);
/* Sleeps until *word is not `seen`. Runs work meanwhile if the program has to run it. */
int glock__wait(struct glock_space *space, uint32_t *word, uint32_t seen, int64_t deadline);

/* ---- due.c ---- */

/* Wakes the threads that sleep on the word, or that run the work of the program. */
void glock__wake_up(struct glock_space *space, uint32_t *word);
/* Wakes a thread that runs the work. */
void glock__work_signal(struct glock_space *space);
/* Sets the time at which a thread looks for work, and the fd becomes readable. Under work.lock. */
void glock__work_arm(struct glock_space *space, int64_t at);
/* Makes room for the work of that many glocks. -ENOMEM. */
int glock__work_reserve(struct glock_space *space, size_t glocks);
/* Makes the thread that runs the work look at that time, or earlier. */
void glock__work_kick(struct glock_space *space, int64_t at);
/* Queues the work of the glock for that time, or an earlier one. Under gl->lock. */
void glock__work_queue(struct glock *gl, int64_t at);
struct glock__running;
/*
 * Returns the busy part of the next glock whose work is due, and marks the work as running. Returns
 * NULL if no work is due. The reference of the work keeps the busy part attached. *running is zero
 * at first, and lasts until NULL is returned. glock__work_ended() is called under gl->lock.
 */
struct glock__busy *glock__work_next_due(struct glock_space *space, struct glock__running *running);
void glock__work_ended(struct glock_space *space, struct glock__busy *b);
/* Tells whether an event of the lock manager about the whole space waits to be handled. */
bool glock__work_is_told(const struct glock_space *space);
/* Tells whether the calling thread, which runs no work now, is to withdraw. */
bool glock__work_withdraws(const struct glock_space *space);
/* Returns when the next work is due; INT64_MAX: never. The second one is for under work.lock. */
int64_t glock__work_next(struct glock_space *space);
int64_t glock__work_first(struct glock_space *space);
/* Makes the thread that runs the work of the glock now run it once more. */
void glock__work_leave_to_other(struct glock *gl);
/*
 * Makes this thread the one that runs the work of the glock, until glock__work_release(). Under
 * gl->lock. Returns false if another thread runs it: that thread then runs it once more.
 */
GLOCK__INLINE bool glock__work_claim(struct glock *gl)
{
	uint32_t none = 0;

	if (!atom_cas32(&gl_busy(gl)->work.state, &none, GLOCK__WORK_RUNNING | GLOCK__WORK_BEGUN)) {
		glock__work_leave_to_other(gl);
		return false;
	}
	glock__pin(gl); /* keeps the busy part */
	return true;
}
/* Ends that. Returns true if work was queued meanwhile, which the caller has to run. */
GLOCK__INLINE bool glock__work_release(struct glock *gl)
{
	bool again = atom_swap32(&gl_busy(gl)->work.state, 0) & GLOCK__WORK_AGAIN;

	if (again)
		glock__unpin(gl); /* the reference of that work; this thread has another one */
	glock__unpin(gl);
	return again;
}
/* Sleeps until *word is not `seen`, and counts itself in *sleepers meanwhile. */
int glock__sleep_on(uint32_t *sleepers, uint32_t *word, uint32_t seen, int64_t deadline);
/*
 * Tells whether a thread sleeps. A thread that is about to sleep first adds itself to the count. A
 * thread that changes the word reads the count afterwards. Both use a read-modify-write of the
 * count, so that one of them sees the other. A wake-up without a sleeper would waste a system call.
 */
GLOCK__INLINE bool glock__has_sleepers(uint32_t *sleepers)
{
	return atom_add32(sleepers, 0) != 0;
}
GLOCK__INLINE void glock__wake(struct glock_space *space, uint32_t *word)
{
	if (!space->work.have_thread || glock__has_sleepers(&space->work.waiters))
		glock__wake_up(space, word);
}

/* Sets the state of a holder and wakes its waiter. The holder may be gone when this returns. */
GLOCK__INLINE void glock__holder_set(struct glock_space *space, struct glock__holder *gh,
				     uint32_t state)
{
	uint32_t *word = &gh->state;

	atom_store32(word, state);
	glock__wake(space, word);
}

/* ---- worker.c ---- */

/* Starts the first thread of at most `most`. run_due() runs the work. -EAGAIN, -ENOMEM. */
int glock__workers_start(struct glock_space *space, unsigned int most,
			 int (*run_due)(struct glock_space *space));
/* Ends all threads, and waits for them. */
void glock__workers_stop(struct glock_space *space);

/*
 * Called before and after an operation that may block, in any thread. Without a lock. Before the
 * operation of a worker begins, another worker takes over the work that is due.
 */
void glock__worker_op_begins(struct glock_space *space);
void glock__worker_op_ends(struct glock_space *space);

/* ---- polling of the lock manager: struct glock__lm_polling ---- */

GLOCK__INLINE void glock__poll_begin(struct glock_space *space)
{
	const struct glock__lm_polling *polling = space->lm->polling;
	struct glock__deferred *d = &glock__tls()->deferred;

	d->moment = 0;
	if (!d->polls)
		d->polls = polling && polling->begin(space->lm);
}

GLOCK__INLINE void glock__poll_end(struct glock_space *space)
{
	struct glock__deferred *d = &glock__tls()->deferred;

	d->moment = 0;
	if (!d->polls)
		return;
	d->polls = false;
	space->lm->polling->end(space->lm);
}

/* ---- inline_work.c ---- */

/*
 * After a begin that returned true, the calling thread runs the work of this glock itself, as soon
 * as it can. The end stops that. The caller holds no lock. `own` is the request for which the
 * thread waits, or NULL.
 */
bool glock__inline_begin(struct glock *gl, const struct glock__holder *own);
/*
 * Tells whether this thread leaves the next step of the glock to the threads that run the work. The
 * step may call an operation. A thread that runs inline work calls operations for its own request
 * only. gh is the request that the step serves, or NULL.
 */
GLOCK__INLINE bool glock__inline_leaves(const struct glock *gl, const struct glock__holder *gh)
{
	const struct glock__deferred *d = &glock__tls()->deferred;

	return d->with_ops == gl && (!gh || d->own != gh);
}
/* Queues the work of the glock for those threads. Under gl->lock. */
GLOCK__INLINE void glock__inline_leave(struct glock *gl)
{
	struct glock__deferred *d = &glock__tls()->deferred;

	assert(gl_held(gl) && d->gl == gl);
	(void)gl;
	d->queued = d->leaves = true;
}
/* As glock__poll(). Events of this glock are deferred: the caller takes gl->lock next. */
void glock__inline_poll(struct glock *gl);
/* Runs the work that was queued since. Under gl->lock, which it drops and takes again. */
void glock__inline_run(struct glock *gl);
void glock__inline_finish(struct glock *gl);
GLOCK__INLINE void glock__inline_end(struct glock *gl)
{
	struct glock__tls *tls = glock__tls();

	assert(tls->deferred.gl == gl);
	if (tls->deferred.queued || tls->deferred.polls)
		glock__inline_finish(gl);
	tls->deferred.gl = NULL;
	tls->deferred.with_ops = NULL;
}
/*
 * Waits until the state of the holder is not `seen`, as glock__wait(). Runs the work of its glock
 * meanwhile. Includes glock__inline_end().
 */
int glock__wait_for(struct glock__holder *gh, uint32_t seen, int64_t deadline);

#endif
