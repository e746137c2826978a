/* SPDX-License-Identifier: MIT */
/*
 * gfs2.c - the source of GFS2: turns glocks and glstats into Shots, and two Shots into a change.
 *
 * - glstats lists every glock. dcnt counts requests to the DLM and qcnt counts queued holders since
 *   the glock was made. srttb is a mean that forgets, not a counter. A new glock inherits srttb
 *   from others.
 * - The time lost comes from the best of three sources. The first is the trace's events. The second
 *   is the waits that were seen: a W holder with an unchanged pid and mode while dcnt stays. The
 *   third is an estimate from the move of srttb, and the change is marked as estimated.
 * - The DLM's own stamps tell exactly when a wait began, and when a followed wait ended.
 * - No counter tells which nodes write and which read. The modes that were seen decide.
 */
#include "dlm_sentence.h"
#include "flock.h"
#include "gfs2_impl.h"
#include "o2top/base/grow.h"
#include "o2top/model/demands.h"
#include "o2top/sources/lines/gfs2_line.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { SEEN_SAMPLES = 32 }; /* a mode that was seen is remembered so long */

/* ---- glstats: counters --------------------------------------------------------------------- */

struct reading {
	struct source_sample *t;
	const char *label;
	size_t usable;
	bool bad; /* a line of glstats was not understood */
	bool traced;
	bool baseline;      /* every line of glstats in the sample before was understood */
	struct lock *lock;  /* the glock whose lines follow */
	bool broken;        /* one of these lines was not understood */
	bool listed_before; /* the sample before listed it with all its holders */
	bool held;          /* one of its holders so far holds it */
	struct gfs2_flock_totals flocks;
	uint32_t before; /* its first holder in the sample before, or NONE */
};

/*
 * Notes how long the wait took that the sample before showed, if it was answered. Each reply moves
 * srttb by an eighth of the distance to its own length. A reply that is far off shows its length.
 */
static void note_answer(struct source_sample *t, const struct lock *lock, const struct gfs2_shot *p,
			const struct gfs2_stats_line *l)
{
	uint32_t n;
	struct holder *then = gfs2_holders_then(t, lock, &n);

	if (l->srttb <= p->srttb)
		return;
	for (uint32_t i = 0; i < n; i++)
		then[i].answered_s =
		    1e-9 * ((double)p->srttb + 8 * ((double)l->srttb - (double)p->srttb));
}

/*
 * Notes the total of all requests instead, for a wait that was one of many. The part of the wait
 * that earlier frames counted is in this total.
 */
static void note_total(struct source_sample *t, const struct lock *lock, double total_s)
{
	uint32_t n;
	struct holder *then = gfs2_holders_then(t, lock, &n);

	for (uint32_t i = 0; i < n; i++)
		then[i].total_s = total_s;
}

/*
 * Adds what the counters report since the Shot before, in sample `since`. If `p` is NULL, the glock
 * was made after that sample.
 */
static void gfs2_add_counts(struct reading *r, struct lock *lock, const struct gfs2_shot *p,
			    const struct gfs2_stats_line *l, uint32_t since)
{
	struct gfs2_mean before = {0}, now = {l->dcount, l->srttb, l->srttvarb};
	struct source_sample *t = r->t;
	uint64_t requests = l->dcount - (p ? p->dcount : 0),
		 queued = l->qcount - (p ? p->qcount : 0);
	double dt = seconds(t->mono_us - node_when(t->node, since)->mono_us);
	double share = share_of_frame(t, dt), total, mean;
	struct change *c;

	if ((!requests && !queued) || !(c = table_change(&t->ns->table, lock)))
		return;
	c->counts_requests = true;
	c->requests = requests;
	c->answers = requests < UINT32_MAX ? (uint32_t)requests : UINT32_MAX;
	change_add_acquired(c, queued, share);
	if (p)
		before = (struct gfs2_mean){p->dcount, p->srttb, p->srttvarb};
	if (r->traced || !gfs2_estimate(p ? &before : NULL, &now, &total, &mean))
		return;
	note_total(t, lock, total);
	/*
	 * A glock has one request at a time. All requests together take no longer than the time
	 * that they are in.
	 */
	change_add_lost(c, min_s(total, dt), share);
	c->estimated_s = c->lost_s;
}

