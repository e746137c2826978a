/* SPDX-License-Identifier: MIT */
/*
 * busy.c - the busy part of a glock, and its record.
 *
 * gl_lock() attaches the busy part. gl_unlock() detaches it if it is of no use. Then no holder,
 * waiter or work is left, and a new busy part would have the same hold time and counts. There are
 * as many busy parts in reserve as glocks, so that attaching one cannot fail. An unused busy part
 * was never written, and takes no memory.
 */
#include "busy.h"

#include "glock/core/lent.h"
#include "glock/publish/publish_space.h"

#include "glock/fast/word.h"
#include "work.h"

#include <string.h>

enum { LOOK_AT = 64 }; /* lent records that one trim looks at */

void glock__busy_attach(struct glock *gl)
{
	struct glock_space *space = gl_space(gl);
	uint32_t number = glock__slab_get(&space->busy);
	struct glock__busy *b = glock__slab_at(&space->busy, number);
	struct glock__busy_record *more = glock__slab_published(b);

	assert(gl_held(gl) && number && !(gl->flags & GLOCK__F_BUSY));
	glock__list_init(&b->holders);
	b->work = (struct glock__work){.place = GLOCK__NO_PLACE};
	b->hold = glock__hold_first(gl);
	b->hold_state = (struct glock__hold_state){0};
	b->more = more;
	b->record = gl_record(gl);
	b->gl = gl;
	b->lent = NULL;
	b->now = 0;
	b->idle_since = gl->aux;
	b->target = b->req = gl->state;
	b->demote_state = GLOCK_EX;
	b->reply = GLOCK__GRANTED;
	b->cancel = b->in_call = b->must_run = b->recover_first = false;
	b->trim = b->demanded = b->deadlines = b->leaving = false;
	b->extra = b->uncounted = b->awaited = 0;
	b->short_since = 0;
	b->order = 0;
	b->awaits = b->measured = NULL;
	b->measure_next = false;
	b->bias = GLOCK_UN;
	b->bias_demand = GLOCK_EX;
	b->fence = 0;
	/* demotes_done goes on. */
	*more = (struct glock__busy_record){
	    .flags = GLOCK__R_LIVE, .type = gl->type, .number = gl->number};
	gl->aux = number;
	gl->flags |= GLOCK__F_BUSY;
}

void glock__has_left(struct glock *gl)
{
	struct glock_space *space = gl_space(gl);

	gl_busy(gl)->leaving = false;
	atom_sub32(&space->lru.leaving, 1);
	if (!glock__too_many_leave(space))
		glock__wake(space, &space->lru.leaving);
}

void glock__busy_detach(struct glock *gl)
{
	struct glock_space *space = gl_space(gl);
	uint32_t number = gl->aux;
	struct glock__busy *b = gl_busy(gl);

	assert(gl_held(gl) && glock__list_empty(&b->holders));
	assert(b->work.place == GLOCK__NO_PLACE && !b->work.state);
	glock__publish_gone(gl);
	glock__lent_return(gl);
	glock__left(gl);
	b->more->flags = 0;
	/*
	 * The futex must change, because a thread that still reads it must not see the old value.
	 */
	atom_add32(&b->demotes_done, 1);
	gl->aux = b->idle_since;
	gl->flags &= ~(uint32_t)GLOCK__F_BUSY;
	glock__tls()->deferred.locked = NULL;
	glock__slab_put(&space->busy, number);
}

static bool of_no_use(const struct glock *gl, const struct glock__busy *b)
{
	static const struct glock__counts none;

	return !gl->pins && !b->extra && !b->lent && !(gl->flags & GLOCK__F_GOING_ON) &&
	       glock__list_empty(&b->holders) && b->target == gl->state &&
	       b->demote_state == GLOCK_EX && !b->must_run && b->hold == glock__hold_first(gl) &&
	       !b->more->pages && !memcmp(&b->more->counts, &none, sizeof(none)) &&
	       !b->measure_next && !b->bias && !b->more->revocations && !b->recover_first;
}

/* ---- lent records ---- */

struct glock__lent *glock__lend(struct glock *gl)
{
	if (!gl_busy(gl)->lent && glock__lent_take(gl, &gl_busy(gl)->trim))
		glock__publish_lent(gl);
	return glock__lent_of(gl);
}

