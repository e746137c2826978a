/* SPDX-License-Identifier: MIT */
/*
 * test_latch.c - tests that one thread at a time has a latch, and that a sleeping thread gets it.
 */
#include "base/latch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <pthread.h>

enum { THREADS = 4, TURNS = 20000, PAUSE_EACH = 500 };

static struct latch latch;
static uint64_t turns; /* under the latch */

static void *take_turns(void *arg)
{
	(void)arg;
	for (int i = 0; i < TURNS; i++) {
		uint64_t before;

		latch_take(&latch);
		before = turns;
		if (i % PAUSE_EACH == 0) /* long enough for other threads to sleep */
			nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
		turns = before + 1;
		latch_drop(&latch);
	}
	return NULL;
}

static void one_at_a_time(void **state)
{
	pthread_t thread[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, take_turns, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(turns, THREADS * TURNS);
	assert_int_equal(latch.taken, 0);
	assert_int_equal(latch.sleepers, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(one_at_a_time)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
