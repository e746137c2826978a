/* SPDX-License-Identifier: MIT */
/*
 * gfs2_estimate.c - computes GFS2's time of waiting from two readings of a smoothed mean.
 */
#include "gfs2_estimate.h"

#include <math.h>
#include <stddef.h>

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
