/* SPDX-License-Identifier: MIT */
/* withdraw.c - makes a space unusable: for good, until the lock manager is back, or for a pause. */
#include "reply.h"

#include "glock/core/space.h"
#include "glock/publish/publish_space.h"
#include "glock/publish/segment.h"

#include "cache.h"
#include "demote.h"
#include "find.h"
#include "glock/fast/word.h"
#include "queue.h"
#include "work.h"

static void holder_lost(struct glock *gl, struct glock__holder *gh)
{
	atom_or32(&gh->state, GLOCK__H_LOST);
	glock__op_lost(gl, gh);
}

static void lost_fast(struct glock *gl, const struct glock__fast_holder *fh, void *arg)
{
	(void)arg;
	holder_lost(gl, fh->gh);
}

/*
 * Marks the holders as lost, fails the waiters, and drops the cache once the last holder is gone. A
 * grant of an open request may still arrive, but no holder may rely on it.
 */
static void withdraw_one(struct glock *gl, void *comes_back)
{
	gl_lock(gl);
	if (gl_busy(gl)->writes && gl->lk.held != GLOCK__LM_KEPT) {
		atom_store8(&gl->lk.held, GLOCK__LM_KEPT);
		atom_add32(&gl_space(gl)->writers, 1);
	}
	glock__fast_close(gl);
	if (comes_back && (gl->state != GLOCK_UN || gl->flags & GLOCK__F_LOCK))
		gl->flags |= GLOCK__F_STALE;
	glock__fast_each(gl, lost_fast, NULL);
	for (struct glock__list *l = gl_busy(gl)->holders.next; l != &gl_busy(gl)->holders;
	     l = l->next) {
		struct glock__holder *gh = glock__entry(l, struct glock__holder, list);

		if (gh_state(gh) & GLOCK__H_HOLDER)
			holder_lost(gl, gh);
		else if (gh_state(gh) & GLOCK__H_ENTERING)
			atom_or32(&gh->state, GLOCK__H_LOST); /* for calls in its operation */
	}
	if (gl->state != GLOCK_UN)
		glock__request_demote(gl, GLOCK_UN, 0, false);
	/* No thaw will come for this space. */
	gl_busy(gl)->recover_first = false;
	glock__unfreeze(gl);
	glock__run_queue(gl, true);
	gl_unlock(gl);
}

void glock_withdraw(struct glock_space *space)
{
	GLOCK__NO_CANCEL;
	if (glock__check(space, "glock_withdraw"))
		return;
	atom_store8(&space->withdrawn, true);
	if (atom_swap8(&space->withdraw_done, true))
		return;
	atom_store8(&space->recovering, false);
	glock__log(
	    space,
	    "space %s: this node has withdrawn; the program may close the space and open it again",
	    space->name);
	glock__publish_state(space, GLOCK__SEGMENT_WITHDRAWN);
	glock__each(space, withdraw_one, NULL);
	/* From now on other nodes may get the locks. The lock manager answers each open request. */
	glock__leave(space);
}

/*
 * Like a withdrawal, but the lock manager goes on, and comes back without any lock. Each glock that
 * is not at UN becomes stale. It stays stale until it is at UN, which means without cache and
 * holders.
 */
void glock__cluster_lost(struct glock_space *space)
{
	if (atom_swap8(&space->cluster_lost, true))
		return;
	atom_store8(&space->recovering, false);
	glock__publish_state(space, GLOCK__SEGMENT_WITHDRAWN);
	glock__each(space, withdraw_one, space);
}

void glock__cluster_back(struct glock_space *space)
{
	atom_store8(&space->cluster_lost, false);
	if (!atom_load8(&space->withdraw_done))
		glock__publish_state(space, 0);
}

/*
 * When this returns, each new holder sees the pause. At the end of a pause, queues the work of
 * glocks with a waiter or a demote.
 */
static void pause_one(struct glock *gl, void *pause)
{
	gl_lock(gl);
	glock__fast_shut(gl);
	if (!pause && (gl->flags & GLOCK__F_DEMOTE || glock__first_waiter(gl)))
		glock__work_queue(gl, glock__now(gl_space(gl)));
	gl_unlock(gl);
}

void glock__pause_grants(struct glock_space *space, bool pause)
{
	if (atom_swap8(&space->grants_paused, pause) != pause)
		glock__each(space, pause_one, pause ? space : NULL);
}
