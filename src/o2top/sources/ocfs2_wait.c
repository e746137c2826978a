/* SPDX-License-Identifier: MIT */
/*
 * ocfs2_wait.c - waits of OCFS2: the part of each that lies in a frame, and those in progress.
 *
 * The meaning of the kernel's numbers decides how they are used:
 * - gets and total wait count every call, cached calls too. A wait is added when it ENDS. So the
 *   time lost in a frame has two parts. One is the part of the ended waits inside the frame. The
 *   other is the part so far of the waits in progress.
 * - Field 86 is the time when the first waiter began. It can be 0 although a process waits. Then
 *   the Lock is BUSY with an attach or a convert. Nothing about the Lock moves from sample to
 *   sample. Action 3 marks the node that gives the lock up, not a waiter.
 * - All times are the node's own, so that no other node's clock can spoil an age.
 */
#include "ocfs2_impl.h"

#include "dlm.h"
#include "o2top/base/grow.h"

#include <stdlib.h>
#include <string.h>

/* ---- counters ------------------------------------------------------------------------------ */

enum life { LIFE_SAME, LIFE_WRAPPED, LIFE_NEW };

struct counter_delta {
	enum life life;
	uint64_t gets[2];
	double waited[2]; /* seconds of waits that ended in this time */
	bool new_max[2];  /* the longest wait of the Lock's life ended in this time */
};

/*
 * Returns whether a u32 counter wrapped: the counter was near its end and is near its beginning.
 * Any other counter that fell began anew.
 */
static bool wrapped(uint32_t before, uint32_t now)
{
	return before >= 0xc0000000u && now < 0x40000000u;
}

/*
 * Returns whether the longest wait wrapped. It is a u32 of microseconds, so a wait of 71 minutes or
 * more comes out short. The total still grew by that wait.
 */
static bool max_wrapped(const struct ocfs2_shot *p, const struct ocfs2_shot *s, int m)
{
	return s->gets[m] > p->gets[m] && s->total_ns[m] > p->total_ns[m] &&
	       s->total_ns[m] - p->total_ns[m] >= 1000ull << 32;
}

/*
 * Decides whether two Shots belong to one life of the Lock, with or without a counter that wrapped.
 * A Lock that left memory and came back has a new life.
 *
 * Maxima and failures never fall in one life. Gets and totals fall only where gets wrap. The kernel
 * then starts again with 1 and that wait.
 */
static enum life life_of(const struct ocfs2_shot *p, const struct ocfs2_shot *s)
{
	enum life life = LIFE_SAME;

	for (int m = 0; m < 2; m++) {
		if (s->max_us[m] < p->max_us[m] && !max_wrapped(p, s, m))
			return LIFE_NEW;
		if (s->fails[m] < p->fails[m] && !wrapped(p->fails[m], s->fails[m]))
			return LIFE_NEW;
		if (s->gets[m] < p->gets[m]) {
			if (!wrapped(p->gets[m], s->gets[m]))
				return LIFE_NEW;
			life = LIFE_WRAPPED;
		} else if (s->total_ns[m] < p->total_ns[m]) {
			return LIFE_NEW;
		}
	}
	return life;
}

static struct counter_delta counter_delta_of(const struct ocfs2_shot *p, const struct ocfs2_shot *s,
					     bool renewed)
{
	struct counter_delta d = {.life = renewed ? LIFE_NEW : life_of(p, s)};
	static const struct ocfs2_shot nothing;

	/* A new life began after p, so all its counts happened since p. */
	if (d.life == LIFE_NEW)
		p = &nothing;
	for (int m = 0; m < 2; m++) {
		bool round = s->gets[m] < p->gets[m];

		/* Gets skip 0 when they wrap. The waits before the wrap are lost. */
		d.gets[m] = round ? (uint64_t)(UINT32_MAX - p->gets[m]) + s->gets[m]
				  : s->gets[m] - p->gets[m];
		d.waited[m] =
		    1e-9 * (double)(round ? s->total_ns[m] : s->total_ns[m] - p->total_ns[m]);
		d.new_max[m] = s->max_us[m] > p->max_us[m];
	}
	return d;
}

