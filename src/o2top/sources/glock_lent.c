/* SPDX-License-Identifier: MIT */
/*
 * glock_lent.c - what the processes count of their busy glocks, from sample to sample.
 *
 * A process counts since it lent the record of the glock. A record may go and come again. Then its
 * counts begin anew, and all of them belong to this frame.
 */
#include "glock_impl.h"
#include "o2top/base/grow.h"
#include "o2top/sources/lines/glock_line.h"

#include <stdlib.h>
#include <string.h>

void glock_lent_begin(struct lent_samples *s)
{
	struct lent_samples was = *s;

	*s = (struct lent_samples){.now = was.before,
				   .room_now = was.room_before,
				   .before = was.now,
				   .n_before = was.n_now,
				   .room_before = was.room_now};
}

bool glock_lent_take(struct lent_samples *s, uint32_t lock, const struct glock_line *l)
{
	struct lent_counts *c;

	if (!l->lent)
		return true;
	if (!grow(&s->now, s->n_now, &s->room_now, sizeof(*s->now)))
		return false;
	c = &s->now[s->n_now++];
	*c = (struct lent_counts){.lock = lock,
				  .since_ns = l->since_ns,
				  .ex = l->granted_ex,
				  .shared = l->granted_shared};
	memcpy(c->times, l->times, sizeof(c->times));
	return true;
}

static int by_lock(const void *a, const void *b)
{
	const struct lent_counts *x = a, *y = b;

	return (x->lock > y->lock) - (x->lock < y->lock);
}

/* Returns whether `was` counted in the same record: no count is smaller now. */
static bool goes_on(const struct lent_counts *was, const struct lent_counts *c)
{
	if (!was || was->since_ns != c->since_ns || was->ex > c->ex || was->shared > c->shared)
		return false;
	return true;
}

/* Sets the part of the counts that belongs to this frame. */
static void take_frame(struct lent_counts *c, const struct lent_counts *was, bool first)
{
	bool same = goes_on(was, c);

	c->wrote = c->ex > (same ? was->ex : 0);
	c->read = c->shared > (same ? was->shared : 0);
	if (first)
		return; /* these times may be of any past */
	for (int i = 0; i < LENT_TIMES; i++)
		for (int k = 0; k < LENT_BUCKETS; k++) /* a count may wrap */
			c->frame[i][k] = c->times[i][k] - (same ? was->times[i][k] : 0);
}

void glock_lent_end(struct lent_samples *s, bool first)
{
	if (s->n_now)
		qsort(s->now, s->n_now, sizeof(*s->now), by_lock);
	for (size_t i = 0; i < s->n_now; i++)
		take_frame(&s->now[i], lent_find(s->before, s->n_before, s->now[i].lock), first);
}
