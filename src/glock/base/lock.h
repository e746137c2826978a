/* SPDX-License-Identifier: MIT */
/*
 * lock.h - the lock that the library uses for its own fields: four bytes, knows its owner.
 *
 * Documents call it the spinlock. A thread holds it for a few instructions, and never across a call
 * that may block. A thread that waits spins for a moment and then sleeps, because the owner may
 * lose its CPU. Not recursive. Ordering: lock is acquire, unlock is release.
 *
 * The word is the number of the owner, or 0. With the top bit set, a thread may be sleeping.
 */
#ifndef GLOCK__LOCK_H
#define GLOCK__LOCK_H

#include "base/atom.h"
#include "base/faults.h"
#include "tls.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#define GLOCK__LOCK_SLEEPERS 0x80000000u

struct glock__lock {
	uint32_t word;
};

GLOCK__COLD uint32_t glock__new_thread_number(void);

/* Returns the calling thread's number: not 0, not used again before 2^31 threads are gone. */
GLOCK__INLINE uint32_t glock__thread_number(void)
{
	uint32_t number = glock__tls()->id.number;

	return number ? number : glock__new_thread_number();
}

GLOCK__COLD void glock__lock_slow(struct glock__lock *l, uint32_t me);
GLOCK__COLD void glock__unlock_slow(struct glock__lock *l);

/* Sleeps until the word is not `seen`, or until the deadline (CLOCK_MONOTONIC, ns; 0: never). */
int glock__futex_wait(uint32_t *word, uint32_t seen, int64_t deadline);
void glock__futex_wake_one(uint32_t *word);
void glock__futex_wake_all(uint32_t *word);

static inline bool glock__lock_try(struct glock__lock *l)
{
	uint32_t none = 0;

	return atom_cas32(&l->word, &none, glock__thread_number());
}

GLOCK__INLINE void glock__lock_take(struct glock__lock *l)
{
	uint32_t none = 0, me = glock__thread_number();

	if (!atom_cas32(&l->word, &none, me))
		glock__lock_slow(l, me);
}

/*
 * Tells whether the calling thread has the lock. No other thread can change the answer, so this
 * load has no hook.
 */
GLOCK__INLINE bool glock__lock_held(const struct glock__lock *l)
{
	uint32_t word = __atomic_load_n(&l->word, __ATOMIC_RELAXED);

	return (word & ~GLOCK__LOCK_SLEEPERS) == glock__thread_number();
}

GLOCK__INLINE void glock__lock_drop(struct glock__lock *l)
{
	assert(glock__lock_held(l));
	if (atom_swap32(&l->word, 0) & GLOCK__LOCK_SLEEPERS)
		glock__unlock_slow(l);
}

#endif
