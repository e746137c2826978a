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

enum { PROCESSES = 4, TURN_US = 2000, POLL_MS = 50, SECOND = 1000000000 };
static const int64_t ever = 60ll * SECOND; /* longer than on any machine that does some work */

static int tries = 2;

static void a_turn(void)
{
	usleep(TURN_US);
}

static void takes_turns(void *mode)
{
	struct glock *gl = scene_get("busy");

	while (!__atomic_load_n(&scene->stop, __ATOMIC_SEQ_CST))
		scene_turn(gl, (enum glock_mode)(intptr_t)mode, a_turn);
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

static void beside(enum glock_mode mode, const char *waiter, const char *poller)
{
	pid_t pids[PROCESSES];

	scene_reset();
	for (int i = 0; i < PROCESSES; i++)
		pids[i] = scene_fork(takes_turns, (void *)(intptr_t)mode);
	while (__atomic_load_n(&scene->turns, __ATOMIC_SEQ_CST) < 100)
		scene_sleep_ms(1);
	plain_waits(waiter, 0);
	plain_waits(poller, POLL_MS);
	__atomic_store_n(&scene->stop, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < PROCESSES; i++)
		scene_join(pids[i]);
	assert_int_equal(scene->overlaps, 0);
}

static void beside_writers(void **state)
{
	(void)state;
	beside(GLOCK_EX, "flock beside EX", "a poller beside EX");
}

static void beside_readers(void **state)
{
	(void)state;
	beside(GLOCK_SH, "flock beside SH", "a poller beside SH");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(beside_writers),
	    cmocka_unit_test(beside_readers),
	};

	if (getenv("PATH_TRIES"))
		tries = atoi(getenv("PATH_TRIES"));
	scene_folder();
	return RUN_TESTS(tests);
}