/* ---- waits that ended ---------------------------------------------------------------------- */

/*
 * The wait that the Shot before showed in progress and that is over now. `age` is its age at that
 * Shot, at least.
 */
struct ended_wait {
	bool any;
	int mode; /* the mode that most likely counts it */
	double age;
};

static struct ended_wait ended_since(const struct source_sample *t, const struct lock *lock,
				     const struct ocfs2_shot *p, const struct ocfs2_shot *s)
{
	const struct trail *trail = table_trail_of(&t->ns->table, lock);
	const struct moment *then = node_when(t->node, lock->now.sample);
	struct ended_wait o = {.mode = p->requested == OCFS2_LEVEL_EX ? OCFS2_EX : OCFS2_PR};

	if (p->wait_us && p->wait_us != s->wait_us) {
		o.any = true;
		o.age = seconds(then->real_us - (int64_t)p->wait_us);
	} else if (!p->wait_us && trail && trail->waits) {
		o.any = true;
		o.age = seconds(then->mono_us - trail->wait_seen_us);
	}
	return o;
}

/*
 * Returns how much of `total` seconds lies in the last `room` seconds. `total` is the sum of ended
 * waits, each of which took at most `longest`.
 *
 * Waits that are no longer than the room may all lie in the room, because several processes may
 * wait. Of longer waits, as few as possible are assumed, each as long as possible.
 */
static double part_inside(double total, double longest, double room)
{
	double n;

	longest = min_s(longest, total);
	if (longest <= room)
		return total;
	n = floor(total / longest);
	return n * room + min_s(total - n * longest, room);
}

/* Returns the seconds from the Shot before until the last wait in this mode ended. */
static double room_for_ends(const struct source_sample *t, const struct ocfs2_shot *s, int mode,
			    double dt)
{
	double ago = seconds(t->real_us - (int64_t)s->last_us[mode]);

	/*
	 * A wait did end since the Shot before. If the stamp disagrees, the wall clock was set
	 * meanwhile.
	 */
	return s->last_us[mode] && ago <= dt ? dt - ago : dt;
}

/*
 * Returns the seconds of a mode's ended waits that lie inside the time dt since p.
 *
 * - room: the time from p until the last of these waits ended
 * - longest: the longest of these waits, INFINITY if it is not known
 * - over: the wait that p showed, if it is of this mode; else NULL
 */
static double inside(const struct counter_delta *d, int m, double longest,
		     const struct ended_wait *over, double room, double dt)
{
	double most = room * (double)(d->gets[m] ? d->gets[m] : 1), waited = d->waited[m];

	if (dt <= 0)
		return waited; /* the length of this time is not known */
	if (over) {
		/*
		 * The part before p was counted then. If this wait is the longest one, its rest has
		 * to fit into the room.
		 */
		double rest = max_s(waited - over->age, 0);

		if (longest <= waited && longest > over->age)
			rest = waited - longest + min_s(longest - over->age, room);
		return min_s(rest, most);
	}
	if (longest != INFINITY)
		waited = part_inside(waited, longest, room);
	/* p showed no wait, so all waits may have begun since p. */
	return min_s(waited, most);
}

/*
 * Returns the mode whose total holds the wait that is over. It is the requested mode, unless its
 * total is too short and the other total is longer.
 */
static int mode_of(const struct ended_wait *o, const struct counter_delta *d)
{
	int other = !o->mode;

	return d->waited[o->mode] < o->age && d->waited[other] > d->waited[o->mode] ? other
										    : o->mode;
}

/*
 * Counts the ended waits of a mode whose length is known.
 *
 * - One call since the Shot before: its length is the growth of the total.
 * - A new longest wait. If there were two calls, the other one took the rest.
 * - A wait that the Shot before showed: `followed`, its length at least; else 0.
 */