/*
 * Returns the sample after which a glock was made whose counters begin anew; 0 if not known.
 *
 * One listing may leave a glock out. If neither listing had the glock, it was not there. If
 * counters fell, the earlier ones were another glock's.
 */
static uint32_t made_after(const struct reading *r, const struct gfs2_shot *s)
{
	uint32_t last = r->t->ns->last_sample;

	return r->baseline && s->glocks_at != last ? last : s->stats_at;
}

/* Digests the six means of a glock. Only their equality counts. */
static uint32_t means_of(const struct gfs2_stats_line *l)
{
	const int64_t means[] = {l->srtt, l->srttvar, l->srttb, l->srttvarb, l->sirt, l->sirtvar};
	uint64_t digest = 0;

	for (size_t i = 0; i < sizeof(means) / sizeof(means[0]); i++)
		digest = (digest ^ (uint64_t)means[i]) * 0x9e3779b97f4a7c15ull;
	return (uint32_t)(digest >> 32);
}

static bool take_stats(void *arg, const char *text, size_t len, size_t number, bool complete)
{
	struct reading *r = arg;
	struct source_sample *t = r->t;
	struct gfs2_stats_line l;
	struct lock *lock;
	uint32_t since;
	struct gfs2_shot *s;
	const char *wrong = complete ? gfs2_stats_parse(&l, text, len) : "the line is cut off";

	if (!wrong && l.type >= GFS2_TYPE_MAX)
		wrong = "no such type of glock";
	if (wrong) {
		r->bad = true;
		problem(t->problems, r->label, number, "%s", wrong);
		return true;
	}
	lock = table_take(&t->ns->table,
			  &(struct lock_id){.number = l.number, .type = (uint8_t)l.type});
	if (!lock) {
		problem(t->problems, r->label, number, "%s", strerror(ENOMEM));
		return false;
	}
	r->usable++;
	s = &lock->now.gfs2;
	/* A listing can repeat a glock while the kernel's table grows. */
	if (s->stats_at == t->sample)
		return true;
	if (s->stats_at && l.dcount >= s->dcount && l.qcount >= s->qcount) {
		note_answer(t, lock, s, &l);
		gfs2_add_counts(r, lock, s, &l, s->stats_at);
	} else if ((since = made_after(r, s))) {
		gfs2_add_counts(r, lock, NULL, &l, since);
	}
	s->answered = s->stats_at && s->means != means_of(&l);
	s->queued = s->stats_at && s->qcount != l.qcount;
	s->means = means_of(&l);
	s->dcount = l.dcount;
	s->qcount = l.qcount;
	s->srttb = l.srttb;
	s->srttvarb = l.srttvarb;
	s->stats_at = t->sample;
	lock->now.sample = t->sample;
	return true;
}

/* ---- glocks: states, holders, waiters ------------------------------------------------------ */

/* Notes a mode in which the node has the glock. A mode that is only asked for is no use of it. */
static void gfs2_saw_mode(struct gfs2_shot *s, enum gfs2_state mode, uint32_t sample)
{
	if (mode == GFS2_EX)
		s->ex_seen = sample;
	else if (mode == GFS2_SH || mode == GFS2_DF)
		s->sh_seen = sample;
}

/*
 * Notes a mode that a process waits for. It counts as a use once the wait is over. `followed`: the
 * wait is the one that the sample before showed. Otherwise that one is over.
 */
static void gfs2_saw_wish(struct gfs2_shot *s, enum gfs2_state mode, uint32_t sample, bool followed)
{
	uint32_t *wish = mode == GFS2_EX ? &s->ex_wish : &s->sh_wish;

	if (*wish && *wish != sample && !followed)
		gfs2_saw_mode(s, mode, *wish);
	*wish = sample;
}

/*
 * Adds the demand of another node, which the flag D shows. The kernel prints how old it is.
 *
 * - A node that has nothing has nothing to give.
 * - The iopen glock of a deleted file is demanded as long as the file is open. The node that
 *   deleted the file stopped waiting after 5 s.
 * - A flock(2) that does not wait leaves the same demand.
 *
 * A request in the DLM's queue waits in any case.
 */
