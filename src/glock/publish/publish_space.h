/* SPDX-License-Identifier: MIT */
/*
 * publish_space.h - what a space and its glocks publish. publish.h writes it into the segment of
 * this node. If the node has no segment, the functions do nothing.
 */
#ifndef GLOCK__PUBLISH_SPACE_H
#define GLOCK__PUBLISH_SPACE_H

#include "glock/core/internal.h"
#include "segment.h"

/* Returns the lock manager's descriptor (alive in lockman.h), or negative errno. */
int glock__alive_fd(struct glock_space *space);
/*
 * The process is about to become another program, which keeps the locks as they are. May sleep for
 * 0.1 s.
 */
void glock__publish_left(struct glock_space *space);

/*
 * glock__publish_open() comes before anything is published. glock__publish_ready() comes when the
 * space is set up as the program asked.
 */
int glock__publish_open(struct glock_space *space);
void glock__publish_ready(struct glock_space *space);
void glock__publish_state(struct glock_space *space, uint32_t state); /* GLOCK__SEGMENT_ */
/* A run of the work of a glock. Several threads may run work, each that of another glock. */
struct glock__running {
	struct glock__list list; /* space->work.running; no next: none runs */
	unsigned int type;
	uint64_t number;
	int64_t since;
};
/* Publishes when work is due; and the work that has been running longest, or NULL: none runs. */
void glock__publish_due(struct glock_space *space, int64_t at);
void glock__publish_work(struct glock_space *space, const struct glock__running *running);

/*
 * Under gl->lock. The first is called when the holder was queued, the last when the holder leaves
 * the list. The second is called before the holder's state changes, or after its mode changed.
 * spare: see glock__spare_of().
 */
void glock__publish_queued(struct glock *gl, struct glock__holder *gh, struct glock__spare *spare);
void glock__publish_holder(struct glock *gl, struct glock__holder *gh, uint32_t state);
void glock__publish_unlinked(struct glock *gl, struct glock__holder *gh,
			     struct glock__spare *spare);
/* Under gl->lock. Called after a wait ended, and before the glock is freed. */
void glock__publish_wait(struct glock *gl, int64_t ns);
void glock__publish_gone(struct glock *gl);
/* A shorter wait is the cost of a request. It makes no extra for a glock without one. */
#define GLOCK__WAITED_NS 20000
GLOCK__INLINE void glock__publish_waited(struct glock *gl, int64_t ns)
{
	if (ns >= GLOCK__WAITED_NS || gl_busy(gl)->extra)
		glock__publish_wait(gl, ns);
}

/* Returns a ring for 2^order events that readers can see, or NULL. */
struct glock__ring *glock__publish_ring(struct glock_space *space, unsigned int order);
/*
 * Publishes the text of the dump operation about the object of the glock. Under gl->lock. If the
 * text does not fit, only whole lines are kept. len is the length of text, at most one byte too
 * long.
 */
void glock__publish_object_text(struct glock *gl, const char *text, size_t len);

/* ---- publish_lent.c ---- */

/* Gives the record of a glock a place in the segment, or puts the place back. */
void glock__publish_lent(struct glock *gl);
void glock__publish_lent_gone(struct glock *gl);
/* Publishes a policy that changed. */
void glock__publish_policy(struct glock *gl);

void glock__count_granted(struct glock *gl, enum glock_mode mode, int64_t n);
void glock__count_time(struct glock *gl, enum glock__histogram which, int64_t ns);

/* Counts n grants in that mode, in the record of the glock only. */
GLOCK__INLINE void glock__publish_granted(struct glock *gl, enum glock_mode mode, int64_t n)
{
	if (gl_busy(gl)->lent)
		glock__count_granted(gl, mode, n);
}

/* Counts a time, in the histogram of the glock's type and in its record. */
GLOCK__INLINE void glock__publish_time(struct glock *gl, enum glock__histogram which, int64_t ns)
{
	if (gl_space(gl)->publisher)
		glock__count_time(gl, which, ns);
}

#endif
