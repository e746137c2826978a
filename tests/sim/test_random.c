/* SPDX-License-Identifier: MIT */
/*
 * Random schedules, each from its seed. GLOCK_SIM_SCHEDULES says how many, GLOCK_SIM_SEED which
 * one is the first; a failing seed is printed, and is had again with GLOCK_SIM_SCHEDULES=1.
 */
#include "world.h"

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
/* clang-format on */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long number(const char *name, unsigned long otherwise)
{
	const char *s = getenv(name);

	return s && *s ? strtoul(s, NULL, 10) : otherwise;
}

static volatile unsigned long current;

/* An assertion of the library's, or worse. */
static void on_signal(int sig)
{
	fprintf(stderr, "GLOCK_SIM_SEED=%lu\n", current); /* nothing else goes on */
	signal(sig, SIG_DFL);
	raise(sig);
}

static void random_schedules(void **state)
{
	static const char *const replies[] = {"granted", "try again", "deadlock", "canceled",
					      "error"};
	unsigned long first = number("GLOCK_SIM_SEED", 1);
	unsigned long n = number("GLOCK_SIM_SCHEDULES", 20000), steps = 0, grants = 0;
	static struct world w;

	(void)state;
	for (unsigned long seed = first; seed < first + n; seed++) {
		current = seed;
		world_open_seed(&w, seed, getenv("THREADS"));
		if (world_run(&w, (unsigned)number("STEPS",300)))
			world_settle(&w);
		world_close(&w);
		steps += w.steps;
		grants += w.grants;
		if (*w.trouble)
			fail_msg("GLOCK_SIM_SEED=%lu, step %lu: %s", seed, w.steps, w.trouble);
	}
	print_message("# %lu schedules, %lu steps, %lu grants\n", n, steps, grants);
	for (int s = 0; s < GLOCK_MODE_MAX; s++)
		for (int r = 0; r < 5; r++)
			print_message("# at %s %s: no demote %lu, pending %lu, due %lu\n",
				      glock__modes[s].name, replies[r], world_seen[s][r][0],
				      world_seen[s][r][1], world_seen[s][r][2]);
	assert_true(grants > n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(random_schedules)};

	signal(SIGABRT, on_signal);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
