/* SPDX-License-Identifier: MIT */
/*
 * cache.h - calls of the operations of a type. The caller has gl->lock, unless a declaration says
 * otherwise.
 */
#ifndef GLOCK__CACHE_H
#define GLOCK__CACHE_H

#include "glock/core/internal.h"

/*
 * Checks a call; each public function does this first. Returns -ECHILD or -EDEADLK, or 0.
 * `function` is the name for the log.
 */
GLOCK__COLD int glock__check_slow(struct glock_space *space, const char *function);
GLOCK__INLINE int glock__check(struct glock_space *space, const char *function)
{
	const struct glock__identity *id = &glock__tls()->id;

	/* After a fork the generation of the thread's state is not that of its process. */
	if (__builtin_expect(space->generation == glock__generation() &&
				 space->generation == id->process && !id->op.gl,
			     1))
		return 0;
	return glock__check_slow(space, function);
}
/* Returns -EDEADLK and logs it if the thread is in an operation under a spinlock. */
int glock__check_op(struct glock_space *space, const char *function);

/* Tells whether this thread runs the work of a space. */
GLOCK__INLINE bool glock__in_work(void)
{
	return glock__tls()->id.working;
}
GLOCK__INLINE void glock__enter_work(void)
{
	glock__tls()->id.working++;
}
GLOCK__INLINE void glock__leave_work(void)
{
	assert(glock__tls()->id.working);
	glock__tls()->id.working--;
}

/* These drop gl->lock while the operation runs. The caller has the bit lock. */
int glock__op_xmote_th(struct glock *gl, enum glock_mode to, unsigned int sync);
int glock__op_xmote_bh(struct glock *gl, enum glock_mode mode);
/* Returns 0, or an error if the operation did not return. */
int glock__op_inval(struct glock *gl, unsigned int what);
int glock__op_instantiate(struct glock *gl, struct glock__holder *gh);
int glock__op_lock(struct glock *gl, struct glock__holder *gh);
void glock__op_unlock(struct glock *gl, struct glock__holder *gh);
/* These keep gl->lock. */
bool glock__op_demote_ok(struct glock *gl);
void glock__op_callback(struct glock *gl, enum glock_mode to, bool remote);
void glock__op_lost(struct glock *gl, struct glock__holder *gh);
void glock__op_dump(struct glock *gl, glock_print_fn *print, void *to);
uint64_t glock__op_pages(struct glock *gl);

/* Gives the locks of a space that withdraws back, but those under which an operation writes. */
void glock__leave(struct glock_space *space);
/*
 * The operations of a change or a sync have ended. If this node lost the lock meanwhile, only now
 * gives it back. Under gl->lock and the bit lock; may drop gl->lock and take it again.
 */
void glock__writes_no_more(struct glock *gl);

#endif
