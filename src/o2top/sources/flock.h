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
 * Notes a wait in progress whose age is known, but whose end no counter will tell. If the wait is
 * at least as old as the `length` of the time since the Shot before, it is measured from now on.
 */
static inline void flock_note_wait(struct change *c, double age, double length)
{
	if (length > 0 && age >= length)
		c->measured++;
	else
		c->young_s += min_s(age, length);
}

/*
 * Estimates the time lost in this frame by each flock that a sample showed with a wait lately.
 * `type` is the type of the flocks' Locks. Call this after all waits were added.
 *
 * The flocks share the total by the waits that samples showed. Without a total, a flock lost the
 * time of its mean number of waits. After FLOCK_WINDOW samples both are known. Then their mean
 * counts, because they err for different reasons.
 */
void flock_estimate(struct source_sample *t, uint8_t type, const struct flock_total *total);

#endif
