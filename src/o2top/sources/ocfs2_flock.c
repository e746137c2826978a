/* SPDX-License-Identifier: MIT */
/*
 * ocfs2_flock.c - flocks of OCFS2: the processes that have them, and their waits.
 *
 * The kernel prints a line for each open file that flock(2) may lock. All lines of an inode have
 * the same name, and their order changes while files are opened and closed. So a line is not
 * compared with the line before. A wait is recognized by the stamp of its begin. The lines have no
 * counters, but a wait always has a stamp.
 */
#include "ocfs2_impl.h"

#include "flock.h"
#include "o2top/base/grow.h"
#include "o2top/model/demands.h"
#include "o2top/sources/lines/dlm_line.h"

#include <stdlib.h>

enum { KEPT_SAMPLES = 16 }; /* a wait whose flock the kernel does not list is kept so long */

bool ocfs2_flock_held(const struct ocfs2_shot *s)
{
	return s->level >= OCFS2_LEVEL_PR && !ocfs2_busy(s) && !s->wait_us;
}

/* Returns how much a line tells: a process has the flock, gives it up, or waits for it. */
static int rank_of(const struct ocfs2_shot *s)
{
	if (ocfs2_flock_held(s))
		return 16 + s->level;
	if (s->action == OCFS2_ACT_DOWNCONVERT)
		return 2;
	return s->wait_us != 0;
}

void ocfs2_flock_take(struct source_sample *t, struct lock *lock, const struct ocfs2_shot *s)
{
	struct flock_lines *now = &t->ns->flock_lines;
	struct ocfs2_shot *shot = &lock->now.ocfs2;
	uint8_t lines, before;

	if (lock->now.sample != t->sample) {
		lines = 0;
		before = lock->now.sample == t->ns->last_sample ? shot->lines : 0;
		*shot = *s;
	} else {
		lines = shot->lines;
		before = shot->lines_before;
		if (rank_of(s) > rank_of(shot))
			*shot = *s;
	}
	shot->lines = lines < UINT8_MAX ? lines + 1 : lines;
	shot->lines_before = before;
	lock->now.sample = t->sample;
	if (!s->wait_us || !grow(&now->list, now->n, &now->room, sizeof(*now->list)))
		return;
	now->list[now->n++] = (struct flock_line){.lock = table_index(&t->ns->table, lock),
						  .sample = t->sample,
						  .wait_us = s->wait_us,
						  .wants_ex = s->requested == OCFS2_LEVEL_EX,
						  .gives_up = s->action == OCFS2_ACT_DOWNCONVERT};
}

/* ---- two samples --------------------------------------------------------------------------- */

static int by_stamp(const void *a, const void *b)
{
	const struct flock_line *x = a, *y = b;

	if (x->lock != y->lock)
		return x->lock < y->lock ? -1 : 1;
	return (x->wait_us > y->wait_us) - (x->wait_us < y->wait_us);
}

static void add_waiting(struct source_sample *t, const struct flock_line *w,
			const struct flock_line *was)
{
	struct lock *lock = table_lock(&t->ns->table, w->lock);
	const struct ocfs2_shot *s = &lock->now.ocfs2;
	double age = seconds(t->real_us - (int64_t)w->wait_us), dt = t->whole_s;
	struct change *c = table_change(&t->ns->table, lock);

	if (!c)
		return;
	if (was)
		dt = seconds(t->mono_us - node_when(t->node, was->sample)->mono_us);
	else if (s->lines == 1 && s->lines_before == 1 && !t->first)
		/* The wait began after the sample before, whatever the clock says. */
		age = min_s(age, dt);
	change_add_wait(c, age, age, t->first ? 0 : t->frame_s);
	if (t->first) {
		c->lost_s += age;
	} else {
		change_add_lost(c, min_s(age, dt), share_of_frame(t, dt));
		flock_note_wait(c, age, dt);
	}
	if (!w->gives_up)
		change_add_wish(c, w->wants_ex);
}

/*
 * Adds a wait that ended. If it was at least as old as a frame, it was measured until the sample
 * before. Its rest ended at some moment of dt, before the next wait of the same file began. So the
 * rest is half of this time in the mean. The estimate of flock.c holds shorter waits.
 */
