/* SPDX-License-Identifier: MIT */
/*
 * local_latch.h - a lock among the threads of one process, which costs one locked instruction: a release
 * is a plain store.
 *
 * Ordering: take is acquire, drop is release. Not recursive, knows no owner, and spins not at all,
 * since it is hardly ever contended. Who finds it taken counts itself and sleeps. Who lets go looks
 * whether anybody sleeps, but does not wait until its store is seen by all: so a wake-up may be
 * missed, and who sleeps looks again after LATCH_AGAIN_NS.
 */
#ifndef GLOCK_LOCKMAN_LOCAL_LATCH_H
#define GLOCK_LOCKMAN_LOCAL_LATCH_H

#include "atom.h"

#include <assert.h>

struct latch {
	uint32_t taken;
	uint32_t sleepers;
};

void glock__latch_slow(struct latch *latch);

static inline void latch_take(struct latch *latch)
{
	uint32_t no = 0;

	if (!atom_cas32(&latch->taken, &no, 1))
		glock__latch_slow(latch);
}

static inline void latch_drop(struct latch *latch)
{
	assert(atom_load32(&latch->taken));
	atom_store32(&latch->taken, 0);
	if (atom_load32(&latch->sleepers))
		atom_wake_own(&latch->taken, 1);
}

#endif
