/* SPDX-License-Identifier: MIT */
/*
 * latch.h - a lock among the threads of one process. It costs one locked instruction, because its
 * release is a plain store.
 *
 * Ordering: take is acquire, drop is release. A latch is not recursive and knows no owner. It does
 * not spin, because it is hardly ever contended. A thread that finds the latch taken counts itself
 * and sleeps. The owner reads that count before its release, so it may miss a sleeper. Therefore a
 * sleeper tries again after LATCH_AGAIN_NS.
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

/*
 * Does not touch the latch after the store. A thread that waited for the owner may have freed the
 * latch by then. The wake-up uses the address only.
 */
GLOCK__INLINE void latch_drop(struct latch *latch)
{
	bool sleepers = atom_load32(&latch->sleepers);

	assert(atom_load32(&latch->taken));
	atom_store32(&latch->taken, 0);
	if (sleepers)
		atom_wake_own(&latch->taken, 1);
}

#endif