static void ocfs2_count_ended(struct node_space *ns, uint64_t calls, double waited, double longest,
			      double followed)
{
	if (calls == 1) {
		wait_counts_add(&ns->ended, waited);
	} else if (longest > 0) {
		wait_counts_add(&ns->ended, longest);
		if (calls == 2)
			wait_counts_add(&ns->ended, waited - longest);
	} else {
		wait_counts_add(&ns->ended, followed);
	}
}

static void ocfs2_add_ended(const struct source_sample *t, struct change *c,
			    const struct ocfs2_shot *s, const struct counter_delta *d,
			    const struct ended_wait *over, double dt, double share)
{
	int of = over->any ? mode_of(over, d) : -1;

	for (int m = 0; m < 2; m++) {
		double room = room_for_ends(t, s, m, dt), max = 1e-6 * s->max_us[m], shown;

		if (d->waited[m] <= 0)
			continue;
		change_add_lost(
		    c,
		    inside(d, m, d->new_max[m] ? max : INFINITY, m == of ? over : NULL, room, dt),
		    share);
		/*
		 * Of several waits, only the age is known that a sample showed. All of their time
		 * may be that of many short waits.
		 */
		shown = d->waited[m] / (double)(d->gets[m] ? d->gets[m] : 1);
		if (d->new_max[m])
			shown = max;
		else if (m == of && d->waited[m] >= over->age)
			shown = max_s(shown, over->age);
		change_add_longest(c, shown, false);
		ocfs2_count_ended(t->ns, d->gets[m], d->waited[m], d->new_max[m] ? max : 0,
				  m == of && d->waited[m] >= over->age ? shown : 0);
	}
}

/*
 * Returns whether the Lock's modes tell how an inode is used. M is taken for each look at an inode
 * and for each change of it. W is taken for its data.
 */
static bool tells_use(const struct lock *lock)
{
	return lock->id.type == 'M' || lock->id.type == 'W' || lock->id.type == 'D';
}

/* Adds the events of the last dt seconds, which d has, to the Lock's change. */
static void add_delta(struct source_sample *t, struct lock *lock, const struct ocfs2_shot *s,
		      const struct counter_delta *d, const struct ended_wait *over, double dt,
		      double share)
{
	struct change *c;

	if (!d->gets[0] && !d->gets[1] && d->waited[0] <= 0 && d->waited[1] <= 0)
		return;
	c = table_change(&t->ns->table, lock);
	if (!c)
		return;
	change_add_acquired(c, d->gets[0] + d->gets[1], share);
	if (tells_use(lock)) {
		c->read |= d->gets[0] > 0;
		c->wrote |= d->gets[1] > 0;
	}
	ocfs2_add_ended(t, c, s, d, over, dt, share);
}

void ocfs2_count_new(struct source_sample *t, struct lock *lock, const struct ocfs2_shot *s)
{
	static const struct ocfs2_shot nothing;
	struct counter_delta d = counter_delta_of(&nothing, s, true);

	add_delta(t, lock, s, &d, &(struct ended_wait){0}, t->whole_s,
		  share_of_frame(t, t->whole_s));
}

/*
 * Returns whether the counters cannot be of one node at two times. No process waited at either
 * Shot, and the waits are shorter than half of the time. So many waiters would have shown.
 */
static bool is_doubtful(struct ocfs2_waits *w, const struct lock *lock, const struct ocfs2_shot *p,
			const struct ocfs2_shot *s, const struct counter_delta *d, double dt)
{
	double rate = dt > 0 ? (d->waited[0] + d->waited[1]) / dt : 0;
	uint32_t max = s->max_us[0] > s->max_us[1] ? s->max_us[0] : s->max_us[1];

	if (rate < OCFS2_WAITERS_MOST || d->life != LIFE_SAME || p->wait_us || s->wait_us ||
	    ocfs2_busy(p) || ocfs2_busy(s) || 1e-6 * max > dt / 2)
		return false;
	if (rate > w->doubted_rate) {
		w->doubted_rate = rate;
		w->most_doubted = table_index(&w->t->ns->table, lock);
	}
	w->doubted++;
	return true;
}

