/* SPDX-License-Identifier: MIT */
/*
 * latch.h - a lock among the threads of one process, which costs one locked instruction: a release
 * is a plain store.
 *
 * Ordering: take is acquire, drop is release. Not recursive, knows no owner, and spins not at all,
 * since it is hardly ever contended. Who finds it taken counts itself and sleeps. Who lets go looks
 * before whether anybody sleeps: so a wake-up may be missed, and who sleeps looks again after
 * LATCH_AGAIN_NS.
 */
#ifndef GLOCK__LATCH_H
#define GLOCK__LATCH_H

#include "atom.h"

#include <assert.h>

struct latch {
	uint32_t taken;
	uint32_t sleepers;
};

GLOCK__COLD void glock__latch_slow(struct latch *latch);

GLOCK__INLINE bool latch_try(struct latch *latch)
{
	uint32_t no = 0;

	return atom_cas32(&latch->taken, &no, 1);
}

GLOCK__INLINE void latch_take(struct latch *latch)
{
	if (!latch_try(latch))
		glock__latch_slow(latch);
}

/* Not touched after the store: by then whoever waited for its holder may have freed it. */
GLOCK__INLINE void latch_drop(struct latch *latch)
{
	bool sleepers = atom_load32(&latch->sleepers);

	assert(atom_load32(&latch->taken));
	atom_store32(&latch->taken, 0);
	if (sleepers)
		atom_wake_own(&latch->taken, 1);
}

#endif