static void gfs2_take_demand(struct source_sample *t, const struct lock *lock,
			     const struct gfs2_glock_line *l)
{
	static const struct {
		enum gfs2_state keeps; /* the mode that the node may keep */
		uint8_t wanted;        /* the DLM's mode that is asked for */
	} wanted[] = {{GFS2_UN, DLM_EX}, {GFS2_DF, DLM_CW}, {GFS2_SH, DLM_PR}};
	uint64_t us = l->demote_us < INT64_MAX / 4 ? l->demote_us : INT64_MAX / 4;

	if (!strchr(l->flags, 'D') ||
	    (!l->from_queue &&
	     (!us || l->type == GFS2_IOPEN || l->state == GFS2_UN || l->state == l->demote)))
		return;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (wanted[i].keeps == l->demote)
			demands_add(t,
				    &(struct demand){
					.lock = table_index(&t->ns->table, lock),
					.sample = t->sample,
					.seen_us = t->mono_us - (int64_t)us,
					.not_before_us = us ? t->mono_us - (int64_t)us : INT64_MIN,
					.shown_us = t->mono_us - (int64_t)us,
					.mode = wanted[i].wanted,
					.unproved = !us,
					.try = l->type == GFS2_FLOCK && !l->from_queue});
}

static const char *gfs2_take_glock(struct reading *r, const char *text, size_t len)
{
	struct source_sample *t = r->t;
	struct gfs2_glock_line l;
	const char *wrong = gfs2_glock_parse(&l, text, len);
	struct gfs2_shot *s;
	struct lock *lock;
	uint32_t at;

	/*
	 * A dump may end anywhere. This line shows that the glock before is there with all its
	 * lines.
	 */
	if (r->lock && !r->broken)
		r->lock->now.gfs2.holders_at = t->sample;
	r->lock = NULL;
	r->broken = false;
	if (!wrong && l.type >= GFS2_TYPE_MAX)
		wrong = "no such type of glock";
	if (wrong)
		return wrong;
	lock = table_take(&t->ns->table,
			  &(struct lock_id){.number = l.number, .type = (uint8_t)l.type});
	if (!lock)
		return strerror(ENOMEM);
	r->usable++;
	s = &lock->now.gfs2;
	if (s->glocks_at == t->sample)
		return NULL;
	r->listed_before = t->ns->last_sample && s->holders_at == t->ns->last_sample;
	s->glocks_at = t->sample;
	s->state = (uint8_t)l.state;
	s->giving_up = strpbrk(l.flags, "Ddp") != NULL;
	s->demote_ms =
	    l.demote_us / 1000 < UINT32_MAX ? (uint32_t)(l.demote_us / 1000) : UINT32_MAX;
	gfs2_saw_mode(s, l.state, t->sample);
	lock->now.sample = t->sample;
	gfs2_take_demand(t, lock, &l);
	at = lock->holders;
	r->before = at < t->ns->holders_before.n &&
			    t->ns->holders_before.list[at].lock == table_index(&t->ns->table, lock)
			? at
			: NONE;
	r->lock = lock;
	r->held = false;
	lock->holders = NONE;
	return NULL;
}

/* Returns the wait of the same process for the same mode in the sample before, or NULL. */
static struct holder *earlier(struct reading *r, const struct gfs2_holder_line *l)
{
	struct holders *before = &r->t->ns->holders_before;

	if (r->before == NONE)
		return NULL;
	for (uint32_t i = r->before;
	     i < before->n && before->list[i].lock == before->list[r->before].lock; i++) {
		struct holder *h = &before->list[i];

		if (h->waits && h->pid == l->pid && h->state == l->state)
			return h;
	}
	return NULL;
}

/*
 * Returns whether the glock was made anew since the sample before. The sign of it: the means
 * changed, because a request was answered, but no holder holds the glock.
 */
static bool made_anew(const struct reading *r)
{
	const struct change *c = table_changed(&r->t->ns->table, r->lock);
	const struct gfs2_shot *s = &r->lock->now.gfs2;

	return s->stats_at == r->t->sample && s->answered && !r->held && !(c && c->answers);
}

/*
 * Returns whether the wait of the sample before goes on. Two samples show one wait only if nothing
 * contradicts this:
 * - No request was answered, as far as the count of requests tells.
 * - If the means changed, the request under way was answered. Then a process can only wait for a
 *   holder on this node. Without such a holder the glock was made anew, with counters from 0.
 * - A holder without a process, as of flock(2), is recognized by the counters alone.
 */
