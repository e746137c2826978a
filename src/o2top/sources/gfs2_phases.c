/* SPDX-License-Identifier: MIT */
/*
 * gfs2_phases.c - collects waits and gives from the events of one node's trace.
 *
 * A give begins with a demand of another node (gfs2_demote_rq, "remote"). A give ends when this
 * node sends the request that gives the lock up. The reply to this request tells how long the
 * request took. Both times are of one clock.
 *
 * In a give, the node lets its processes finish, and then writes back. A log flush for the sake of
 * a glock begins a write-back, but does not name the glock. So the flush is counted only if exactly
 * one lock in EX is wanted by another node at this moment.
 */
#include "gfs2_impl.h"

#include "o2top/base/grow.h"

#include <stdlib.h>

/* A wait may be so long, and gives inside it must still be known. */
enum { GIVES_KEPT_US = 60 * 1000000 };

/* Demands that wait for a reply. A node meets each demand soon, so more of them are damage. */
enum { DEMANDS_MOST = 4096 };

/* A reply's stamp is taken a little after its time is measured. */
enum { REPLY_LATE_US = 50 };

void phases_begin(struct source_sample *t)
{
	struct trace_times *times = &t->ns->trace_times;
	size_t kept = 0;

	times->traced = false;
	times->n_waits = 0;
	for (size_t i = 0; i < times->n_gives; i++)
		if (times->gives[i].until_us > t->mono_us - GIVES_KEPT_US)
			times->gives[kept++] = times->gives[i];
	times->n_gives = kept;
}

static struct trace_demand *find_demand(struct trace_times *times, uint32_t lock)
{
	for (size_t i = 0; i < times->n_demands; i++)
		if (times->demands[i].lock == lock)
			return &times->demands[i];
	return NULL;
}

static void take_write_back(struct trace_times *times, int64_t at_us)
{
	struct trace_demand *only = NULL;

	for (size_t i = 0; i < times->n_demands; i++) {
		if (!times->demands[i].dirty)
			continue;
		if (only)
			return;
		only = &times->demands[i];
	}
	if (only && only->write_us == INT64_MAX)
		only->write_us = at_us;
}

void phases_take_event(struct source_sample *t, const struct gfs2_event *e, int64_t at_us)
{
	struct trace_times *times = &t->ns->trace_times;
	struct lock *lock;
	uint32_t index;

	if (e->kind == GFS2_EVENT_WRITE_BACK) {
		take_write_back(times, at_us);
		return;
	}
	times->has_demands = true;
	lock = table_take(&t->ns->table,
			  &(struct lock_id){.number = e->number, .type = (uint8_t)e->type});
	if (!lock)
		return;
	/* the mode that the node gives up is one that it had */
	if (e->dirty)
		lock->now.gfs2.ex_seen = t->sample;
	else
		lock->now.gfs2.sh_seen = t->sample;
	index = table_index(&t->ns->table, lock);
	if (times->n_demands == DEMANDS_MOST)
		times->n_demands = 0;
	/* The first demand counts, because its node has waited longest. */
	if (find_demand(times, index) ||
	    !grow(&times->demands, times->n_demands, &times->room_demands, sizeof(*times->demands)))
		return;
	times->demands[times->n_demands++] = (struct trace_demand){
	    .lock = index, .dirty = e->dirty, .at_us = at_us, .write_us = INT64_MAX};
}

static void add_give(struct trace_times *times, struct trace_demand *d, int64_t until_us)
{
	if (until_us < d->at_us)
		until_us = d->at_us;
	if (grow(&times->gives, times->n_gives, &times->room_gives, sizeof(*times->gives)))
		times->gives[times->n_gives++] = (struct trace_give){
		    .lock = d->lock,
		    .from_us = d->at_us,
		    .until_us = until_us,
		    .write_us = d->write_us < until_us ? d->write_us : until_us};
	*d = times->demands[--times->n_demands];
}

void phases_take_reply(struct source_sample *t, const struct lock *lock,
		       const struct phases_reply *r)
{
	struct trace_times *times = &t->ns->trace_times;
	uint32_t index = table_index(&t->ns->table, lock);
	int64_t from_us = r->at_us - (int64_t)(1e6 * r->s);
	struct trace_demand *d = find_demand(times, index);

	if (r->waited && r->of_this_frame &&
	    grow(&times->waits, times->n_waits, &times->room_waits, sizeof(*times->waits)))
		times->waits[times->n_waits++] = (struct trace_wait){index, from_us, r->at_us};
	/* The reply to an older request does not meet the demand. */
	if (!d || from_us + REPLY_LATE_US < d->at_us)
		return;
	/*
	 * A node that asks for the lock again gave it away before, and the trace lacks the reply.
	 * So the length of the give is not known.
	 */
	if (!r->waited)
		add_give(times, d, from_us);
	else if (r->granted)
		*d = times->demands[--times->n_demands];
}

static int by_lock_and_end(const void *a, const void *b)
{
	const struct trace_wait *x = a, *y = b;

	if (x->lock != y->lock)
		return x->lock < y->lock ? -1 : 1;
	return (x->until_us > y->until_us) - (x->until_us < y->until_us);
}

static int by_lock_and_begin(const void *a, const void *b)
{
	const struct trace_give *x = a, *y = b;

	if (x->lock != y->lock)
		return x->lock < y->lock ? -1 : 1;
	return (x->from_us > y->from_us) - (x->from_us < y->from_us);
}

void phases_end(struct source_sample *t, bool complete)
{
	struct trace_times *times = &t->ns->trace_times;

	times->traced = complete;
	if (!complete) {
		times->n_waits = times->n_gives = times->n_demands = 0;
		return;
	}
	if (times->n_waits)
		qsort(times->waits, times->n_waits, sizeof(*times->waits), by_lock_and_end);
	if (times->n_gives)
		qsort(times->gives, times->n_gives, sizeof(*times->gives), by_lock_and_begin);
}
