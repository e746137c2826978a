/* SPDX-License-Identifier: MIT */
/*
 * gfs2_wait.c - waits of GFS2 that samples showed: those in progress, and those that have ended.
 *
 * A wait is followed by its process and mode, as long as no request of its glock is answered. The
 * DLM's own stamps, if there are any, tell exactly when the wait's request began and when it was
 * granted.
 */
#include "dlm.h"
#include "gfs2_impl.h"
#include "o2top/sources/lines/gfs2_line.h"

#include <math.h>
#include <stdlib.h>

struct holder *gfs2_holders_then(const struct source_sample *t, const struct lock *lock,
				 uint32_t *n)
{
	struct holders *before = &t->ns->holders_before;
	uint32_t first = lock->holders;

	*n = 0;
	if (first >= before->n || table_lock(&t->ns->table, before->list[first].lock) != lock)
		return NULL;
	while (first + *n < before->n && before->list[first + *n].lock == before->list[first].lock)
		++*n;
	return &before->list[first];
}

/* Returns whether a followed wait of the sample before is not there any more. */
static bool ended(const struct holder *h)
{
	return h->waits && h->followed;
}

/* Lists the Locks whose DLM times are wanted: Locks with a wait, and Locks whose wait ended. */
static size_t wanted_times(struct node_space *ns, struct dlm_times **out)
{
	size_t n = 0;
	struct dlm_times *times =
	    calloc((size_t)ns->holders.n + ns->holders_before.n + 1, sizeof(*times));

	*out = times;
	if (!times)
		return 0;
	for (uint32_t i = 0; i < ns->holders.n; i++)
		if (ns->holders.list[i].waits)
			times[n++].lock = ns->holders.list[i].lock;
	for (uint32_t i = 0; i < ns->holders_before.n; i++)
		if (ended(&ns->holders_before.list[i]))
			times[n++].lock = ns->holders_before.list[i].lock;
	return n;
}

/*
 * Adds a wait that goes on. `first`: no process waits before it, so the DLM's request is its own.
 */
static void gfs2_add_waiting(struct source_sample *t, struct holder *h, const struct dlm_times *dlm,
			     bool first)
{
	struct lock *lock = table_lock(&t->ns->table, h->lock);
	double least, most;
	struct change *c;

	if (first && dlm && dlm_waits_since(dlm, t->mono_us)) {
		h->exact = true;
		if (h->dlm_id && h->dlm_id != dlm->waiting_id) {
			/* Another lock of the DLM is another glock, and another wait. */
			h->followed = false;
			h->seen_us = dlm->waiting_us;
		}
		h->dlm_id = dlm->waiting_id;
		/* A later time is that of a second request, after a conversion had failed. */
		if (dlm->waiting_us < h->seen_us)
			h->seen_us = dlm->waiting_us;
		h->not_before_us = h->seen_us;
	}
	holder_age(h, t->mono_us, &least, &most);
	h->followed |= h->exact && least >= DLM_TELLING_S;
	c = table_change(&t->ns->table, lock);
	if (!c)
		return;
	change_add_wait(c, least, most, t->first ? 0 : t->frame_s);
	c->unproved |= t->timeless && !h->exact;
	/*
	 * A single sample shows all that it knows. A frame without a length holds nothing. The
	 * estimate will hold a wait that only one sample showed.
	 */
	if (t->first)
		c->lost_s += h->exact ? least : 0;
	else if (h->followed)
		c->measured++;
	if (!t->first && h->followed)
		change_add_lost(c, min_s(least, t->whole_s), share_of_frame(t, t->whole_s));
	if (h->state == GFS2_DF)
		c->wants_direct = true;
	else
		change_add_wish(c, h->state == GFS2_EX);
}

/*
 * The DLM's last grant is not the end of a wait if more requests than this were answered meanwhile.
 */
enum { OF_ONE_WAIT = 2 };

/*
 * Returns whether the DLM's last grant ended the wait, which then took `took_s`. A flock's glock is
 * made anew for each lock, and the grant may be that of a later lock. The reply to the wait's own
 * request moved srttb as far as that request took.
 */
