/* SPDX-License-Identifier: MIT */
/*
 * test_kill.c - kills and stops processes that work with locks, at any point.
 *
 * No two processes hold conflicting modes. The next holder is told of a death. No process waits for
 * ever, and no lock or node is left.
 */
#include "checker.h"
#include "inside.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { KILLS = 500 }; /* in each of two runs: with and without bias */
enum { INSIDE = 50, TRIES = 400, STOPS = 200 };
enum { PATIENCE_MS = 60000 };

static const char *self;
static char checker_path[4096];
static struct checker *c;
static pid_t workers[WORKERS];
static unsigned int places[WORKERS]; /* the first place of each worker */
static uint64_t spawned;

/* Returns the places that were used longest ago, without those of living workers. */
static unsigned int next_place(unsigned int index)
{
	unsigned int at = (unsigned int)(spawned++ % (PLACES / THREADS)) * THREADS;

	for (unsigned int i = 0; i < WORKERS; i++)
		if (i != index && workers[i] && places[i] == at)
			return next_place(index);
	return at;
}

static void spawn(unsigned int index)
{
	char number[16], seed[32];
	pid_t pid;

	places[index] = next_place(index);
	for (unsigned int i = 0; i < THREADS; i++) {
		atomic_store(&c->place[places[index] + i].claim, 0);
		atomic_store(&c->place[places[index] + i].dying, 0);
		atomic_store(&c->place[places[index] + i].grants, 0);
	}
	snprintf(number, sizeof(number), "%u", places[index]);
	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)spawned);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		execl(self, self, "worker", "kill", checker_path, number, seed, (char *)NULL);
		_exit(127);
	}
	workers[index] = pid;
}

static void begin(void)
{
	snprintf(checker_path, sizeof(checker_path), "%s/checker", getenv("GLOCK_DIR"));
	unlink(checker_path);
	c = checker_map(checker_path, true);
	assert_non_null(c);
	for (unsigned int i = 0; i < WORKERS; i++)
		spawn(i);
}

static void pause_us(unsigned int us)
{
	const struct timespec ts = {.tv_nsec = 1000 * (long)us};

	nanosleep(&ts, NULL);
}

static uint64_t grants(unsigned int index)
{
	uint64_t n = 0;

	for (int i = 0; i < THREADS; i++)
		n += atomic_load(&c->place[places[index] + (unsigned int)i].grants);
	return n;
}

/* Waits until that worker gets a lock, beyond `before` grants. */
static void gets_one(unsigned int index, uint64_t before)
{
	int waited = 0;

	while (grants(index) == before && !atomic_load(&c->wrong)) {
		pause_us(1000);
		if (++waited > PATIENCE_MS)
			fail_msg("worker %u is stuck", index);
	}
}

/* Waits until each living worker gets one more lock. */
static void all_go_on(void)
{
	uint64_t before[WORKERS];

	for (unsigned int i = 0; i < WORKERS; i++)
		before[i] = grants(i);
	for (unsigned int i = 0; i < WORKERS; i++)
		gets_one(i, before[i]);
}

/* Waits until that worker has a lock in EX, for a limited time. */
static void has_one_in_ex(unsigned int index)
{
	bool has = false;

	for (int waited = 0; !has && waited < TRIES; waited++) {
		for (unsigned int i = 0; i < THREADS && !has; i++)
			has = (atomic_load(&c->place[places[index] + i].claim) & 0xff) == GLOCK_EX;
		if (!has)
			pause_us(50);
	}
}

/* Marks the worker's places as dying, and kills the worker. */
static void kill_worker(unsigned int index)
{
	int status;

	for (unsigned int i = 0; i < THREADS; i++)
		atomic_store(&c->place[places[index] + i].dying, 1);
	kill(workers[index], SIGKILL);
	assert_int_equal(waitpid(workers[index], &status, 0), workers[index]);
	assert_true(WIFSIGNALED(status));
}

static void check(void)
{
	if (atomic_load(&c->wrong))
		fail_msg("%s", c->what);
}

static void end(void)
{
	struct inside in;
	int status;

	all_go_on();
	check();
	atomic_store(&c->stop, 1);
	for (unsigned int i = 0; i < WORKERS; i++) {
		assert_int_equal(waitpid(workers[i], &status, 0), workers[i]);
		assert_int_equal(status, 0);
	}
	check();
	/* The last worker has left, and nothing of any worker is left. */
	inside_look("kill", &in);
	assert_int_equal(in.nodes, 0);
	assert_int_equal(in.locks, 0);
	assert_null(in.wrong);
	unlink(checker_path);
}

static void killed(void **state)
{
	struct inside in;

	(void)state;
	begin();
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
	begin();
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
	begin();
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

	self = "/proc/self/exe";
	if (argc == 6 && !strcmp(argv[1], "worker"))
		return worker(argv[2], argv[3], (unsigned int)atoi(argv[4]),
			      strtoull(argv[5], NULL, 10));
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
