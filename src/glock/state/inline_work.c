/* SPDX-License-Identifier: MIT */
/*
 * inline_work.c - the work of a glock, run by the thread that waits for the glock or just released
 * it.
 *
 * Therefore a lock goes to another node with no more threads than necessary. If the program runs
 * the work, only a try runs work inline. A try must not wait for the work of other glocks.
 *
 * Operations of the program are the exception. A program may hold a mutex around a call of the
 * library. An operation may take the same mutex. So a thread calls operations only for the request
 * for which it waits. They read the object in. The thread leaves write-back, invalidation and
 * operations for other requests to the threads that run the work.
 */
#include "work.h"

#include "cache.h"
#include "queue.h"
#include "reply.h"

#include <assert.h>

bool glock__inline_begin(struct glock *gl, const struct glock__holder *own)
{
	struct glock__tls *tls = glock__tls();
	bool is_try = own && own->flags & GLOCK__TRIES && !glock__linux_hz;

	if ((!gl_space(gl)->work.have_thread && !is_try) || tls->deferred.gl || glock__in_work())
		return false;
	tls->deferred.gl = gl;
	tls->deferred.own = own;
	tls->deferred.with_ops = gl_type(gl)->has_ops ? gl : NULL;
	tls->deferred.queued = tls->deferred.leaves = false;
	glock__poll_begin(gl_space(gl));
	return true;
}

/* Queues the work for the other threads if this thread leaves it to them. */
static void pass_on(struct glock *gl)
{
	struct glock__deferred *d = &glock__tls()->deferred;

	if (!d->leaves)
		return;
	d->leaves = false;
	if (d->queued)
		glock__work_leave_to_other(gl);
	d->queued = false;
}

void glock__inline_run(struct glock *gl)
{
	struct glock_space *space = gl_space(gl);
	struct glock__tls *tls = glock__tls();

	assert(gl_held(gl) && tls->deferred.gl == gl);
	glock__apply_deferred(gl);
	while (tls->deferred.queued) {
		bool free = glock__work_claim(gl);

		if (free)
			glock__enter_work();
		while (free && tls->deferred.queued && !tls->deferred.leaves) {
			tls->deferred.queued = false;
			glock__work_run(gl);
		}
		if (free)
			glock__leave_work();
		tls->deferred.queued = free && (glock__work_release(gl) | tls->deferred.leaves);
		pass_on(gl);
		if (atom_load8(&space->withdrawn))
			glock__work_kick(space, gl_now(gl));
	}
}

static void inline_run_queued(struct glock *gl)
{
	if (!glock__tls()->deferred.queued)
		return;
	gl_lock(gl);
	glock__inline_run(gl);
	gl_unlock(gl);
}

void glock__inline_finish(struct glock *gl)
{
	struct glock__tls *tls = glock__tls();

	inline_run_queued(gl);
	if (tls->deferred.polls) {
		tls->deferred.wanted = true;
		glock__poll_end(gl_space(gl));
		tls->deferred.wanted = false;
		inline_run_queued(gl);
	}
}

void glock__inline_poll(struct glock *gl)
{
	struct glock__tls *tls = glock__tls();

	tls->deferred.wanted = tls->deferred.gl == gl;
	glock__poll(gl_space(gl));
	tls->deferred.wanted = false;
}

/*
 * If this thread polls the lock manager, the event that changes *word may arrive through that poll.
 */
static int sleep_for(struct glock_space *space, uint32_t *word, uint32_t seen, int64_t deadline)
{
	int err = -EBUSY;

	if (!glock__tls()->deferred.polls)
		return glock__sleep_on(&space->work.waiters, word, seen, deadline);
	glock__tls()->deferred.moment = 0;
	atom_add32(&space->work.waiters, 1);
	glock__tls()->deferred.wanted = true;
	if (atom_load32(word) == seen)
		err = space->lm->polling->wait(space->lm, word, seen, deadline);
	glock__tls()->deferred.wanted = false;
	if (err == -EBUSY)
		err = glock__futex_wait(word, seen, deadline);
	atom_sub32(&space->work.waiters, 1);
	return err;
}

int glock__wait_for(struct glock__holder *gh, uint32_t seen, int64_t deadline)
{
	struct glock__tls *tls = glock__tls();
	uint32_t *word = &gh->state;
	struct glock *gl = gh->gl;
	int err = 0;

	if (!gl_space(gl)->work.have_thread) {
		if (tls->deferred.gl == gl)
			glock__inline_end(gl); /* from here on it runs the work of all glocks */
		return glock__wait(gl_space(gl), word, seen, deadline);
	}
	if (tls->deferred.gl != gl && !glock__inline_begin(gl, gh))
		return glock__wait(gl_space(gl), word, seen, deadline);
	inline_run_queued(gl);
	if (atom_load32(word) == seen)
		err = sleep_for(gl_space(gl), word, seen, deadline);
	glock__inline_end(gl);
	return err;
}
