/* SPDX-License-Identifier: MIT */
/*
 * glock.c - the source of libglock: the text that a process publishes of its part in a lock space.
 *
 * Such a process is a node in o2top.
 *
 *	N 1 PID [COMMAND] USER                                 version, process
 *	G TYPE:NUMBER s:SH t:SH d:1 q:2 b:0 w:COUNT/NS/LONGEST    a glock; number hexadecimal
 *	  g:SINCE/EX/DF/SH h:WAITS/HOLDS/HANDOVERS         its end, with a lent record
 *	H s:EX f:W at:NS p:PID [COMM] WHERE                    holder (f:H) or waiter, since then
 *	O at:NS TEXT                                           the program's text about the object
 *
 * d: requests to the lock manager, q: holders queued, b: basts, w: ended waits. g: when the process
 * lent the record, and the grants since then by mode. h: histograms, each as BUCKET=COUNT,...; see
 * shot.h. Times are
 * CLOCK_MONOTONIC, and those of a wait are exact. A glock's lost time is the sum of its ended waits
 * and the ages of its waits in progress. The difference of two samples is the time lost in a frame.
 * Each wait counts once, and nothing is estimated.
 *
 * A line " P: PATH" of the program's text is the object's name.
 */
#include "glock_impl.h"
#include "o2top/base/grow.h"
#include "o2top/sources/lines/glock_line.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEEN_SAMPLES = 32 }; /* a mode that was seen is remembered so long */

struct reading {
	struct source_sample *t;
	const char *label;
	size_t usable;
	bool named;             /* the first line was there */
	struct lock *lock;      /* the glock whose lines follow, or NULL */
	bool fresh;             /* the glock was not there in the sample before */
	struct glock_shot was;  /* its Shot in that sample */
	struct glock_line line; /* and its line in this one */
	int64_t waiting_ns;     /* the ages of its waits in progress, added up */
};

/* ---- a glock ------------------------------------------------------------------------------- */

static void glock_saw_mode(struct glock_shot *s, unsigned int mode, uint32_t sample)
{
	if (mode == GLOCK_LINE_EX)
		s->ex_seen = sample;
	else if (mode != GLOCK_LINE_UN)
		s->sh_seen = sample;
}

/* Returns whether a counter went back. Then the counters are those of a new glock of that name. */
static bool made_anew(const struct glock_shot *was, const struct glock_line *l)
{
	return l->dcount < was->dcount || l->qcount < was->qcount || l->waits < was->waits ||
	       l->waited_ns < was->waited_ns;
}

/*
 * Counts the ended waits of known length: a single one, or a new longest one. Of two waits, the
 * other one took the rest.
 */
static void glock_count_ended(struct node_space *ns, uint64_t waits, int64_t waited_ns,
			      int64_t new_longest_ns)
{
	if (waits == 1) {
		wait_counts_add(&ns->ended, 1e-9 * (double)waited_ns);
	} else if (waits && new_longest_ns) {
		wait_counts_add(&ns->ended, 1e-9 * (double)new_longest_ns);
		if (waits == 2)
			wait_counts_add(&ns->ended, 1e-9 * (double)(waited_ns - new_longest_ns));
	}
}

/*
 * Ends a glock whose lines were all read, and adds what it did since the Shot before. If the space
 * had a sample before, the counts of a new glock are all new.
 */
static void end_glock(struct reading *r)
{
	struct source_sample *t = r->t;
	const struct glock_line *l = &r->line;
	struct glock_shot *s;
	struct change *c;
	int64_t lost_ns;
	uint64_t waits;
	double share = t->whole_s > 0 ? share_of_frame(t, t->whole_s) : 1;

	if (!r->lock)
		return;
	s = &r->lock->now.glock;
	s->lost_ns = l->waited_ns + r->waiting_ns;
	lost_ns = s->lost_ns - r->was.lost_ns;
	waits = l->waits - r->was.waits;
	if (!t->first && (!r->fresh || t->ns->last_sample) &&
	    (lost_ns > 0 || l->dcount != r->was.dcount || l->qcount != r->was.qcount)) {
		c = table_change(&t->ns->table, r->lock);
		if (c) {
			c->counts_requests = true;
			c->requests = l->dcount - r->was.dcount;
			change_add_acquired(c, l->qcount - r->was.qcount, share);
			change_add_lost(c, lost_ns > 0 ? 1e-9 * (double)lost_ns : 0, share);
			/*
			 * Without a new maximum, the longest of these waits is at most the maximum
			 * and at least their mean.
			 */
			if (l->longest_ns > r->was.longest_ns)
				change_add_longest(c, 1e-9 * (double)l->longest_ns, false);
			else if (waits)
				change_add_longest(
				    c,
				    min_s(1e-9 * (double)l->longest_ns,
					  1e-9 * (double)(l->waited_ns - r->was.waited_ns) /
					      (double)waits),
				    false);
		}
	}
	if (!t->first && (!r->fresh || t->ns->last_sample))
		glock_count_ended(t->ns, waits, l->waited_ns - r->was.waited_ns,
				  l->longest_ns > r->was.longest_ns ? l->longest_ns : 0);
	s->longest_ns = l->longest_ns;
	s->waits = l->waits;
	s->waited_ns = l->waited_ns;
	s->dcount = l->dcount;
	s->qcount = l->qcount;
	r->lock = NULL;
}

