/* SPDX-License-Identifier: MIT */
/*
 * test_fair.c - tests that users of flock(2) get in beside processes that use a lock by path
 * without a break, and prints their waits.
 *
 * PATH_TRIES is the number of tries of each user.
 */
#include "scene.h"

#include <sys/file.h>
#include <unistd.h>

enum { PROCESSES = 4, TURN_US = 2000, LONG_US = 40000, POLL_MS = 50, SECOND = 1000000000 };
static const int64_t ever = 60ll * SECOND; /* longer than on any machine that does some work */

static int tries = 2;

static void a_turn(void)
{
	usleep(TURN_US);
}

/* The turns of several processes do not end at the same time. */
static void a_long_turn(void)
{
	usleep(LONG_US + (useconds_t)(scene_now() / 1000 % LONG_US));
}

static enum glock_mode mode;
static void (*turn)(void);

static void takes_turns(void *arg)
{
	struct glock *gl = scene_get("busy");

	(void)arg;
	while (!__atomic_load_n(&scene->stop, __ATOMIC_SEQ_CST))
		scene_turn(gl, mode, turn);
	glock_put(gl);
}

/* Returns the time until a user of flock(2) is in. poll_ms 0: the kernel wakes the user. */
static int64_t plain_wait(long poll_ms)
{
	int64_t begun;
	int fd = -1;

	scene_sleep_ms(100); /* the last user is out, and the others are in */
	begun = scene_now();
	while (fd < 0 && scene_now() - begun < ever) {
		fd = scene_plain("busy", LOCK_EX | (poll_ms ? LOCK_NB : 0));
		if (fd < 0)
			scene_sleep_ms(poll_ms);
	}
	assert_true(fd >= 0);
	close(fd);
	return scene_now() - begun;
}

static void plain_waits(const char *who, long poll_ms)
{
	int64_t longest = 0, sum = 0;

	for (int i = 0; i < tries; i++) {
		int64_t waited = plain_wait(poll_ms);

		longest = waited > longest ? waited : longest;
		sum += waited;
	}
	fprintf(stderr, "# %s: in %d of %d, mean %.3f s, longest %.3f s\n", who, tries, tries,
		1e-9 * (double)(sum / tries), 1e-9 * (double)longest);
}

/* Prints the waits of users that wait in the kernel, and of those that look from time to time. */
static void beside(enum glock_mode of_holders, void (*of_turn)(void), const char *waiter,
		   const char *poller)
{
	pid_t pids[PROCESSES];

	scene_reset();
	mode = of_holders;
	turn = of_turn;
	for (int i = 0; i < PROCESSES; i++)
		pids[i] = scene_fork(takes_turns, NULL);
	while (__atomic_load_n(&scene->turns, __ATOMIC_SEQ_CST) < 100)
		scene_sleep_ms(1);
	plain_waits(waiter, 0);
	if (poller)
		plain_waits(poller, POLL_MS);
	__atomic_store_n(&scene->stop, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < PROCESSES; i++)
		scene_join(pids[i]);
	assert_int_equal(scene->overlaps, 0);
}

static void beside_writers(void **state)
{
	(void)state;
	beside(GLOCK_EX, a_turn, "flock beside EX", "a poller beside EX");
}

static void beside_readers(void **state)
{
	(void)state;
	beside(GLOCK_SH, a_turn, "flock beside SH", "a poller beside SH");
}

/* A pause that does not wait until all readers have left lets no other program in. */
static void beside_readers_with_long_turns(void **state)
{
	(void)state;
	beside(GLOCK_SH, a_long_turn, "flock beside SH with long turns", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(beside_writers),
	    cmocka_unit_test(beside_readers),
	    cmocka_unit_test(beside_readers_with_long_turns),
	};

	if (getenv("PATH_TRIES"))
		tries = atoi(getenv("PATH_TRIES"));
	scene_folder();
	return RUN_TESTS(tests);
}