static bool goes_on(const struct reading *r, const struct gfs2_holder_line *l)
{
	const struct change *c = table_changed(&r->t->ns->table, r->lock);
	const struct gfs2_shot *s = &r->lock->now.gfs2;

	if (c && c->answers)
		return false;
	if (!l->pid)
		return s->stats_at == r->t->sample && !s->answered && !s->queued;
	return s->stats_at != r->t->sample || !s->answered || r->held;
}

/* Takes over what the sample before tells of a wait. */
static void take_wait(struct reading *r, const struct gfs2_holder_line *l, struct holder *h)
{
	struct holder *was = earlier(r, l);

	if (was) {
		/* If this wait is another one, it is no older than the wait before. */
		h->not_before_us = was->not_before_us;
		h->followed = goes_on(r, l);
		if (made_anew(r))
			h->not_before_us = node_when(r->t->node, r->t->ns->last_sample)->mono_us;
	} else if (r->listed_before) {
		/* The sample before listed the glock without this wait. */
		h->not_before_us = node_when(r->t->node, r->t->ns->last_sample)->mono_us;
	}
	if (!h->followed)
		return;
	h->seen_us = was->seen_us;
	h->dlm_id = was->dlm_id;
	was->waits = false; /* it goes on, so it is not among those that ended */
}

static const char *gfs2_take_holder(struct reading *r, const char *text, size_t len)
{
	struct source_sample *t = r->t;
	struct holders *all = &t->ns->holders;
	struct gfs2_holder_line l;
	const char *wrong = gfs2_holder_parse(&l, text, len);
	struct holder *h;

	if (wrong || !r->lock)
		return wrong;
	if (!grow(&all->list, all->n, &all->room, sizeof(*all->list)))
		return strerror(ENOMEM);
	h = &all->list[all->n];
	*h = (struct holder){.lock = table_index(&t->ns->table, r->lock),
			     .state = (uint8_t)l.state,
			     .waits = l.waits,
			     .pid = l.pid,
			     .seen_us = t->mono_us,
			     .not_before_us = INT64_MIN};
	snprintf(h->comm, sizeof(h->comm), "%.19s", l.comm);
	if (h->waits) {
		take_wait(r, &l, h);
		gfs2_saw_wish(&r->lock->now.gfs2, l.state, t->sample, h->followed);
	} else {
		gfs2_saw_mode(&r->lock->now.gfs2, l.state, t->sample);
		r->held = true;
	}
	if (r->lock->holders == NONE)
		r->lock->holders = all->n;
	all->n++;
	return NULL;
}

static const char *gfs2_take_inode(struct reading *r, const char *text, size_t len)
{
	struct gfs2_inode_line l;
	const char *wrong = gfs2_inode_parse(&l, text, len);

	if (wrong || !r->lock)
		return wrong;
	r->lock->kind = (uint8_t)l.dtype;
	if (l.has_size)
		r->lock->size = l.size;
	/* a file handle needs this beside the address */
	r->lock->generation = l.formal <= UINT32_MAX ? (uint32_t)l.formal : 0;
	if (l.disk_flags & GFS2_DIF_SYSTEM)
		r->lock->attributes |= LOCK_SYSTEM;
	else
		r->lock->attributes &= (uint8_t)~LOCK_SYSTEM;
	return NULL;
}

static bool starts(const char *text, size_t len, const char *with)
{
	size_t n = strlen(with);

	return len >= n && memcmp(text, with, n) == 0;
}

static bool gfs2_take_line(void *arg, const char *text, size_t len, size_t number, bool complete)
{
	struct reading *r = arg;
	const char *wrong;

	if (!complete)
		wrong = "the line is cut off";
	else if (starts(text, len, "G:"))
		wrong = gfs2_take_glock(r, text, len);
	else if (starts(text, len, " H:"))
		wrong = gfs2_take_holder(r, text, len);
	else if (starts(text, len, " I:"))
		wrong = gfs2_take_inode(r, text, len);
	else if (starts(text, len, " R:") || starts(text, len, "  L:") ||
		 starts(text, len, " B:") || starts(text, len, "  B:"))
		wrong = NULL; /* how full a resource group is; locks do not depend on it */
	else
		wrong = "neither a glock nor a part of one";
	if (wrong) {
		problem(r->t->problems, r->label, number, "%s", wrong);
		r->broken = true;
	}
	return true;
}

