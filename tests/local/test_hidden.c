/* SPDX-License-Identifier: MIT */
/*
 * test_hidden.c - stops a process of another pid namespace in a lock table. No process here sees
 * that it is stopped, so its table is not taken over. All the same tries and releases end in time,
 * also with NOCACHE, and a program can take a request back.
 *
 * A busy machine may delay each call. A call that waits for the stopped process is late each time,
 * so the shortest of several calls counts.
 */
#include "inside.h"

#include "glock.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define SPACE "hidden"
#define MS 1000000ll

enum { LOCKS = 256, ROUNDS = 3, TRIES = 20000, CALLS = 8, INIT = 1 };

static const struct glock_space_options options = {.size = sizeof(options), .lockman = "local"};
static struct glock *gls[LOCKS];

static struct glock_space *open_locks(uint64_t first)
{
	struct glock_space *space;

	if (glock_space_open(SPACE, &options, &space))
		return NULL;
	for (uint64_t i = 0; i < LOCKS; i++)
		if (glock_get(space, GLOCK_NONDISK, first + i, &gls[i]))
			return NULL;
	return space;
}

/* ---- the process of the other pid namespace ---- */

static void works(void)
{
	struct glock_holder gh;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!open_locks(1000))
		_exit(1);
	for (unsigned int i = 0;; i++) {
		glock_holder_init(&gh, gls[i % LOCKS], GLOCK_EX, GLOCK_NOCACHE);
		if (glock_nq(&gh) || glock_dq_wait(&gh))
			_exit(1);
	}
}

static pid_t begin_hidden(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);

	if (!pid)
		works();
	assert_true(pid > 0);
	return pid;
}

static void stop_inside(pid_t pid)
{
	bool inside = false;
	int status;

	for (int i = 0; i < TRIES && !inside; i++) {
		const struct timespec pause = {.tv_nsec = 1000 * (random() % 50)};

		assert_int_equal(kill(pid, SIGSTOP), 0);
		assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
		assert_true(WIFSTOPPED(status));
		inside = inside_has_table(SPACE, INIT);
		if (inside)
			break;
		kill(pid, SIGCONT);
		nanosleep(&pause, NULL);
	}
	assert_true(inside);
}

/* ---- calls beside it ---- */

/* Returns the shortest time of several tries. */
static int64_t shortest_try(struct glock *gl, unsigned int way)
{
	int64_t shortest = INT64_MAX;

	for (int i = 0; i < CALLS; i++) {
		struct glock_holder gh;
		int64_t began = glock__clock(), took;
		int err;

		glock_holder_init(&gh, gl, GLOCK_EX, way);
		err = glock_nq(&gh);
		took = glock__clock() - began;
		shortest = took < shortest ? took : shortest;
		if (!err)
			assert_int_equal(glock_dq(&gh), 0);
		else
			assert_true(err == -EAGAIN || err == -EBUSY);
	}
	return shortest;
}

static struct glock_holder held[LOCKS];

/* Of four locks one is cached, one is held, and two are neither. Every other holder has NOCACHE. */
static void take_some(void)
{
	for (int i = 0; i < LOCKS; i += 2) {
		glock_holder_init(&held[i], gls[i], GLOCK_EX, i % 8 == 6 ? GLOCK_NOCACHE : 0);
		assert_int_equal(glock_nq(&held[i]), 0);
		if (i % 4 == 0)
			assert_int_equal(glock_unlock(&held[i]), 0);
	}
}

/* Asks, waits for a moment, and takes the request back. */
static void ask_for_a_moment(struct glock *gl)
{
	struct glock_holder gh;
	int err;

	glock_holder_init(&gh, gl, GLOCK_EX, GLOCK_ASYNC);
	assert_int_equal(glock_nq(&gh), 0);
	err = glock_wait(&gh, glock__clock() + MS, 0);
	assert_true(!err || err == -ETIMEDOUT);
	assert_int_equal(glock_dq(&gh), 0);
}