void glock__lent_return(struct glock *gl)
{
	if (!gl_busy(gl)->lent)
		return;
	glock__publish_lent_gone(gl);
	glock__lent_teach(gl);
	glock__lent_put(gl);
}

void glock__lent_trim(struct glock_space *space)
{
	struct glock *gl;

	for (int i = 0; i < LOOK_AT && glock__lent_next(space, &gl); i++) {
		if (!gl)
			continue;
		gl_locked(gl);
		glock__lent_return(gl);
		gl_unlock(gl);
	}
}

void *glock_object(const struct glock *gl)
{
	void **at = gl_type(gl)->path ? gl_type(gl)->path->object(gl) : (void **)&gl->object;

	return at ? atom_load_ptr(at) : NULL;
}

/* ---- the record ---- */

/* Stores changed fields. Often no field has changed, and then the memory is not written. */
GLOCK__INLINE void publish(struct glock *gl, const struct glock__busy *b)
{
	struct glock__record *r = b->record;
	uint32_t flags = (gl->flags & ~GLOCK__F_OWN) | GLOCK__R_LIVE;

	flags |= gl->flags & GLOCK__F_USABLE ? GLOCK__R_USABLE : 0;
	flags |= glock_object(gl) ? GLOCK__F_OBJECT : 0;
	flags |= glock__list_empty(&b->holders) ? 0 : GLOCK__F_QUEUED;
	if (r->state != gl->state || r->target != b->target || r->demote != b->demote_state) {
		glock__record_edit(gl);
		r->state = gl->state;
		r->target = b->target;
		r->demote = b->demote_state;
	}
	if (r->flags != flags)
		r->flags = flags;
	if (r->refs != gl_refs(gl))
		r->refs = gl_refs(gl);
	b->more->hold = b->hold;
	b->more->reply = b->reply;
	if (b->lent && b->lent->changed)
		glock__publish_policy(gl);
	if (gl->flags & GLOCK__F_EDITED) {
		gl->flags &= ~(uint32_t)GLOCK__F_EDITED;
		atom_store32(&r->seq, (r->seq | 1) + 1);
	}
}

/* ---- dropping the lock ---- */

bool glock__work_queued(struct glock *gl)
{
	struct glock_space *space = gl_space(gl);
	struct glock__busy *b;
	uint32_t state;
	bool queued;

	if (!(gl->flags & GLOCK__F_BUSY))
		return false;
	if (glock__tls()->deferred.gl == gl && glock__tls()->deferred.queued)
		return true;
	glock__lock_take(&space->work.lock);
	b = glock__busy_of(gl); /* a simulator asks without gl->lock */
	state = atom_load32(&b->work.state);
	/*
	 * The work may be out of the heap, with its thread waiting for the lock. It counts as
	 * queued.
	 */
	queued = b->work.place != GLOCK__NO_PLACE || state & GLOCK__WORK_AGAIN ||
		 state == GLOCK__WORK_RUNNING;
	glock__lock_drop(&space->work.lock);
	return queued;
}

void glock__unlock(struct glock *gl)
{
	struct glock_space *space = gl_space(gl);
	struct glock__busy *b = gl_busy(gl);
	bool trim = b->trim;

	/* The thread that clears the bit lock runs the queue, or queues work that does. */
	assert(!b->must_run || gl->flags & GLOCK__F_LOCK || glock__work_queued(gl));
	glock__fast_update(gl);
	if (b->uncounted) {
		glock__stats_queued(&glock__record_edit(gl)->stats, &space->type_stats, gl->type,
				    b->uncounted);
		b->uncounted = 0;
	}
	publish(gl, b);
	b->now = 0;
	b->trim = false;
	if (of_no_use(gl, b))
		glock__busy_detach(gl);
	glock__tls()->deferred.locked = NULL;
	glock__lock_drop(&gl->lock);
	if (trim)
		glock__lent_trim(space);
}

void glock__unlock_for_call(struct glock *gl)
{
	struct glock__busy *b = gl_busy(gl);

	assert(gl->flags & GLOCK__F_LOCK && !glock__fast_is_open(gl));
	publish(gl, b);
	b->now = 0;
	glock__tls()->deferred.locked = NULL;
	glock__lock_drop(&gl->lock);
}