/* Returns whether a mode was seen lately, or was waited for lately and is not any more. */
static bool seen_lately(const struct source_sample *t, uint32_t seen, uint32_t wish)
{
	return (seen && t->sample - seen <= SEEN_SAMPLES) ||
	       (wish && wish != t->sample && t->sample - wish <= SEEN_SAMPLES);
}

/* Infers readers and writers from the modes in which the glock was seen lately. */
static void gfs2_add_modes(struct source_sample *t)
{
	struct table *table = &t->ns->table;

	for (uint32_t i = 0; i < table->n_active; i++) {
		const struct lock *lock = table_lock(table, table->active[i].lock);
		const struct gfs2_shot *s = &lock->now.gfs2;
		struct change *c = &table->active[i].change;

		if (lock->id.type != GFS2_INODE)
			continue;
		c->seen = true;
		c->wrote = seen_lately(t, s->ex_seen, s->ex_wish);
		c->read = seen_lately(t, s->sh_seen, s->sh_wish);
	}
}

/* ---- a sample ------------------------------------------------------------------------------ */

/*
 * Reads one file. Returns false if there is none. Reports a file that is there and holds no usable
 * line, whether or not it is needed.
 */
static bool gfs2_read_file(struct reading *r, enum file_kind kind, input_line_fn *each, bool needed)
{
	static const char *const names[FILE_KINDS] = {
	    [FILE_GLOCKS] = "glocks", [FILE_GLSTATS] = "glstats", [FILE_SBSTATS] = "sbstats"};
	struct source_sample *t = r->t;
	struct input in;
	int err = t->collector->ops->open(t->collector, t->from, t->from_space, kind, &in);

	r->usable = 0;
	if (err) {
		if (needed || err != -ENOENT)
			problem(t->problems, t->from->name, 0, "%s: %s: %s", t->from_space->name,
				names[kind], strerror(-err));
		return false;
	}
	r->label = in.label;
	err = input_lines(&in, each, r);
	if (err)
		problem(t->problems, in.label, 0, "%s", strerror(-err));
	else if (kind != FILE_SBSTATS && !r->usable)
		problem(t->problems, in.label, 0, "no line is usable");
	return true;
}

static bool take_sbstats(void *arg, const char *text, size_t len, size_t number, bool complete)
{
	struct reading *r = arg;
	struct gfs2_sbstats_line l;
	const char *wrong = complete ? gfs2_sbstats_parse(&l, text, len) : "the line is cut off";

	if (wrong)
		problem(r->t->problems, r->label, number, "%s", wrong);
	else
		r->usable++;
	if (!wrong)
		gfs2_flock_take(&r->flocks, &l);
	return true;
}

/*
 * Decides whether a flock's wait goes on that two samples showed. Its holder has no name, and its
 * glock is made anew for each lock, with the means of the type. If the totals of the type tell that
 * a flock of the node was queued in between, the wait may have begun after the sample before.
 */
static void follow_flocks(struct source_sample *t, const struct flock_total *flocks)
{
	struct holders *all = &t->ns->holders;

	if (!flocks->acquired)
		return;
	for (uint32_t i = 0; i < all->n; i++) {
		struct holder *h = &all->list[i];

		if (!h->waits || h->pid || !h->followed)
			continue;
		h->followed = false;
		h->seen_us = t->mono_us;
		h->not_before_us = node_when(t->node, t->ns->last_sample)->mono_us;
	}
}

static void swap_holders(struct node_space *ns)
{
	struct holders before = ns->holders_before;

	ns->holders_before = ns->holders;
	ns->holders = before;
}

