/* SPDX-License-Identifier: MIT */
/*
 * lock.h - the lock that the library uses for its own fields: four bytes, knows its owner.
 *
 * It is what the documents call the spinlock: held for a few instructions, never across a call
 * that may block. It spins for a moment and then sleeps, because a thread that holds it may lose
 * its CPU. Not recursive. Ordering: lock is acquire, unlock is release.
 *
 * The word is the owner's number, or 0; with the top bit, somebody may be sleeping.
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

/* A number for the calling thread, never 0, not used again before 2^31 threads are gone. */
GLOCK__INLINE uint32_t glock__thread_number(void)
{
	uint32_t number = glock__tls()->id.number;

	return number ? number : glock__new_thread_number();
}

GLOCK__COLD void glock__lock_slow(struct glock__lock *l, uint32_t me);
GLOCK__COLD void glock__unlock_slow(struct glock__lock *l);

/* Sleeps until the word is not `seen` any more, or the deadline (CLOCK_MONOTONIC, ns; 0: never). */
int glock__futex_wait(uint32_t *word, uint32_t seen, int64_t deadline);
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

/* By the calling thread: no other can change the answer, so that this is no atom of its own. */
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
