/* SPDX-License-Identifier: MIT */
/* latch.c - takes a contended latch: the thread counts itself among the sleepers and sleeps. */
#include "latch.h"

#define LATCH_AGAIN_NS 1000000l

void glock__latch_slow(struct latch *latch)
{
	uint32_t no = 0;

	atom_add32(&latch->sleepers, 1);
	while (!atom_cas32(&latch->taken, &no, 1)) {
		struct timespec until;

		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += LATCH_AGAIN_NS;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		atom_wait_own(&latch->taken, 1, &until);
		no = 0;
	}
	atom_sub32(&latch->sleepers, 1);
}