static void try_all(void)
{
	alarm(60); /* a call that waits for the stopped process ends the test */
	for (int i = 0; i < LOCKS; i++) {
		if (i % 4 == 2)
			assert_int_equal(glock_unlock(&held[i]), 0);
		else if (i % 8 == 5)
			ask_for_a_moment(gls[i]);
		else if (i % 4 == 1)
			assert_in_range(shortest_try(gls[i], GLOCK_TRY), 0, 1000 * MS);
		else
			assert_in_range(shortest_try(gls[i], GLOCK_TRY_CACHED), 0, 20 * MS);
	}
	alarm(0);
}

static void tries_end_in_time(void **state)
{
	struct glock_space *space;
	pid_t pid = begin_hidden();

	(void)state;
	for (unsigned int i = 0; i < ROUNDS; i++) {
		space = open_locks(5000 + LOCKS * i);
		assert_non_null(space);
		take_some();
		stop_inside(pid);
		try_all();
		kill(pid, SIGCONT);
		for (int k = 0; k < LOCKS; k++)
			glock_put(gls[k]);
		assert_int_equal(glock_space_close(space), 0);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Begins a process that holds all locks, and asks for each of them. */
static pid_t ask_for_held_locks(struct glock_space **space)
{
	pid_t holder = fork();

	if (!holder) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!open_locks(5000))
			_exit(1);
		for (int i = 0; i < LOCKS; i++)
			if (glock_lock(gls[i], GLOCK_EX, &held[i]))
				_exit(1);
		raise(SIGSTOP);
	}
	assert_int_equal(waitpid(holder, NULL, WUNTRACED), holder);
	*space = open_locks(5000);
	assert_non_null(*space);
	for (int i = 0; i < LOCKS; i++) {
		glock_holder_init(&held[i], gls[i], GLOCK_EX, GLOCK_ASYNC);
		glock_holder_owner(&held[i], 1);
		assert_int_equal(glock_nq(&held[i]), 0);
	}
	return holder;
}

/* The lock manager learns later that the requests of a stopped table were taken back. */
static void requests_are_taken_back_at_once(void **state)
{
	pid_t pid = begin_hidden(), holder;
	struct glock_space *space;

	(void)state;
	holder = ask_for_held_locks(&space);
	stop_inside(pid);
	alarm(60);
	for (int i = 0; i < LOCKS; i++)
		assert_int_equal(glock_dq(&held[i]), 0);
	kill(pid, SIGCONT);
	for (int i = 0; i < LOCKS; i++)
		glock_put(gls[i]);
	assert_int_equal(glock_space_close(space), 0);
	alarm(0);
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/*
 * A process dies with a lock in each table, while the stopped process has one of the tables. The
 * locks that the dead process left there go after that.
 */
static void what_a_dead_process_left_goes_later(void **state)
{
	const struct timespec second = {.tv_sec = 1};
	pid_t pid = begin_hidden(), dead;
	struct glock_space *space;

	(void)state;
	dead = ask_for_held_locks(&space);
	stop_inside(pid);
	kill(dead, SIGKILL);
	waitpid(dead, NULL, 0);
	nanosleep(&second, NULL); /* the death is found, most probably */
	kill(pid, SIGCONT);
	for (int i = 0; i < LOCKS; i++) {
		assert_int_equal(glock_wait(&held[i], glock__clock() + 20000 * MS, 0), 0);
		assert_int_equal(glock_dq(&held[i]), 0);
		glock_put(gls[i]);
	}
	assert_int_equal(glock_space_close(space), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(tries_end_in_time),
					   cmocka_unit_test(requests_are_taken_back_at_once),
					   cmocka_unit_test(what_a_dead_process_left_goes_later)};

	if (geteuid()) {
		puts("1..0 # SKIP needs root");
		return 0;
	}
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
