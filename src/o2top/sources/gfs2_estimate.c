/* SPDX-License-Identifier: MIT */
/*
 * gfs2_estimate.c - computes GFS2's time of waiting from two readings of smoothed means, and from
 * the waits that samples show.
 */
#include "gfs2_impl.h"

#include "o2top/base/grow.h"

#include <math.h>
#include <stdlib.h>

enum { OWN_AFTER = 16 }; /* after so many requests, most of the mean is the glock's own */

/*
 * Returns how many of a glock's requests took the lock, and could wait. The others gave the lock
 * up. A node that takes SH and then EX waits twice before it gives. In traces of seven loads 54 to
 * 61 % of a busy glock's requests took.
 */
static double taking(uint64_t requests)
{
	return requests > 1 ? (double)requests * 4 / 7 : 1;
}

bool gfs2_estimate(const struct gfs2_mean *before, const struct gfs2_mean *now, double *total_s,
		   double *mean_s)
{
	uint64_t requests = now->dcount - (before ? before->dcount : 0);
	double n = taking(requests), kept = pow(7.0 / 8.0, n), mean = (double)now->srttb;

	if (!requests || now->srttb < 0 || (!before && now->dcount < OWN_AFTER))
		return false;
	if (before && before->srttb == now->srttb && before->srttvarb == now->srttvarb)
		return false;
	if (before)
		mean = ((double)now->srttb - (double)before->srttb * kept) / (1 - kept);
	*mean_s = mean > 0 ? 1e-9 * mean : 0;
	*total_s = n * *mean_s;
	return true;
}

/* ---- all flocks of a node ------------------------------------------------------------------ */

/*
 * A flock asks the DLM once for each lock, because its glock is new. So the requests that waited
 * are as many as the holders that were queued. Their mean time is srttb, which forgets: the mean of
 * two samples stands for the frame between them.
 */

void gfs2_flock_take(struct gfs2_flock_totals *now, const struct gfs2_sbstats_line *l)
{
	if (l->type != GFS2_FLOCK)
		return;
	for (uint32_t cpu = 0; cpu < l->n_cpus; cpu++) {
		if (cpu >= now->room && !grow(&now->list, cpu, &now->room, sizeof(*now->list)))
			return;
		if (cpu >= now->n)
			now->list[now->n++] = (struct flock_totals){0};
		if (l->stat == GFS2_SRTTB)
			now->list[cpu].srttb = (int64_t)l->value[cpu];
		else if (l->stat == GFS2_DCOUNT)
			now->list[cpu].requests = l->value[cpu];
		else if (l->stat == GFS2_QCOUNT)
			now->list[cpu].queued = l->value[cpu];
	}
}

static void add_cpu(struct flock_total *total, const struct flock_totals *before,
		    const struct flock_totals *now)
{
	uint64_t queued, requests;

	if (now->queued < before->queued || now->requests < before->requests)
		return; /* the file system was mounted anew */
	queued = now->queued - before->queued;
	requests = now->requests - before->requests;
	total->acquired += queued;
	total->lost_s += 1e-9 * (double)(queued < requests ? queued : requests) *
			 max_s(((double)before->srttb + (double)now->srttb) / 2, 0);
}

struct flock_total gfs2_flock_total(const struct source_sample *t, struct gfs2_flock_totals *now)
{
	struct flocks *f = &t->ns->flocks;
	uint32_t n = f->n_totals < now->n ? f->n_totals : now->n;
	struct flock_total total = {.lost_s = n ? 0 : NAN};

	for (uint32_t cpu = 0; cpu < n; cpu++)
		add_cpu(&total, &f->totals[cpu], &now->list[cpu]);
	free(f->totals);
	f->totals = now->list;
	f->n_totals = now->n;
	return total;
}

/* ---- all processes that wait ---------------------------------------------------------------- */

/*
 * The means of glstats tell how long requests to the DLM took. A glock has one request at a time,
 * however many processes wait for it, and the mean of a frame is that of its last requests. A
 * process also waits while its own node gives the lock up. The samples tell how many processes wait
 * at one moment, but a busy node shows more of them, because the sample takes its time. So the mean
 * of two estimates counts, which err for different reasons:
 *
 * - the time of the requests, times the processes that a sample with a wait shows;
 * - the waits of the last samples. Of a single glock these are few, so the glock's waits count
 *   together with PRIOR waits that have the node's ratio of waits to time.
 */

/* So many waits at the ratio of all glocks count as much as those of a glock; of a node, at 1. */
#define PRIOR 2.0
#define LEAST_PER_S 1e-3 /* less is no traffic */

static int by_lock(const void *a, const void *b)
{
	uint32_t x = ((const struct queue_seen *)a)->lock, y = ((const struct queue_seen *)b)->lock;

	return (x > y) - (x < y);
}

struct queue_sums {
	double waits, lost; /* of all samples in the window */
	unsigned with;      /* samples that show a wait */
	unsigned most;      /* the most waits of one sample */
};

