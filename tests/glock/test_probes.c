/* SPDX-License-Identifier: MIT */
/*
 * test_probes.c - tests that each event fires its probe with type and number first.
 *
 * A stand-in for sys/sdt.h sees the probes.
 */
#include "glock/core/internal.h"
#include "glock/trace/trace.c" /* for the words in which tracers count themselves */

#include "check.h"

#include <sys/sdt.h>

static char fired[64];

void sdt_fired(const char *provider, const char *name, unsigned long a, unsigned long b)
{
	snprintf(fired, sizeof(fired), "%s:%s %lu %lu", provider, name, a, b);
}

static void probes_fire(void **state)
{
	static const char *const want[GLOCK__EV_MAX] = {
	    "glock:state_change 2 77", "glock:put 2 77",   "glock:demote_rq 2 77",
	    "glock:promote 2 77",      "glock:queue 2 77", "glock:lock_time 2 77"};

	(void)state;
	for (unsigned int i = 0; i < GLOCK__EV_MAX; i++) {
		const struct glock__event ev = {.name = i, .type = 2, .number = 77};

		glock__trace(NULL, &ev);
		assert_string_equal(fired, want[i]);
	}
}

/* Each probe has a counter of its own. */
static void probes_are_traced(void **state)
{
	static unsigned short *const tracers[GLOCK__EV_MAX] = {
	    &glock_state_change_semaphore, &glock_put_semaphore,   &glock_demote_rq_semaphore,
	    &glock_promote_semaphore,      &glock_queue_semaphore, &glock_lock_time_semaphore};

	(void)state;
	for (unsigned int i = 0; i < GLOCK__EV_MAX; i++) {
		++*tracers[i];
		for (unsigned int j = 0; j < GLOCK__EV_MAX; j++)
			assert_int_equal(glock__traced(j), i == j);
		--*tracers[i];
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(probes_fire),
					   cmocka_unit_test(probes_are_traced)};

	return RUN_TESTS(tests);
}
