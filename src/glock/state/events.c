/* SPDX-License-Identifier: MIT */
/*
 * events.c - the trace events of a glock. All functions run under gl->lock. They do nothing without
 * a tracer at the probe and without a ring. A tracer has its own clock, so no time is read for it.
 */
#include "show.h"

#include "glock/fast/thread.h"
#include "glock/publish/publish_space.h"

enum { TRACE_ORDER = 14 }; /* the ring for readers keeps 2^TRACE_ORDER events */

struct glock__ring *glock__publish_traced(struct glock_space *space)
{
	uint32_t none = 0;
	int64_t until;
	bool traced;

	if (!space->publisher)
		return NULL;
	until = (int64_t)atom_load64(space->trace_until);
	traced = until && until >= glock__now(space);
	if (traced != atom_load32(&space->traced))
		glock__threads_trace(space, traced);
	if (!traced)
		return NULL;
	/* One thread makes the ring. The others go on without a ring meanwhile. */
	if (!atom_load32(&space->live_ring_made) && atom_cas32(&space->live_ring_made, &none, 1))
		atom_store_ptr(&space->live_ring, glock__publish_ring(space, TRACE_ORDER));
	return atom_load_ptr(&space->live_ring);
}

/*
 * Tells whether a tracer or a ring wants the event. Sets *ring to the ring of the program, or to
 * the ring for readers, or to NULL.
 */
static bool is_seen(const struct glock *gl, enum glock__event_name name, struct glock__ring **ring)
{
	struct glock_space *space = gl_space(gl);

	*ring = space->ring;
	if (!*ring && glock__publish_may_be_traced(space))
		*ring = glock__publish_traced(space);
	return *ring || glock__traced(name);
}

/* Returns an event with the fields that all events have. */
static struct glock__event event_of(struct glock *gl, enum glock__event_name name,
				    const struct glock__ring *ring)
{
	return (struct glock__event){
	    .time = ring ? gl_now(gl) : 0,
	    .number = gl->number,
	    .thread = (uint32_t)glock__thread_id(),
	    .flags = (gl->flags & ~GLOCK__F_OWN) | (glock_object(gl) ? GLOCK__F_OBJECT : 0),
	    .name = name,
	    .type = gl->type,
	    .state = gl->state,
	    .target = gl_busy(gl)->target,
	    .demote = gl_busy(gl)->demote_state,
	};
}

GLOCK__NOINLINE GLOCK__COLD static void
event_state_change(struct glock *gl, struct glock__ring *ring, enum glock_mode to)
{
	struct glock__event ev = event_of(gl, GLOCK__EV_STATE_CHANGE, ring);

	ev.to = to;
	glock__trace(ring, &ev);
}

void glock__trace_state_change(struct glock *gl, enum glock_mode to)
{
	struct glock__ring *ring;

	if (is_seen(gl, GLOCK__EV_STATE_CHANGE, &ring))
		event_state_change(gl, ring, to);
}

void glock__trace_put(struct glock *gl)
{
	struct glock__ring *ring;
	struct glock__event ev;

	if (!is_seen(gl, GLOCK__EV_PUT, &ring))
		return;
	ev = event_of(gl, GLOCK__EV_PUT, ring);
	glock__trace(ring, &ev);
}

GLOCK__NOINLINE GLOCK__COLD static void event_demote(struct glock *gl, struct glock__ring *ring,
						     bool remote)
{
	struct glock__event ev = event_of(gl, GLOCK__EV_DEMOTE_RQ, ring);

	ev.to = gl_busy(gl)->demote_state;
	ev.remote = remote;
	glock__trace(ring, &ev);
}

/* The event names the mode after all demands so far were merged. */
void glock__trace_demote(struct glock *gl, bool remote)
{
	struct glock__ring *ring;

	if (is_seen(gl, GLOCK__EV_DEMOTE_RQ, &ring))
		event_demote(gl, ring, remote);
}

GLOCK__NOINLINE GLOCK__COLD static void event_holder(struct glock *gl, struct glock__ring *ring,
						     enum glock__event_name name,
						     const struct glock__holder *gh, bool out)
{
	struct glock__event ev = event_of(gl, name, ring);

	ev.state = gh->mode;
	ev.out = out;
	glock__trace(ring, &ev);
}

void glock__trace_holder(struct glock *gl, enum glock__event_name name,
			 const struct glock__holder *gh, bool out)
{
	struct glock__ring *ring;

	if (is_seen(gl, name, &ring))
		event_holder(gl, ring, name, gh, out);
}

GLOCK__NOINLINE GLOCK__COLD static void lock_time(struct glock *gl, struct glock__ring *ring,
						  int64_t now, int64_t round_trip, int status,
						  unsigned int sbflags)
{
	struct glock__event ev = event_of(gl, GLOCK__EV_LOCK_TIME, NULL);

	ev.time = now;
	ev.status = status;
	ev.status_flags = sbflags;
	ev.round_trip = round_trip;
	ev.stats = gl_record(gl)->stats;
	glock__trace(ring, &ev);
}

void glock__trace_lock_time(struct glock *gl, int64_t now, int64_t round_trip, int status,
			    unsigned int sbflags)
{
	struct glock__ring *ring;

	if (is_seen(gl, GLOCK__EV_LOCK_TIME, &ring))
		lock_time(gl, ring, now, round_trip, status, sbflags);
}
