/* SPDX-License-Identifier: MIT */
/*
 * wait.c - waits for a holder that is queued.
 *
 * The state word of a holder is read without a lock. Once GLOCK__H_WAIT is gone, error is final.
 */
#include "glock/core/space.h"
#include "glock/fast/fast.h"
#include "glock/state/busy.h"
#include "glock/state/cache.h"
#include "glock/state/work.h"

#define LEAVING_NS 10000000

void glock__await_leaving(struct glock *gl)
{
	struct glock_space *space = gl_space(gl);
	int64_t until = 0;
	bool cached;

	while (glock__too_many_leave(space) && !glock__in_work()) {
		uint32_t seen = atom_load32(&space->lru.leaving);

		glock__lock_take(&gl->lock);
		cached = gl->state != GLOCK_UN;
		glock__lock_drop(&gl->lock);
		until = until ? until : glock__now(space) + LEAVING_NS;
		if (cached || glock__now(space) >= until)
			return;
		glock__wait(space, &space->lru.leaving, seen, until);
	}
}

int glock_poll(const struct glock_holder *pub)
{
	const struct glock__holder *gh = gh_of(pub);

	/*
	 * In a child glock_wait() does not block, and the state would never change. The glock is
	 * read after the state, because another thread may just prepare the holder.
	 */
	if (gh_state(gh) & GLOCK__H_WAIT && gl_space(gh->gl)->generation == glock__generation())
		return 0;
	glock__tsan_acquire(gh->gl);
	return 1;
}

/* Returns the result of a request that does not wait any more. */
static int wait_result(struct glock__holder *gh)
{
	if (gh_state(gh) & GLOCK__H_HOLDER) {
		glock__report_death(gh);
		return 0;
	}
	return gh->error ? gh->error : -EINVAL;
}

int glock_wait(struct glock_holder *pub, int64_t deadline, unsigned int flags)
{
	struct glock__holder *gh = gh_of(pub);
	struct glock_space *space;
	uint32_t seen;
	int err;

	if (!gh->gl)
		return -EINVAL;
	space = gl_space(gh->gl);
	if (space->generation != glock__generation())
		return -ECHILD;
	glock__tls_check(space->generation);
	if (deadline < 0)
		deadline = 1; /* still in the past; the kernel refuses negative times */
	/* A sleep without a time limit would go on by itself after handlers with SA_RESTART. */
	if (flags & GLOCK_WAIT_INTR && (!deadline || deadline == INT64_MAX))
		deadline = INT64_MAX - 1;
	while ((seen = gh_state(gh)) & GLOCK__H_WAIT) {
		err = glock__check(space, "glock_wait");
		if (err)
			return err;
		if (glock__in_work()) {
			glock__log(space,
				   "holder asked for at %s: glock_wait() in an operation waits "
				   "for work of its own thread; call it outside the operation",
				   gh->where);
			return -EDEADLK;
		}
		err = glock__wait_for(gh, seen, deadline);
		if (err == -ETIMEDOUT && !glock_poll(pub))
			return err;
		if (err == -EINTR && flags & GLOCK_WAIT_INTR && !glock_poll(pub))
			return err;
	}
	return wait_result(gh);
}
