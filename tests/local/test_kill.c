/* SPDX-License-Identifier: MIT */
/*
 * test_kill.c - kills and stops processes that work with locks, at any point.
 *
 * No two processes hold conflicting modes. The next holder is told of a death. No process waits for
 * ever, and no lock or node is left.
 */
#include "inside.h"
#include "workers.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { KILLS = 500 }; /* in each of two runs: with and without bias */
enum { INSIDE = 50, TRIES = 400, STOPS = 200 };

static void killed(void **state)
{
	struct inside in;

	(void)state;
	begin("kill");
	for (int i = 0; i < KILLS && !atomic_load(&c->wrong); i++) {
		unsigned int victim = (unsigned int)random() % WORKERS;

		pause_us((unsigned int)random() % 3000);
		/* Half of the victims die at any point, even while they join the space. */
		if (i % 2)
			gets_one(victim, 0);
		if (i % 4 == 3)
			has_one_in_ex(victim);
		kill_worker(victim);
		spawn(victim);
		if (i % 100 == 99)
			all_go_on();
	}
	printf("# %d processes killed, of %d at work; %llu times the next holder was told\n", KILLS,
	       WORKERS, (unsigned long long)atomic_load(&c->told_of_deaths));
	check();
	assert_true(atomic_load(&c->told_of_deaths) > 0);
	inside_look("kill", &in);
	printf("# %u of them had the lock of a table, %u in the middle of a change\n", in.cut_off,
	       in.put_right);
	end();
}

/* A process is killed inside a table. The next process there has to repair the table. */
static void killed_inside(void **state)
{
	struct inside in;
	int inside = 0;

	(void)state;
	begin("kill");
	for (int i = 0; i < INSIDE && !atomic_load(&c->wrong); i++) {
		unsigned int victim = (unsigned int)random() % WORKERS;

		gets_one(victim, 0);
		inside += inside_stop("kill", workers[victim], TRIES);
		kill_worker(victim);
		spawn(victim);
		if (i % 50 == 49)
			all_go_on();
	}
	inside_look("kill", &in);
	printf("# %d killed, %d of them with the lock of a table; %u tables were taken over, %u of "
	       "them in the middle of a change\n",
	       INSIDE, inside, in.cut_off, in.put_right);
	check();
	assert_true(inside > 0 && in.cut_off > 0 && in.put_right > 0);
	end();
}

static void stopped(void **state)
{
	(void)state;
	begin("kill");
	for (int i = 0; i < STOPS && !atomic_load(&c->wrong); i++) {
		unsigned int one = (unsigned int)random() % WORKERS;
		unsigned int two = (unsigned int)random() % WORKERS;

		pause_us((unsigned int)random() % 2000);
		kill(workers[one], SIGSTOP);
		pause_us((unsigned int)random() % 2000);
		kill(workers[two], SIGSTOP);
		pause_us((unsigned int)random() % 20000);
		kill(workers[one], SIGCONT);
		kill(workers[two], SIGCONT);
		if (i % 100 == 99)
			all_go_on();
	}
	end();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(killed),
	    cmocka_unit_test(killed_inside),
	    cmocka_unit_test(stopped),
	};

	if (argc == 6 && !strcmp(argv[1], "worker"))
		return worker(argv[2], argv[3], (unsigned int)atoi(argv[4]),
			      strtoull(argv[5], NULL, 10));
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
