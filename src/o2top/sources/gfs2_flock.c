/* SPDX-License-Identifier: MIT */
/*
 * gfs2_flock.c - the time that all flocks of a node lost, from the totals in sbstats.
 *
 * A flock asks the DLM once for each lock, because its glock is new. So the requests that waited
 * are as many as the holders that were queued. Their mean time is srttb, which forgets: the mean of
 * two samples stands for the frame between them.
 */
#include "gfs2_flock.h"

#include "o2top/base/grow.h"

#include <math.h>
#include <stdlib.h>

void gfs2_flock_take(struct gfs2_flock_totals *now, const struct gfs2_sbstats_line *l)
{
	if (l->type != GFS2_FLOCK)
		return;
	for (uint32_t cpu = 0; cpu < l->n_cpus; cpu++) {
		if (cpu >= now->room &&
		    !grow(&now->list, cpu, &now->room, sizeof(*now->list)))
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