static void flock_add_ended(struct source_sample *t, const struct flock_line *was)
{
	struct lock *lock = table_lock(&t->ns->table, was->lock);
	const struct moment *then = node_when(t->node, was->sample);
	const struct ocfs2_shot *s = &lock->now.ocfs2;
	double age = seconds(then->real_us - (int64_t)was->wait_us),
	       dt = seconds(t->mono_us - then->mono_us), next = 0;
	struct change *c = table_change(&t->ns->table, lock);

	wait_counts_add(&t->ns->ended, age);
	if (!c)
		return;
	change_add_longest(c, age, false);
	if (age < dt || t->first)
		return;
	if (s->lines == 1 && s->wait_us)
		next = min_s(seconds(t->real_us - (int64_t)s->wait_us), dt);
	change_add_lost(c, (dt - next) / 2, share_of_frame(t, dt));
	c->estimated_s += (dt - next) / 2;
}

/* Keeps a wait for later if this sample does not list its flock. Returns whether it did so. */
static bool keep_unlisted(struct source_sample *t, const struct flock_line *was)
{
	struct flock_lines *now = &t->ns->flock_lines;

	if (table_lock(&t->ns->table, was->lock)->now.sample == t->sample)
		return false;
	if (t->sample - was->sample < KEPT_SAMPLES &&
	    grow(&now->list, now->n, &now->room, sizeof(*now->list)))
		now->list[now->n++] = *was;
	return true;
}

static void sort(struct flock_lines *l)
{
	if (l->n)
		qsort(l->list, l->n, sizeof(*l->list), by_stamp);
}

void ocfs2_flock_settle(struct source_sample *t)
{
	struct flock_lines *now = &t->ns->flock_lines, *before = &t->ns->flock_lines_before, swap;
	size_t n = now->n, b = 0;

	sort(now);
	for (size_t i = 0; i <= n; i++) {
		const struct flock_line *was = NULL;

		for (; b < before->n && (i == n || by_stamp(&before->list[b], &now->list[i]) < 0);
		     b++)
			if (!keep_unlisted(t, &before->list[b]))
				flock_add_ended(t, &before->list[b]);
		if (i == n)
			break;
		if (b < before->n && by_stamp(&before->list[b], &now->list[i]) == 0)
			was = &before->list[b++];
		add_waiting(t, &now->list[i], was);
	}
	sort(now);
	swap = *before;
	*before = *now;
	*now = swap;
	now->n = 0;
}

/* ---- requests of other nodes --------------------------------------------------------------- */

/*
 * No flag of locking_state tells such a request, because a flock is given up only by its holder.
 * The dump of o2cb's DLM on the master has it. Live nodes are not asked for the dump, because the
 * waiting node is watched as a rule. No dump tells since when the request waits.
 */
struct asked {
	struct source_sample *t;
	struct lock *lock; /* of the lines that are being read; NULL: no process holds it */
	int holder;        /* the node that has it, or -1 */
	bool told;
};

static void take_request(struct asked *a, const struct o2dlm_line *l)
{
	int mode = l->convert > l->type ? l->convert : l->type;
	const struct demand *was;

	if (l->queue == O2DLM_GRANTED) {
		a->holder = l->type > 0 ? l->node : a->holder;
		return;
	}
	if (a->told || l->node == a->holder ||
	    (mode != OCFS2_LEVEL_EX && a->lock->now.ocfs2.level != OCFS2_LEVEL_EX))
		return;
	a->told = true;
	was = demands_before(a->t->ns, table_index(&a->t->ns->table, a->lock));
	demands_add(a->t, &(struct demand){.lock = table_index(&a->t->ns->table, a->lock),
					   .sample = a->t->sample,
					   .seen_us = a->t->mono_us,
					   .shown_us = was ? was->shown_us : a->t->mono_us,
					   .not_before_us = INT64_MIN,
					   .mode = (uint8_t)mode,
					   .unproved = true,
					   .try = true});
}

static bool flock_take_asked(void *arg, const char *line, size_t len, size_t number, bool complete)
{
	struct asked *a = arg;
	struct o2dlm_line l;

	(void)number;
	if (!complete || o2dlm_parse(&l, line, len))
		return true;
	if (l.what == O2DLM_NAME) {
		a->lock = l.id.type == 'F' ? table_find(&a->t->ns->table, &l.id) : NULL;
		if (a->lock &&
		    (a->lock->now.sample != a->t->sample || !ocfs2_flock_held(&a->lock->now.ocfs2)))
			a->lock = NULL;
		a->holder = -1;
		a->told = false;
	} else if (l.what == O2DLM_LOCK && a->lock) {
		take_request(a, &l);
	}
	return true;
}

void ocfs2_flock_asked(struct source_sample *t)
{
	struct asked a = {.t = t};

	if (!t->collector->ops->live && t->ns->table.types['F'])
		collect_lines(t->collector, t->from, t->from_space, FILE_O2DLM, flock_take_asked,
			      &a);
}
