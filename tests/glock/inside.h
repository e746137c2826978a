/* SPDX-License-Identifier: MIT */
/*
 * inside.h - parts of a glock that no program sees, and the trace of a space as text.
 */
#ifndef TESTS_INSIDE_H
#define TESTS_INSIDE_H

#include "glock/core/internal.h"
#include "glock/core/space.h"
#include "glock/publish/publish_space.h"

#include <assert.h>
#include <errno.h>

struct look {
	uint8_t target, demote_state, req, reply;
	bool any_holders;
	int64_t hold;
	struct glock__counts counts;
};

/* Reads the parts without gl->lock. */
static inline struct look look(const struct glock *gl)
{
	const struct glock__busy *b = gl->flags & GLOCK__F_BUSY ? glock__busy_of(gl) : NULL;

	if (!b)
		return (struct look){.target = gl->state,
				     .demote_state = GLOCK_EX,
				     .req = gl->state,
				     .hold = glock__hold_first(gl)};
	return (struct look){.target = b->target,
			     .demote_state = b->demote_state,
			     .req = b->req,
			     .reply = b->reply,
			     .any_holders = !glock__list_empty(&b->holders),
			     .hold = b->hold,
			     .counts = b->more->counts};
}

/* Keeps the last 2^order events of a space that was just opened. Returns 0, or -ENOMEM. */
static inline int trace_begin(struct glock_space *space, unsigned int order)
{
	space->ring = glock__publish_ring(space, order);
	if (!space->ring)
		space->ring = glock__ring_new(order);
	if (!space->ring)
		return -ENOMEM;
	space->fast = false; /* each grant is an event */
	space->bias = false;
	return 0;
}

/*
 * Stores the next event as the text of Linux 6.1, without a newline, cut off to fit. *cursor is 0
 * at first, one for each reader. Returns 1 for an event, 0 if there is none now, and -ESTALE if
 * events were overwritten.
 */
static inline int trace_next(struct glock_space *space, uint64_t *cursor, char *buf, size_t size)
{
	struct glock__text text = {.buf = buf, .size = size};
	struct glock__event ev;
	uint64_t lost;
	int ret = glock__ring_get(space->ring, cursor, &ev, &lost);

	if (ret != 1)
		return ret;
	glock__text_print(&text, "%s: ", glock__event_names[ev.name]);
	glock__event_print(&text, GLOCK__LINUX_6_1, space->env.major, space->env.minor, &ev);
	return 1;
}

#endif
