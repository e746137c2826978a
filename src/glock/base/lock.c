/* SPDX-License-Identifier: MIT */
/*
 * lock.c - see lock.h.
 *
 * A thread that finds the lock taken spins a little, then sets the top bit and sleeps. A thread
 * that slept takes the lock with the top bit set. It does not know whether other threads sleep. At
 * worst that costs one unneeded wake-up.
 */
#include "lock.h"

#include <sched.h>
#include <unistd.h>

enum { SPINS = 64, YIELDS = 64, SLEEP_US = 20 };

void glock__back_off(unsigned int turn)
{
	GLOCK__NO_CANCEL;
	if (turn < YIELDS)
		sched_yield();
	else
		usleep(SLEEP_US);
}

int glock__futex_wait(uint32_t *word, uint32_t seen, int64_t deadline)
{
	struct timespec ts = {.tv_sec = deadline / 1000000000, .tv_nsec = deadline % 1000000000};
	int err = atom_wait_own(word, seen, deadline ? &ts : NULL);

	return err == -EAGAIN ? 0 : err;
}

void glock__futex_wake_one(uint32_t *word)
{
	atom_wake_own(word, 1);
}

void glock__futex_wake_all(uint32_t *word)
{
	atom_wake_own(word, INT32_MAX);
}

void glock__lock_slow(struct glock__lock *l, uint32_t me)
{
	bool tried = false;
	uint32_t word;

	assert(!glock__lock_held(l));
	for (int i = 0; i < SPINS; i++) {
		word = 0;
		if (atom_cas32(&l->word, &word, me))
			return;
	}
	for (;;) {
		word = atom_load32(&l->word);
		if (!word) {
			if (atom_cas32(&l->word, &word, me | GLOCK__LOCK_SLEEPERS))
				return;
			continue;
		}
		if (glock__lend_priority(l, word)) {
			tried = false;
			continue;
		}
		if (!(word & GLOCK__LOCK_SLEEPERS) &&
		    !atom_cas32(&l->word, &word, word | GLOCK__LOCK_SLEEPERS))
			continue;
		word |= GLOCK__LOCK_SLEEPERS;
		/* If this thread cannot lend what it borrowed, it sleeps all the same. */
		tried = !glock__lend_sleeps(l, word) && !tried;
		if (!tried)
			glock__futex_wait(&l->word, word, 0);
		(void)glock__lend_sleeps(NULL, 0);
	}
}

void glock__unlock_slow(struct glock__lock *l)
{
	atom_wake_own(&l->word, 1);
	glock__lend_end(glock__thread_number());
}