static void ocfs2_add_counts(struct ocfs2_waits *w, struct lock *lock, const struct ocfs2_shot *p,
			     const struct ocfs2_shot *s, bool renewed, double dt, double share)
{
	struct counter_delta d = counter_delta_of(p, s, renewed);
	struct ended_wait over = {0};

	if (is_doubtful(w, lock, p, s, &d, dt))
		return;
	if (d.life != LIFE_NEW)
		over = ended_since(w->t, lock, p, s);
	add_delta(w->t, lock, s, &d, &over, dt, share);
}

/* ---- waits that go on ---------------------------------------------------------------------- */

static bool same_point(const struct ocfs2_shot *p, const struct ocfs2_shot *s)
{
	return ocfs2_busy(p) && p->action == s->action && p->level == s->level &&
	       p->requested == s->requested && memcmp(p->gets, s->gets, sizeof(p->gets)) == 0 &&
	       memcmp(p->total_ns, s->total_ns, sizeof(p->total_ns)) == 0;
}

/*
 * Returns the newest time at which this Lock surely did not wait yet, by the node's monotonic
 * clock.
 */
static int64_t not_before(const struct source_sample *t, const struct ocfs2_shot *s,
			  int64_t before_us)
{
	uint64_t last = s->last_us[0] > s->last_us[1] ? s->last_us[0] : s->last_us[1];
	int64_t us = before_us;

	if (last && t->mono_us - (t->real_us - (int64_t)last) > us)
		us = t->mono_us - (t->real_us - (int64_t)last);
	return us > t->mono_us ? t->mono_us : us;
}

/*
 * Follows a Lock that may be waiting without a stamp. Returns true once two samples showed the Lock
 * at the same point.
 */
static bool ocfs2_follow(struct source_sample *t, struct lock *lock, const struct ocfs2_shot *p,
			 const struct ocfs2_shot *s)
{
	struct trail *trail = table_trail_of(&t->ns->table, lock);

	if (!ocfs2_busy(s) || s->wait_us) {
		if (trail)
			trail->waits = false;
		return false;
	}
	if (!trail && !(trail = table_trail(&t->ns->table, lock)))
		return false;
	trail->active_at = t->sample;
	if (trail->waits && p && same_point(p, s))
		return true;
	trail->waits = true;
	trail->wait_seen_us = t->mono_us;
	trail->wait_not_before_us =
	    not_before(t, s, p ? node_when(t->node, lock->now.sample)->mono_us : INT64_MIN);
	return false;
}

/*
 * Adds a wait in progress. `exact`: the wait's age is `least`.
 *
 * A single sample adds all that is known of the wait. A frame adds the part inside the frame, which
 * is nothing if the frame has no length.
 */
static void add_wait(struct source_sample *t, struct lock *lock, const struct ocfs2_shot *s,
		     double least, double most, bool exact, bool unproved, double dt, double share)
{
	struct change *c = table_change(&t->ns->table, lock);

	if (!c)
		return;
	change_add_wait(c, least, most, t->first ? 0 : t->frame_s);
	c->unproved |= unproved;
	if (t->first)
		c->lost_s += exact ? least : 0;
	else
		change_add_lost(c, min_s(least, dt), share);
	/* A node that gives the lock up tells the mode that it keeps, not the one that it wants. */
	if (s->action != OCFS2_ACT_DOWNCONVERT)
		change_add_wish(c, s->requested == OCFS2_LEVEL_EX);
}

static void defer(struct ocfs2_waits *w, const struct ocfs2_pending *one)
{
	if (!grow(&w->pending, w->n, &w->room, sizeof(*w->pending)))
		return;
	w->pending[w->n++] = *one;
}

