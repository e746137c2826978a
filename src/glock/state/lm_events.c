/* SPDX-License-Identifier: MIT */
/*
 * lm_events.c - the functions that a lock manager calls for its events.
 *
 * An event comes on any thread, without a lock held. The events of one glock go to reply.c. The
 * work of the space does what an event of the whole space asks for.
 *
 * A thread that works on the glock, and takes its lock next in any case, defers events. It defers
 * those that come before it has the lock. They are the reply to the request that the thread makes
 * just now, and events that it polls right before.
 */
#include "reply.h"

#include "busy.h"
#include "find.h"
#include "work.h"

#include <string.h>

static bool defers_events(const struct glock__tls *tls, const struct glock *gl)
{
	/*
	 * A reply is applied before a bast. If a bast was deferred already, apply the reply at
	 * once, after the deferred events.
	 */
	return tls->deferred.gl == gl && tls->deferred.wanted && !tls->deferred.bast;
}

static void on_reply(struct glock__lm_lock *lk, int status, unsigned int sbflags)
{
	struct glock *gl = glock__entry(lk, struct glock, lk);
	const struct glock__answer a = {
	    .there = true, .status = status, .sbflags = sbflags, .at = glock__now(gl_space(gl))};
	struct glock__tls *tls = glock__tls();

	if (tls->deferred.asking == gl || defers_events(tls, gl)) {
		tls->deferred.answer = a;
		tls->deferred.queued |= tls->deferred.wanted;
		return;
	}
	gl_lock(gl);
	glock__apply_deferred(gl);
	glock__store_reply(gl, &a);
	if (gl->flags & GLOCK__F_DEAD) {
		glock__free(gl);
		return;
	}
	if (gl->flags & GLOCK__F_HAVE_REPLY)
		glock__work_queue(gl, a.at);
	gl_unlock(gl);
}

static bool on_bast(struct glock__lm_lock *lk, int mode)
{
	struct glock *gl = glock__entry(lk, struct glock, lk);
	struct glock__tls *tls = glock__tls();
	bool idle = mode & GLOCK__BAST_IDLE;
	int to = glock__mode_for_bast(mode & ~GLOCK__BAST_IDLE);

	if (to < 0)
		return false;
	if (idle || !defers_events(tls, gl)) /* the answer must not wait */
		return glock__on_bast(gl, to, idle);
	tls->deferred.bast = tls->deferred.queued = true;
	tls->deferred.bast_mode = (uint8_t)to;
	return false;
}

static uint32_t number_of(const struct glock__lm_lock *lk)
{
	return glock__number_of(glock__entry(lk, struct glock, lk));
}

static struct glock__lm_lock *find_lock(void *owner, uint32_t number)
{
	struct glock_space *space = owner;
	const struct glock__slab *s = &space->glocks[!!(number & GLOCK__NUMBER_LVB)];

	return glock__slab_had(s, number & ~GLOCK__NUMBER_LVB) ? &glock__at(space, number)->lk
							       : NULL;
}

static void on_block(void *owner)
{
	struct glock_space *space = owner;

	atom_store8(&space->recovering, true);
}

/*
 * The lock manager may call this under a lock of its own. A walk over the glocks may drop the last
 * reference to a glock. The glock is then unlocked at the lock manager, which takes that lock. So
 * the work does the walk.
 */
static void on_thaw(void *owner)
{
	struct glock_space *space = owner;

	atom_store8(&space->recovering, false);
	atom_store8(&space->thaw_pending, true);
	glock__work_kick(space, glock__now(space));
}

void glock__node(const struct glock__lm_node *from, struct glock_node *to)
{
	*to = (struct glock_node){.size = sizeof(*to),
				  .id = from->id,
				  .slot = from->slot,
				  .self = from->self,
				  .pid = from->pid};
	static_assert(sizeof(to->name) == sizeof(from->name), "a name fits");
	memcpy(to->name, from->name, sizeof(to->name));
}

static void on_recover(void *owner, const struct glock__lm_node *dead)
{
	struct glock_space *space = owner;
	struct glock_node node;

	if (!space->recover)
		return;
	glock__node(dead, &node);
	glock__tls_check(space->generation);
	glock__tls()->id.recovers = space;
	space->recover(space->recover_arg, &node);
	glock__tls()->id.recovers = NULL;
}

/* Leaves the withdrawal to the work, because this may be any thread. */
static void on_gone(void *owner)
{
	struct glock_space *space = owner;

	atom_store8(&space->withdrawn, true);
	glock__work_kick(space, glock__now(space));
}

static void on_lost(void *owner)
{
	glock__cluster_lost(owner);
}

static void on_back(void *owner)
{
	glock__cluster_back(owner);
}

static bool on_has_failed(void *owner)
{
	return glock__is_unusable(owner);
}

static bool on_writes(void *owner)
{
	struct glock_space *space = owner;

	return atom_load32(&space->writers);
}

static void on_pause(void *owner)
{
	glock__pause_grants(owner, true);
}

static void on_resume(void *owner)
{
	glock__pause_grants(owner, false);
}

const struct glock__lm_events glock__events = {
    .number = number_of,
    .find = find_lock,
    .reply = on_reply,
    .bast = on_bast,
    .block = on_block,
    .thaw = on_thaw,
    .gone = on_gone,
    .lost = on_lost,
    .back = on_back,
    .has_failed = on_has_failed,
    .writes = on_writes,
    .pause = on_pause,
    .resume = on_resume,
    .recover = on_recover,
    .give_back = glock__on_give_back,
    .control = glock__on_control,
};