static struct queue_sums sums_of(const struct queue_seen *seen)
{
	struct queue_sums s = {0};

	for (unsigned i = 0; i < FLOCK_WINDOW; i++) {
		s.waits += seen->waits[i];
		s.lost += seen->lost[i];
		s.with += seen->waits[i] > 0;
		s.most = seen->waits[i] > s.most ? seen->waits[i] : s.most;
	}
	return s;
}

/* Returns whether the DLM's means tell the time that a glock lost in this frame. */
static bool is_estimated(const struct lock *lock, const struct change *c)
{
	return lock->id.type != GFS2_FLOCK && lock->id.type != GFS2_PLOCK && !c->measured;
}

/* Remembers the waits and the estimates of this sample. */
static void remember(struct source_sample *t, unsigned at)
{
	struct queues *q = &t->ns->queues;
	const struct table *table = &t->ns->table;
	size_t known = q->n, kept = 0;

	for (size_t i = 0; i < q->n; i++) {
		q->list[i].waits[at] = 0;
		q->list[i].lost[at] = 0;
	}
	for (uint32_t i = 0; i < table->n_active; i++) {
		const struct change *c = &table->active[i].change;
		struct queue_seen new = {.lock = table->active[i].lock}, *seen;
		double lost = c->estimated_s / t->whole_s;

		if (!is_estimated(table_lock(table, new.lock), c) ||
		    (!c->waiting && lost < LEAST_PER_S))
			continue;
		seen = known ? bsearch(&new, q->list, known, sizeof(new), by_lock) : NULL;
		if (!seen && grow(&q->list, q->n, &q->room, sizeof(new))) {
			seen = &q->list[q->n++];
			*seen = new;
		}
		if (!seen)
			continue;
		seen->waits[at] = (uint8_t)(c->waiting < UINT8_MAX ? c->waiting : UINT8_MAX);
		seen->lost[at] = (float)lost;
	}
	for (size_t i = 0; i < q->n; i++) {
		struct queue_sums s = sums_of(&q->list[i]);

		if (s.with || s.lost > 0)
			q->list[kept++] = q->list[i];
	}
	q->n = kept;
	if (kept)
		qsort(q->list, kept, sizeof(*q->list), by_lock);
}

static void raise_one(struct source_sample *t, const struct queue_seen *seen, double ratio)
{
	struct queue_sums s = sums_of(seen);
	struct lock *lock = table_lock(&t->ns->table, seen->lock);
	struct change *c = table_changed(&t->ns->table, lock);
	double length = (s.waits + 1) / (s.with + 1), factor, more, most;

	if (!c || !(c->estimated_s > 0) || !is_estimated(lock, c))
		return;
	factor = max_s((length + (s.waits + PRIOR * ratio) / (s.lost + PRIOR)) / 2, 1);
	/* No more processes wait than a sample showed at once, and one at least. */
	most = t->whole_s * (s.most > 1 ? s.most : 1);
	more = min_s((factor - 1) * c->estimated_s, max_s(most - c->lost_s, 0));
	c->late_s += more * c->late_s / c->lost_s;
	c->lost_s += more;
	c->estimated_s += more;
	c->queued = s.most;
}

/*
 * Estimates the time of inodes whose glock is new and was asked for in SH alone, as a scan of a
 * directory asks for each file. Such a glock has the mean of the node's last requests, which were
 * of its kind. The mean tells nothing of a file that the node made itself, in EX and at once.
 */
static void estimate_new(struct source_sample *t)
{
	const struct table *table = &t->ns->table;

	for (uint32_t i = 0; i < table->n_active; i++) {
		const struct lock *lock = table_lock(table, table->active[i].lock);
		const struct gfs2_shot *s = &lock->now.gfs2;
		struct change *c = &table->active[i].change;
		double total_s = 1e-9 * (double)s->srttb * taking(s->dcount);

		if (lock->id.type != GFS2_INODE || !s->dcount || c->requests != s->dcount ||
		    c->lost_s > 0 || total_s <= 0 || s->sh_seen != t->sample || s->ex_seen)
			continue;
		change_add_lost(c, min_s(total_s, t->whole_s), share_of_frame(t, t->whole_s));
		c->estimated_s = c->lost_s;
	}
}

void gfs2_raise_estimates(struct source_sample *t)
{
	struct queues *q = &t->ns->queues;
	double waits = 0, lost = 0;

	if (t->first || t->whole_s <= 0)
		return;
	estimate_new(t);
	remember(t, q->reads++ % FLOCK_WINDOW);
	for (size_t i = 0; i < q->n; i++) {
		struct queue_sums s = sums_of(&q->list[i]);

		waits += s.waits;
		lost += s.lost;
	}
	for (size_t i = 0; i < q->n; i++)
		raise_one(t, &q->list[i], (waits + PRIOR) / (lost + PRIOR));
}