static bool ended_by_grant(const struct holder *h, const struct dlm_times *dlm, bool flock,
			   double took_s)
{
	if (h->dlm_id && h->dlm_id != dlm->granted_id)
		return false;
	return !flock || fabs(h->answered_s - took_s) <= 0.1 + 0.1 * took_s;
}

static void replace_estimate(struct change *c)
{
	c->lost_s = c->late_s = c->estimated_s = c->longest_s = 0;
}

/*
 * Adds a followed wait that ended since the sample before. Earlier frames counted a part of the
 * wait. This part is not counted again:
 *
 * - If the DLM says when the wait ended, the rest of the wait replaces the estimate.
 * - Otherwise the counted part is subtracted from the estimate, which holds the whole wait. The
 *   whole estimate is used, not the part that fits into the frame, because most followed waits are
 *   longer.
 * - The counters of a flock begin anew with each lock. So the end of its wait is not known. In the
 *   mean it is in the middle between the two samples.
 *
 * `left_s` is the part of the estimate that earlier ended waits of this glock left.
 */
static void gfs2_add_ended(struct source_sample *t, const struct holder *h,
			   const struct dlm_times *dlm, bool first, double *left_s)
{
	struct lock *lock = table_lock(&t->ns->table, h->lock);
	int64_t then_us = node_when(t->node, t->ns->last_sample)->mono_us;
	double age = seconds(then_us - h->seen_us), dt = seconds(t->mono_us - then_us), rest;
	double share = share_of_frame(t, dt);
	struct change *c = table_change(&t->ns->table, lock);
	bool flock = lock->id.type == GFS2_FLOCK;

	if (!c)
		return;
	if (c->answers <= OF_ONE_WAIT && dlm && dlm->granted_us > then_us &&
	    dlm->granted_us <= t->mono_us + DLM_AHEAD_US &&
	    ended_by_grant(h, dlm, flock, age + seconds(dlm->granted_us - then_us))) {
		rest = min_s(seconds(dlm->granted_us - then_us), dt);
		if (first)
			replace_estimate(c);
		change_add_lost(c, rest, share);
		change_add_longest(c, age + rest, false);
		wait_counts_add(&t->ns->ended, age + rest);
		return;
	}
	if (flock) {
		/* half of the time until this sample stands for the rest */
		change_add_lost(c, dt / 2, share);
		c->estimated_s += dt / 2;
		change_add_longest(c, age, false);
		wait_counts_add(&t->ns->ended, age);
		return;
	}
	if (c->answers <= OF_ONE_WAIT) {
		rest = min_s(max_s(h->answered_s - age, 0), dt);
		if (first)
			replace_estimate(c);
		change_add_lost(c, rest, share);
		c->estimated_s += rest;
		change_add_longest(c, age + rest, rest > 0);
		wait_counts_add(&t->ns->ended, age + rest);
		return;
	}
	*left_s = max_s((first ? h->total_s : *left_s) - age, 0);
	c->lost_s = c->late_s = 0;
	change_add_lost(c, min_s(*left_s, dt), share);
	c->estimated_s = c->lost_s;
	change_add_longest(c, age, false);
	wait_counts_add(&t->ns->ended, age);
}

void gfs2_take_waits(struct source_sample *t, bool traced)
{
	struct node_space *ns = t->ns;
	struct dlm_times *times;
	size_t n = wanted_times(ns, &times);
	uint32_t before = NONE;
	double left_s = 0;

	n = dlm_take_times(t, times, n);
	for (uint32_t i = 0; i < ns->holders_before.n && !traced; i++) {
		struct holder *h = &ns->holders_before.list[i];

		if (!ended(h))
			continue;
		gfs2_add_ended(t, h, dlm_times_of(times, n, h->lock), h->lock != before, &left_s);
		before = h->lock;
	}
	before = NONE;
	for (uint32_t i = 0; i < ns->holders.n; i++) {
		struct holder *h = &ns->holders.list[i];

		if (!h->waits)
			continue;
		gfs2_add_waiting(t, h, dlm_times_of(times, n, h->lock), h->lock != before);
		before = h->lock;
	}
	free(times);
}