static void take_waiting(struct ocfs2_waits *w, struct lock *lock, const struct ocfs2_shot *p,
			 const struct ocfs2_shot *s, double dt, double share)
{
	bool followed = ocfs2_follow(w->t, lock, p, s);

	if (s->wait_us) {
		double age = seconds(w->t->real_us - (int64_t)s->wait_us);

		/*
		 * No process waited at p, so this wait began after p, whatever the wall clock says.
		 */
		if (p && !p->wait_us && !ocfs2_busy(p))
			age = min_s(age, dt);
		/* Without a clock the newest stamp stands for it, so the wait is older. */
		add_wait(w->t, lock, s, age, w->t->from->has_clock ? age : NAN, true,
			 !w->t->from->has_clock, dt, share);
	} else if (ocfs2_busy(s) && table_trail_of(&w->t->ns->table, lock)) {
		defer(w, &(struct ocfs2_pending){table_index(&w->t->ns->table, lock), followed, dt,
						 share});
	}
}

void ocfs2_compare(struct ocfs2_waits *w, struct lock *lock, const struct ocfs2_shot *p,
		   const struct ocfs2_shot *s, bool renewed)
{
	struct source_sample *t = w->t;
	double dt = t->whole_s, share;

	if (p)
		dt = seconds(t->mono_us - node_when(t->node, lock->now.sample)->mono_us);
	share = share_of_frame(t, dt);
	if (p)
		ocfs2_add_counts(w, lock, p, s, renewed, dt, share);
	take_waiting(w, lock, p, s, dt, share);
}

/*
 * Adds a pending wait, if it is one. The kernel's DLM knows the time of the request. This time
 * replaces the time at which the wait was seen.
 */
static void ocfs2_settle_one(struct source_sample *t, const struct ocfs2_pending *one,
			     const struct dlm_times *dlm, bool counts)
{
	struct lock *lock = table_lock(&t->ns->table, one->lock);
	struct trail *trail = table_trail_of(&t->ns->table, lock);
	bool exact = dlm && dlm_waits_since(dlm, t->mono_us);
	double least, most = NAN;

	if (exact && dlm->waiting_us < trail->wait_seen_us)
		trail->wait_seen_us = dlm->waiting_us;
	if (exact)
		trail->wait_not_before_us = trail->wait_seen_us;
	least = seconds(t->mono_us - trail->wait_seen_us);
	if (!one->followed && !t->timeless && !(exact && least >= DLM_TELLING_S))
		return;
	/* Without counters, two samples may show two waits. */
	if (one->followed && !counts && !exact)
		least = 0;
	if (trail->wait_not_before_us != INT64_MIN && !(t->timeless && !t->first))
		most = seconds(t->mono_us - trail->wait_not_before_us);
	add_wait(t, lock, &lock->now.ocfs2, least, most, exact,
		 !exact && (t->timeless || !counts) && !(most < 1), one->dt, one->share);
}

void ocfs2_settle(struct ocfs2_waits *w, bool counts)
{
	struct dlm_times *times = calloc(w->n + 1, sizeof(*times));
	size_t n = 0;

	if (times) {
		for (size_t i = 0; i < w->n; i++)
			times[i].lock = w->pending[i].lock;
		n = dlm_take_times(w->t, times, w->n);
	}
	for (size_t i = 0; i < w->n; i++) {
		ocfs2_settle_one(w->t, &w->pending[i], dlm_times_of(times, n, w->pending[i].lock),
				 counts);
	}
	if (w->doubted) {
		char name[64];

		w->t->space->source->lock_name(table_lock(&w->t->ns->table, w->most_doubted), name,
					       sizeof(name));
		problem(
		    w->t->problems, w->t->from->name, 0,
		    "the counters of %zu lock%s are doubtful and left out: %s would lose %.0f s "
		    "each second, and no process waits in either sample; the samples may be of "
		    "two nodes",
		    w->doubted, w->doubted == 1 ? "" : "s", name, w->doubted_rate);
	}
	free(times);
	free(w->pending);
	w->pending = NULL;
	w->n = w->room = 0;
}
