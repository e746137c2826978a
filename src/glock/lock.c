/* SPDX-License-Identifier: MIT */
/*
 * lock.c - see lock.h.
 *
 * Who finds the lock taken spins a little, then sets the top bit and sleeps. Whoever slept takes
 * the lock with the top bit set, since it cannot know whether others sleep: at worst that costs
 * one wake-up too many.
 */
#include "lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SPINS = 64 };

static _Atomic uint32_t thread_numbers;

uint32_t glock__thread_number(void)
{
	static _Thread_local uint32_t number;

	while (!number)
		number = (atomic_fetch_add_explicit(&thread_numbers, 1, memory_order_relaxed) + 1) &
			 ~GLOCK__LOCK_SLEEPERS;
	return number;
}

int glock__futex_wait(_Atomic uint32_t *word, uint32_t seen, int64_t deadline)
{
	struct timespec ts = {.tv_sec = deadline / 1000000000, .tv_nsec = deadline % 1000000000};

	/* WAIT_BITSET takes an absolute time of CLOCK_MONOTONIC; WAIT would take a span. */
	if (syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, seen, deadline ? &ts : NULL, NULL,
		    FUTEX_BITSET_MATCH_ANY) == 0)
		return 0;
	return errno == EAGAIN ? 0 : -errno;
}

void glock__futex_wake_all(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

void glock__lock_slow(struct glock__lock *l, uint32_t me)
{
	uint32_t word;

	assert(!glock__lock_held(l));
	for (int i = 0; i < SPINS; i++) {
		word = 0;
		if (atomic_compare_exchange_weak_explicit(&l->word, &word, me, memory_order_acquire,
							  memory_order_relaxed))
			return;
	}
	for (;;) {
		word = atomic_load_explicit(&l->word, memory_order_relaxed);
		if (!word) {
			if (atomic_compare_exchange_weak_explicit(
				&l->word, &word, me | GLOCK__LOCK_SLEEPERS, memory_order_acquire,
				memory_order_relaxed))
				return;
			continue;
		}
		if (!(word & GLOCK__LOCK_SLEEPERS) &&
		    !atomic_compare_exchange_weak_explicit(
			&l->word, &word, word | GLOCK__LOCK_SLEEPERS, memory_order_relaxed,
			memory_order_relaxed))
			continue;
		glock__futex_wait(&l->word, word | GLOCK__LOCK_SLEEPERS, 0);
	}
}

void glock__unlock_slow(struct glock__lock *l)
{
	syscall(SYS_futex, &l->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