static const char *glock_take_glock(struct reading *r, const char *text, size_t len)
{
	struct source_sample *t = r->t;
	const char *wrong = glock_line_parse(&r->line, text, len);
	struct lock *lock;

	if (wrong)
		return wrong;
	lock = table_take(&t->ns->table, &(struct lock_id){.number = r->line.number,
							   .type = (uint8_t)r->line.type});
	if (!lock)
		return strerror(ENOMEM);
	if (lock->now.sample == t->sample)
		return "the glock is listed twice";
	r->was = lock->now.glock;
	r->fresh = !lock->now.sample || made_anew(&r->was, &r->line);
	if (r->fresh)
		r->was = (struct glock_shot){0};
	lock->now.sample = t->sample;
	lock->now.glock.state = (uint8_t)r->line.state;
	glock_saw_mode(&lock->now.glock, r->line.state, t->sample);
	lock->holders = NONE;
	r->lock = lock;
	r->waiting_ns = 0;
	if (!glock_lent_take(&t->ns->lent, table_index(&t->ns->table, lock), &r->line))
		return strerror(ENOMEM);
	r->usable++;
	return NULL;
}

/* ---- holders and waiters ------------------------------------------------------------------- */

static struct holder *add_holder(struct holders *all)
{
	if (!grow(&all->list, all->n, &all->room, sizeof(*all->list)))
		return NULL;
	return &all->list[all->n++];
}

static void glock_add_waiting(struct reading *r, const struct holder *h)
{
	struct source_sample *t = r->t;
	double age = seconds(t->mono_us - h->seen_us);
	struct change *c = table_change(&t->ns->table, r->lock);

	if (!c)
		return;
	change_add_wait(c, age, age, t->first ? 0 : t->frame_s);
	if (t->first)
		c->lost_s += age;
	change_add_wish(c, h->state == GLOCK_LINE_EX);
}

static const char *glock_take_holder(struct reading *r, const char *text, size_t len)
{
	struct source_sample *t = r->t;
	struct glock_holder_line l;
	const char *wrong = glock_holder_line_parse(&l, text, len);
	int64_t since_us;
	struct holder *h;

	if (wrong || !r->lock)
		return wrong;
	h = add_holder(&t->ns->holders);
	if (!h)
		return strerror(ENOMEM);
	/* The fast path reads no clock, so its holders have no time. */
	since_us = l.at_ns ? l.at_ns / 1000 : t->mono_us;
	if (t->kernel_shift_us != INT64_MIN)
		since_us += t->kernel_shift_us;
	if (since_us > t->mono_us) /* files are read a little after the clock */
		since_us = t->mono_us;
	*h = (struct holder){.lock = table_index(&t->ns->table, r->lock),
			     .state = (uint8_t)l.mode,
			     .waits = l.waits,
			     .exact = l.at_ns != 0,
			     .followed = true,
			     .pid = l.pid,
			     .seen_us = since_us,
			     .not_before_us = since_us};
	snprintf(h->comm, sizeof(h->comm), "%.19s", l.comm);
	if (r->lock->holders == NONE)
		r->lock->holders = t->ns->holders.n - 1;
	glock_saw_mode(&r->lock->now.glock, l.waits ? GLOCK_LINE_UN : l.mode, t->sample);
	if (!l.waits)
		return NULL;
	r->waiting_ns += (t->mono_us - since_us) * 1000;
	glock_add_waiting(r, h);
	return NULL;
}

static const char *take_object(struct reading *r, const char *text, size_t len)
{
	struct glock_object_line l;
	const char *wrong = glock_object_line_parse(&l, text, len);

	if (wrong || !r->lock || !l.path_len)
		return wrong;
	if (object_name_set(&r->t->ns->object_names, table_index(&r->t->ns->table, r->lock), l.path,
			    l.path_len))
		return strerror(ENOMEM);
	return NULL;
}

/* ---- a sample ------------------------------------------------------------------------------ */

static bool glock_take_line(void *arg, const char *text, size_t len, size_t number, bool complete)
{
	struct reading *r = arg;
	const char *wrong = NULL;

	if (len < 2 || text[1] != ' ' || !strchr("HO", text[0]))
		end_glock(r);
	if (!complete)
		wrong = "the line is cut off";
	else if (!r->named && !(r->named = glock_node_line_known(text, len, r->t->ns->user,
								 sizeof(r->t->ns->user))))
		wrong = "the version is unknown";
	else if (len < 2 || text[1] != ' ')
		wrong = "neither a glock nor a part of one";
	else if (text[0] == 'G')
		wrong = glock_take_glock(r, text, len);
	else if (text[0] == 'H')
		wrong = glock_take_holder(r, text, len);
	else if (text[0] == 'O')
		wrong = take_object(r, text, len);
	else if (text[0] != 'N')
		wrong = "neither a glock nor a part of one";
	if (wrong)
		problem(r->t->problems, r->label, number, "%s", wrong);
	return r->named;
}

