/* SPDX-License-Identifier: MIT */
/*
 * show.h - a glock as text (show.c), and its trace events (events.c).
 */
#ifndef GLOCK__SHOW_H
#define GLOCK__SHOW_H

#include "glock/core/internal.h"

/* Logs the glock as in a dump, because an error concerns it. Under gl->lock. */
GLOCK__COLD void glock__log_glock(struct glock *gl);

/* Publishes what the operations dump and pages tell about the object. Under gl->lock. */
void glock__publish_object(struct glock *gl);

/* ---- events.c: the events of the trace ---- */

void glock__trace_state_change(struct glock *gl, enum glock_mode to);
void glock__trace_put(struct glock *gl);
void glock__trace_demote(struct glock *gl, bool remote);
void glock__trace_holder(struct glock *gl, enum glock__event_name name,
			 const struct glock__holder *gh, bool out);
void glock__trace_lock_time(struct glock *gl, int64_t now, int64_t round_trip, int status,
			    unsigned int sbflags);

/* ---- events.c: the ring for readers ---- */

/*
 * Returns the ring for readers while a reader wants to see trace events. The process notices at its
 * next event that a reader begins or is gone. A reader rings the bell to be noticed earlier.
 */
GLOCK__COLD struct glock__ring *glock__publish_traced(struct glock_space *space);
/* Tells whether glock__publish_traced() has to be asked. */
GLOCK__INLINE bool glock__publish_may_be_traced(struct glock_space *space)
{
	return space->trace_until &&
	       (atom_load64(space->trace_until) || atom_load32(&space->traced));
}

#endif
