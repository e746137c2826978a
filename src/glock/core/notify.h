/* SPDX-License-Identifier: MIT */
/*
 * notify.h - tells a program which requests with ASYNC have finished: the inner part of a notifier.
 *
 * A request that has a notifier is in one of three states:
 *
 *   NONE      not asked for, or its notification was read
 *   WAITING   asked for, and neither granted nor failed; the notifier counts it
 *   FINISHED  granted or failed; it stands in the list of its notifier
 *
 * The fd is readable while the list is not empty. Therefore the list and the fd change together,
 * under notifier->lock. The state word of a request is set under the same lock, because a thread
 * that takes the request from the list must find it granted or failed.
 *
 * A thread without a notifier pays one test of a flag, on the path of the queue only.
 *
 * Lock: notifier->lock, which may be taken under gl->lock.
 */
#ifndef GLOCK__NOTIFY_H
#define GLOCK__NOTIFY_H

#include "internal.h"
#include "lent.h"

enum glock__notify { GLOCK__NOTIFY_NONE, GLOCK__NOTIFY_WAITING, GLOCK__NOTIFY_FINISHED };

struct glock_notifier {
	struct glock__lock lock;
	uint32_t generation; /* of the process that opened it */
	int fd;              /* an eventfd */
	uint32_t waiting;    /* requests that have not finished */
	struct glock__list finished;
};

/* Begins to watch a request, before the request can finish. */
void glock__notify_begin(struct glock__holder *gh);
/*
 * Sets the state of a request that is granted or has failed, and puts the request on the list. The
 * caller wakes the threads that sleep on the state. The holder may be gone when this returns.
 */
GLOCK__COLD void glock__notify_finish(struct glock__holder *gh, uint32_t state);
/* Ends the watch. After that no thread gets this request from the notifier. */
void glock__notify_end(struct glock__holder *gh);
/* Takes the first request from the list. Returns NULL if the list is empty. */
struct glock__holder *glock__notify_take(struct glock_notifier *n);

/* ---- lent.c: use times ---- */

/*
 * Has the next use measured, if none is measured now. With `again` forgets the earlier ones. Does
 * nothing without a lent record.
 */
void glock__measure_next(struct glock *gl, bool again);

void glock__measure_granted(struct glock *gl, const struct glock__holder *gh);
void glock__measure_released(struct glock *gl);

/* For each holder that is granted, and for each one that leaves the list. */
GLOCK__INLINE void glock__measure_begin(struct glock *gl, const struct glock__holder *gh)
{
	if (__builtin_expect(gl_busy(gl)->measure_next, 0))
		glock__measure_granted(gl, gh);
}

GLOCK__INLINE void glock__measure_end(struct glock *gl, const struct glock__holder *gh)
{
	if (__builtin_expect(gl_busy(gl)->measured == gh, 0))
		glock__measure_released(gl);
}

/* ---- order.c: the order of locks ---- */

/* Remembers the holder. Logs a request that is against the order, and returns -EDEADLK. */
int glock__order_check(struct glock *gl, struct glock__holder *gh);
void glock__order_forget(struct glock_space *space, struct glock__holder *gh);

#endif
