/* SPDX-License-Identifier: MIT */
/*
 * gfs2_estimate.c - computes GFS2's time of waiting from two readings of smoothed means.
 */
#include "gfs2_impl.h"

#include "o2top/base/grow.h"

#include <math.h>
#include <stdlib.h>

enum {
	TRUSTED_REQUESTS = 8,  /* below this, srttb is mostly inherited from other glocks */
	FORGOTTEN_AFTER = 128, /* after so many requests, nothing inherited is left */
};

bool gfs2_estimate(const struct gfs2_mean *before, const struct gfs2_mean *now, double *total_s,
		   double *mean_s)
{
	uint64_t requests = now->dcount - (before ? before->dcount : 0);
	double n = requests > 2 ? (double)requests / 2 : 1, kept = pow(7.0 / 8.0, n),
	       mean = (double)now->srttb;

	if (!requests || now->dcount < TRUSTED_REQUESTS || now->srttb < 0)
		return false;
	if (before && before->srttb == now->srttb && before->srttvarb == now->srttvarb)
		return false;
	if (!before && now->dcount < FORGOTTEN_AFTER)
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
