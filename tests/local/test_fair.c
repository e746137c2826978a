/* SPDX-License-Identifier: MIT */
/*
 * test_fair.c - tests that each process gets a lock that others take again and again.
 *
 * Two processes that had the lock before hand it to each other, each time with a conversion.
 * Conversions go before new locks. So a new lock would never have its turn if it stood behind them.
 */
#include "../glock/check.h"
#include "glock.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { OLD = 2, NEW = 3, TIMES = 5, PATIENCE_S = 60 };

static struct shared {
	_Atomic long grants[OLD + NEW];
	_Atomic int stop;
} * shared;

static void pause_ms(long ms)
{
	const struct timespec t = {.tv_nsec = ms * 1000000};

	nanosleep(&t, NULL);
}

/*
 * Runs in a process of its own. Takes the lock until told to stop, and holds each grant for a
 * while.
 */
static void contend(int me)
{
	const struct glock_type_options type = {
	    .size = sizeof(type), .type = GLOCK_INODE, .hold = 10000000};
	const struct glock_space_options o = {
	    .size = sizeof(o), .lockman = "local", .types = &type, .n_types = 1};
	struct glock_space *space;
	struct glock_holder gh;
	struct glock *gl;

	if (glock_space_open("fair", &o, &space) || glock_get(space, GLOCK_INODE, 7, &gl))
		_exit(1);
	while (!shared->stop) {
		glock_holder_init(&gh, gl, GLOCK_EX, 0);
		if (glock_nq(&gh))
			_exit(2);
		shared->grants[me]++;
		glock_dq(&gh);
		pause_ms(2);
	}
	glock_put(gl);
	_exit(glock_space_close(space) ? 3 : 0);
}

/* Waits until each of these processes had that many grants. */
static bool wait_for(int from, int to, long grants)
{
	bool all = false;

	for (int i = 0; i < PATIENCE_S * 200 && !all; i++) {
		all = true;
		for (int k = from; k < to; k++)
			all &= shared->grants[k] >= grants;
		pause_ms(5);
	}
	return all;
}

static void new_ones_have_their_turn(void **state)
{
	bool old_ones, new_ones = false;
	pid_t pids[OLD + NEW];
	int status, n = 0;

	(void)state;
	shared =
	    mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(shared, MAP_FAILED);
	for (; n < OLD; n++)
		if (!(pids[n] = fork()))
			contend(n);
	old_ones = wait_for(0, OLD, TIMES);
	for (; old_ones && n < OLD + NEW; n++)
		if (!(pids[n] = fork()))
			contend(n);
	if (old_ones)
		new_ones = wait_for(OLD, OLD + NEW, TIMES);
	shared->stop = 1;
	while (n--) {
		assert_int_equal(waitpid(pids[n], &status, 0), pids[n]);
		assert_int_equal(status, 0);
	}
	assert_true(old_ones);
	assert_true(new_ones);
	munmap(shared, sizeof(*shared));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(new_ones_have_their_turn)};

	return RUN_TESTS(tests);
}
