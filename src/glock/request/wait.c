/* SPDX-License-Identifier: MIT */
/*
 * wait.c - waits for a holder that is queued.
 *
 * The state word of a holder is read without a lock. Once GLOCK__H_WAIT is gone, error is final.
 */
#include "glock/core/log.h"
#include "glock/state/cache.h"
#include "glock/state/inline_work.h"

int glock_poll(const struct glock_holder *gh)
{
	if (gh_state(gh_of(gh)) & GLOCK__H_WAIT)
		return 0;
	glock__tsan_acquire(gh_of(gh)->gl);
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
