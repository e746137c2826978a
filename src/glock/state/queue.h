/* SPDX-License-Identifier: MIT */
/*
 * queue.h - the queue of a glock: which holder is granted next. The caller has gl->lock, unless a
 * declaration says otherwise.
 */
#ifndef GLOCK__QUEUE_H
#define GLOCK__QUEUE_H

#include "busy.h"

/* Somebody has it, by the queue or by the word; which gets closed. */
bool glock__is_held(struct glock *gl);
struct glock__holder *glock__first_holder(struct glock *gl);
struct glock__holder *glock__first_waiter(struct glock *gl);
bool glock__may_grant(struct glock *gl, const struct glock__holder *gh);

/* Grants, demotes, asks the lock manager: whatever is next. nonblock: or has the work do it. */
void glock__run_queue(struct glock *gl, bool nonblock);

#ifdef GLOCK_ATOM_HOOKS
/* Not NULL: called for each grant by the queue, in order. */
extern void (*glock__grant_hook)(const struct glock *gl, const struct glock__holder *gh);
#endif

/* A waiter is granted, or fails with an error: it leaves the queue. */
void glock__grant(struct glock *gl, struct glock__holder *gh);
void glock__fail(struct glock *gl, struct glock__holder *gh, int error);
/* It leaves the list, and nothing else is done with it. */
void glock__unlink(struct glock *gl, struct glock__holder *gh);

/* The work of a glock, under its lock, which it drops and takes again. */
void glock__work_run(struct glock *gl);
/* Under gl->lock: true if the lock manager has to be told (ops->idle) that nobody uses it now. */
bool glock__now_idle(struct glock *gl);
/* The bit lock is free again; whoever calls runs the queue, or has it run. */
void glock__clear_lock(struct glock *gl);
/* Those who wait fail; tries_only: who tries. */
void glock__fail_waiters(struct glock *gl, int error, bool tries_only);
/* Lets in who fits, in the order of asking. False: that may block, and nonblock does not allow it. */
bool glock__promote(struct glock *gl, bool nonblock);

/* What the lock manager has for this node, if it has anything. Not under any lock. */
GLOCK__INLINE void glock__poll(struct glock_space *space)
{
	if (glock__lm_due(space->lm))
		space->lm->ops->poll(space->lm);
}

#endif
