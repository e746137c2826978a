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
/*
 * The trace that tests and the replay of recorded events read. glock__trace_begin() keeps the last
 * 2^order events; call it right after the space was opened. glock__trace_next() stores the next
 * event as text, without a newline, cut off to fit. *cursor is 0 at first, one for each reader.
 * Returns 1 for an event, 0 if there is none now, and -ESTALE if events were overwritten.
 */
int glock__trace_begin(struct glock_space *space, unsigned int order);
int glock__trace_next(struct glock_space *space, enum glock_format format, uint64_t *cursor,
		      char *buf, size_t size);

#endif
