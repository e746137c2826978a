/* SPDX-License-Identifier: MIT */
/* workers.c - see workers.h. */
#include "workers.h"
#include "inside.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { TRIES = 400, PATIENCE_MS = 60000 };

static const char *space; /* its name */
static char checker_path[4096];
struct checker *c;
pid_t workers[WORKERS];
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

void spawn(unsigned int index)
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
		execl("/proc/self/exe", "/proc/self/exe", "worker", space, checker_path, number,
		      seed, (char *)NULL);
		_exit(127);
	}
	workers[index] = pid;
}

void begin(const char *name)
{
	space = name;
	snprintf(checker_path, sizeof(checker_path), "%s/checker", getenv("GLOCK_DIR"));
	unlink(checker_path);
	c = checker_map(checker_path, true);
	assert_non_null(c);
	for (unsigned int i = 0; i < WORKERS; i++)
		spawn(i);
}

void pause_us(unsigned int us)
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

void gets_one(unsigned int index, uint64_t before)
{
	int waited = 0;

	while (grants(index) == before && !atomic_load(&c->wrong)) {
		pause_us(1000);
		if (++waited > PATIENCE_MS)
			fail_msg("worker %u is stuck", index);
	}
}

void all_go_on(void)
{
	uint64_t before[WORKERS];

	for (unsigned int i = 0; i < WORKERS; i++)
		before[i] = grants(i);
	for (unsigned int i = 0; i < WORKERS; i++)
		gets_one(i, before[i]);
}

void has_one_in_ex(unsigned int index)
{
	bool has = false;

	for (int waited = 0; !has && waited < TRIES; waited++) {
		for (unsigned int i = 0; i < THREADS && !has; i++)
			has = (atomic_load(&c->place[places[index] + i].claim) & 0xff) == GLOCK_EX;
		if (!has)
			pause_us(50);
	}
}

void kill_worker(unsigned int index)
{
	int status;

	for (unsigned int i = 0; i < THREADS; i++)
		atomic_store(&c->place[places[index] + i].dying, 1);
	kill(workers[index], SIGKILL);
	assert_int_equal(waitpid(workers[index], &status, 0), workers[index]);
	assert_true(WIFSIGNALED(status));
}

void check(void)
{
	if (atomic_load(&c->wrong))
		fail_msg("%s", c->what);
}

void end(void)
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
	inside_look(space, &in);
	assert_int_equal(in.nodes, 0);
	assert_int_equal(in.locks, 0);
	assert_null(in.wrong);
	unlink(checker_path);
}
