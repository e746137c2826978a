/* SPDX-License-Identifier: MIT */
/*
 * guarded.h - data that only a lock protects: a plain counter, and the number of present threads.
 *
 * Under EX no other thread is present. Under SH no writer is. Include this file behind cmocka.h.
 */
#ifndef TESTS_GLOCK_GUARDED_H
#define TESTS_GLOCK_GUARDED_H

#include "glock.h"

#include <sched.h>

struct guarded {
	int readers, writers;
	long counter;
};

static inline void guarded_use(struct guarded *g, enum glock_mode mode)
{
	if (mode == GLOCK_EX) {
		assert_int_equal(__atomic_fetch_add(&g->writers, 1, __ATOMIC_RELAXED), 0);
		assert_int_equal(__atomic_load_n(&g->readers, __ATOMIC_RELAXED), 0);
		if (g->counter++ % 16 == 0)
			sched_yield(); /* so that a thread that may not be here meets this one */
		__atomic_fetch_sub(&g->writers, 1, __ATOMIC_RELAXED);
	} else {
		__atomic_fetch_add(&g->readers, 1, __ATOMIC_RELAXED);
		assert_int_equal(__atomic_load_n(&g->writers, __ATOMIC_RELAXED), 0);
		__atomic_fetch_sub(&g->readers, 1, __ATOMIC_RELAXED);
	}
}

#endif
