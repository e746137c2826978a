/* SPDX-License-Identifier: MIT */
/*
 * flock.h - estimates the time that flock(2) lost, for the sources of OCFS2 and GFS2.
 */
#ifndef O2TOP_FLOCK_H
#define O2TOP_FLOCK_H

#include "o2top/model/source.h"

/* The sums of all flocks of a node in the frame. */
struct flock_total {
	double lost_s; /* NAN: not known */
	uint64_t acquired;
};

/*
 * Estimates the time lost in this frame by each flock that a sample showed with a wait lately.
 * `type` is the type of the flocks' Locks. Call this after all waits were added.
 *
 * The flocks share the total by the waits that samples showed. Without a total, a flock lost the
 * time of its mean number of waits.
 */
void flock_estimate(struct source_sample *t, uint8_t type, const struct flock_total *total);

#endif