/* Returns whether a holder has the lock in EX now, or in another mode if `ex` is false. */
static bool held_now(const struct node_space *ns, const struct lock *lock, bool ex)
{
	const struct holder *holders;
	uint32_t n = holders_of(ns, lock, &holders);

	for (uint32_t i = 0; i < n; i++)
		if (!holders[i].waits && (holders[i].state == GLOCK_LINE_EX) == ex)
			return true;
	return false;
}

/*
 * Tells readers and writers by the grants that the process counted, and by its holders now. Without
 * a lent record, infers them from the modes in which the glock was seen lately.
 */
static void glock_add_modes(struct source_sample *t)
{
	struct table *table = &t->ns->table;

	for (uint32_t i = 0; i < table->n_active; i++) {
		const struct lock *lock = table_lock(table, table->active[i].lock);
		const struct glock_shot *s = &lock->now.glock;
		struct change *c = &table->active[i].change;
		const struct lent_counts *lent =
		    lent_find(t->ns->lent.now, t->ns->lent.n_now, table->active[i].lock);

		if (lent) {
			c->wrote = lent->wrote || held_now(t->ns, lock, true);
			c->read = lent->read || held_now(t->ns, lock, false);
			continue;
		}
		c->seen = true;
		c->wrote = s->ex_seen && t->sample - s->ex_seen <= SEEN_SAMPLES;
		c->read = s->sh_seen && t->sample - s->sh_seen <= SEEN_SAMPLES;
	}
}

static void glock_take(struct source_sample *t)
{
	struct node_space *ns = t->ns;
	struct reading r = {.t = t};
	struct input in;
	int err = t->collector->ops->open(t->collector, t->from, t->from_space, FILE_NODE, &in);

	ns->holders.n = 0;
	glock_lent_begin(&ns->lent);
	if (err) {
		problem(t->problems, t->from->name, 0, "%s: %s", t->from_space->name,
			err == -EDQUOT ? "its owner has too much to read" : strerror(-err));
		ns->unusable = true;
		return;
	}
	r.label = in.label;
	err = input_lines(&in, glock_take_line, &r);
	end_glock(&r);
	if (err)
		problem(t->problems, in.label, 0, "%s", strerror(-err));
	glock_lent_end(&ns->lent, t->first || !ns->last_sample);
	glock_add_modes(t);
	ns->lines = r.usable;
	ns->unusable = !r.named;
}

static int64_t glock_newest(struct source_sample *t)
{
	(void)t;
	return -1; /* its times are not those of a wall clock */
}

/* ---- names --------------------------------------------------------------------------------- */

static struct row_id glock_row(const struct lock *lock)
{
	switch (lock->id.type) {
	case GLOCK_LINE_INODE:
	case GLOCK_LINE_IOPEN:
		return (struct row_id){0, lock->id.number};
	default: /* each is an object of the program */
		return (struct row_id){(uint8_t)(lock->id.type + 1), lock->id.number};
	}
}

static const char *glock_type_name(uint8_t type)
{
	static const char *const names[GLOCK_LINE_TYPES] = {
	    "RESERVED", "NONDISK", "INODE", "RGRP",  "META",  "IOPEN", "FLOCK", "PLOCK",
	    "QUOTA",    "JOURNAL", "OWN10", "OWN11", "OWN12", "OWN13", "OWN14", "OWN15",
	    "OWN16",    "OWN17",   "OWN18", "OWN19", "OWN20", "OWN21", "OWN22", "OWN23",
	    "OWN24",    "OWN25",   "OWN26", "OWN27", "OWN28", "OWN29", "OWN30", "OWN31"};

	return type < GLOCK_LINE_TYPES ? names[type] : "UNKNOWN";
}

static void glock_class_name(struct row_id row, char *buf, size_t size)
{
	snprintf(buf, size, "%s %llx", glock_type_name((uint8_t)(row.class - 1)),
		 (unsigned long long)row.number);
}

static void glock_lock_name(const struct lock *lock, char *buf, size_t size)
{
	snprintf(buf, size, "%u/%llx", lock->id.type, (unsigned long long)lock->id.number);
}

static const char *glock_object_name(const struct node_space *ns, const struct lock *lock)
{
	return object_name_get(&ns->object_names, table_index(&ns->table, lock));
}

static bool glock_is_system(const struct space *space, const struct lock *lock)
{
	(void)space;
	(void)lock;
	return false;
}

const struct source glock_source = {
    .name = "glock",
    .take = glock_take,
    .newest = glock_newest,
    .row = glock_row,
    .class_name = glock_class_name,
    .type_name = glock_type_name,
    .lock_name = glock_lock_name,
    .describing = "\2\5",
    .is_system = glock_is_system,
    .object_name = glock_object_name,
    .sentence = glock_sentence,
    .all_are_files = true,
};

/* ---- counts of busy glocks ----------------------------------------------------------------- */

/*
 * A process counts since it lent the record of the glock. A record may go and come again. Then its
 * counts begin anew, and all of them belong to this frame.
 */
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
