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

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define GLOCK__LOCK_SLEEPERS 0x80000000u

/* A mistake made on purpose, by a test that wants to see it found; else never. */
#ifdef GLOCK_FAULTS
extern int glock__fault;
#define FAULT(n) (glock__fault == (n))
#else
#define FAULT(n) false
#endif

struct glock__lock {
	_Atomic uint32_t word;
};

/* A number for the calling thread, never 0, not used again before 2^31 threads are gone. */
uint32_t glock__thread_number(void);

void glock__lock_slow(struct glock__lock *l, uint32_t me);
void glock__unlock_slow(struct glock__lock *l);

/* Sleeps until the word is not `seen` any more, or the deadline (CLOCK_MONOTONIC, ns; 0: never). */
int glock__futex_wait(_Atomic uint32_t *word, uint32_t seen, int64_t deadline);
void glock__futex_wake_all(_Atomic uint32_t *word);

static inline void glock__lock_take(struct glock__lock *l)
{
	uint32_t none = 0, me = glock__thread_number();

	if (!atomic_compare_exchange_strong_explicit(&l->word, &none, me, memory_order_acquire,
						     memory_order_relaxed))
		glock__lock_slow(l, me);
}

static inline bool glock__lock_try(struct glock__lock *l)
{
	uint32_t none = 0;

	return atomic_compare_exchange_strong_explicit(&l->word, &none, glock__thread_number(),
						       memory_order_acquire, memory_order_relaxed);
}

static inline bool glock__lock_held(struct glock__lock *l)
{
	uint32_t word = atomic_load_explicit(&l->word, memory_order_relaxed);

	return (word & ~GLOCK__LOCK_SLEEPERS) == glock__thread_number();
}

static inline void glock__lock_drop(struct glock__lock *l)
{
	assert(glock__lock_held(l));
	if (atomic_exchange_explicit(&l->word, 0, memory_order_release) & GLOCK__LOCK_SLEEPERS)
		glock__unlock_slow(l);
}

#endif
