/* SPDX-License-Identifier: MIT */
/*
 * publish_space.h - what a space and its glocks publish. publish.h writes it into the segment of this
 * node. The functions do nothing where the node has no segment.
 */
#ifndef GLOCK__PUBLISH_SPACE_H
#define GLOCK__PUBLISH_SPACE_H

#include "glock/core/internal.h"

/* The lock manager's descriptor (alive in lockman.h), or negative errno. */
int glock__alive_fd(struct glock_space *space);
/* The process is about to become another program, which keeps the locks as they are. May sleep for 0.1 s. */
void glock__publish_left(struct glock_space *space);

/* Before anything is published; and when the space is as it was asked for. */
int glock__publish_open(struct glock_space *space);
void glock__publish_ready(struct glock_space *space);
void glock__publish_state(struct glock_space *space, uint32_t state); /* GLOCK__SEGMENT_ */
/* When work is due; that of this glock has been going on since then (0: it has ended). */
void glock__publish_due(struct glock_space *space, int64_t at);
void glock__publish_work(struct glock_space *space, const struct glock *gl, int64_t since);

/* Under gl->lock. A holder is in the list; its state is to be that, or its mode has changed; it
 * leaves. */
void glock__publish_queued(struct glock *gl, struct glock__holder *gh);
void glock__publish_holder(struct glock *gl, struct glock__holder *gh, uint32_t state);
void glock__publish_unlinked(struct glock *gl, struct glock__holder *gh);
/* Under gl->lock. A wait has ended; the glock is about to be freed. */
void glock__publish_wait(struct glock *gl, int64_t ns);
void glock__publish_gone(struct glock *gl);
/* Shorter ones are the price of asking, and make no extra for a glock that has none yet. */
#define GLOCK__WAITED_NS 20000
GLOCK__INLINE void glock__publish_waited(struct glock *gl, int64_t ns)
{
	if (ns >= GLOCK__WAITED_NS || gl_busy(gl)->extra)
		glock__publish_wait(gl, ns);
}

/* A ring for 2^order events that others can read; NULL: there is none. */
struct glock__ring *glock__publish_ring(struct glock_space *space, unsigned int order);
/*
 * The same, while a reader wants to see trace events. The process notices that a reader begins or
 * is gone at the next event, or when the reader rings the bell.
 */
GLOCK__COLD struct glock__ring *glock__publish_traced(struct glock_space *space);
/* Whether that has to be asked. */
GLOCK__INLINE bool glock__publish_may_be_traced(struct glock_space *space)
{
	return space->trace_until &&
	       (atom_load64(space->trace_until) || atom_load32(&space->traced));
}

/*
 * Publishes what the dump operation said of the object of the glock. Under gl->lock. Keeps whole
 * lines only where the text does not fit; len is the length of text, at most one byte too long.
 */
void glock__publish_object_text(struct glock *gl, const char *text, size_t len);

#endif