static void gfs2_take(struct source_sample *t)
{
	struct node_space *ns = t->ns;
	struct reading r = {.t = t,
			    .baseline = ns->last_sample && ns->whole_stats == ns->last_sample};
	size_t stats, glocks;
	struct flock_total flocks;
	bool single = !t->from->has_clock;

	swap_holders(ns);
	ns->holders.n = 0;
	demands_begin(ns);
	r.traced = gfs2_take_trace(t);
	gfs2_read_file(&r, FILE_GLSTATS, take_stats, !single);
	stats = r.usable;
	if (stats && !r.bad)
		ns->whole_stats = t->sample;
	ns->table.last = NONE;
	gfs2_read_file(&r, FILE_GLOCKS, gfs2_take_line, !single);
	glocks = r.usable;
	gfs2_read_file(&r, FILE_SBSTATS, take_sbstats, false);
	flocks = gfs2_flock_total(t, &r.flocks);
	if (glocks) {
		follow_flocks(t, &flocks);
		gfs2_take_waits(t, r.traced);
		if (!r.traced) {
			gfs2_raise_estimates(t);
			flock_estimate(t, GFS2_FLOCK, &flocks);
		}
	} else if (!stats) /* the next sample is compared with the last one that was read */
		swap_holders(ns);
	demands_end(t);
	gfs2_add_modes(t);
	ns->lines = stats > glocks ? stats : glocks;
	ns->unusable = ns->lines == 0;
	ns->no_statistics = !stats && !single;
}

static int64_t gfs2_newest(struct source_sample *t)
{
	(void)t;
	return -1; /* no file of GFS2 holds the time */
}

/* ---- names --------------------------------------------------------------------------------- */

static struct row_id gfs2_row(const struct lock *lock)
{
	switch (lock->id.type) {
	case GFS2_INODE:
	case GFS2_IOPEN:
	case GFS2_FLOCK:
	case GFS2_PLOCK: /* no glock of the kernel has this type */
		return (struct row_id){0, lock->id.number};
	case GFS2_NONDISK:
		return (struct row_id){GFS2_NONDISK, lock->id.number};
	default: /* their use together says more than each of them */
		return (struct row_id){lock->id.type ? lock->id.type : UINT8_MAX, 0};
	}
}

static void gfs2_class_name(struct row_id row, char *buf, size_t size)
{
	static const char *const nondisk[] = {"mount",  "live",    "freeze",
					      "rename", "control", "mounted"};
	static const char *const rows[GFS2_TYPE_MAX] = {
	    [GFS2_RGRP] = "resource groups",
	    [GFS2_META] = "meta glocks",
	    [GFS2_QUOTA] = "quota",
	    [GFS2_JOURNAL] = "journals",
	};

	if (row.class == GFS2_NONDISK && row.number < sizeof(nondisk) / sizeof(nondisk[0]))
		snprintf(buf, size, "%s", nondisk[row.number]);
	else if (row.class == GFS2_NONDISK)
		snprintf(buf, size, "nondisk glock %llu", (unsigned long long)row.number);
	else
		snprintf(buf, size, "%s",
			 row.class < GFS2_TYPE_MAX && rows[row.class] ? rows[row.class]
								      : "reserved glocks");
}

static const char *gfs2_type_name(uint8_t type)
{
	static const char *const names[GFS2_TYPE_MAX] = {"RESERVED", "NONDISK", "INODE", "RGRP",
							 "META",     "IOPEN",   "FLOCK", "PLOCK",
							 "QUOTA",    "JOURNAL"};

	return type < GFS2_TYPE_MAX ? names[type] : "UNKNOWN";
}

static void gfs2_lock_name(const struct lock *lock, char *buf, size_t size)
{
	snprintf(buf, size, "%u/%llx", lock->id.type, (unsigned long long)lock->id.number);
}

static bool gfs2_is_system(const struct space *space, const struct lock *lock)
{
	(void)space;
	return lock->attributes & LOCK_SYSTEM;
}

/* Returns the formal inode number. */
static uint32_t gfs2_generation(const struct table *t, uint64_t inode)
{
	const struct lock *lock =
	    table_find(t, &(struct lock_id){.number = inode, .type = GFS2_INODE});

	return lock ? lock->generation : 0;
}

const struct source gfs2_source = {
    .name = "gfs2",
    .take = gfs2_take,
    .newest = gfs2_newest,
    .row = gfs2_row,
    .class_name = gfs2_class_name,
    .type_name = gfs2_type_name,
    .lock_name = gfs2_lock_name,
    .describing = "\2\5",
    .is_system = gfs2_is_system,
    .caching = "\2",
    .generation = gfs2_generation,
    .sentence = gfs2_sentence,
    .plocks = GFS2_PLOCK,
    .flocks = GFS2_FLOCK,
};
