/* SPDX-License-Identifier: MIT */
/*
 * test_idle.c - tests TRY between processes: a lock that another process only caches is free.
 *
 * On a busy machine a hand-over may take longer than TRY waits. So -EAGAIN is allowed where a
 * lock is idle, and the test asks again. -EBUSY never is.
 */
#include "glock.h"

#include "actor.h"
#include "inside.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define SPACE "idle"
#define MS 1000000ll

enum { TURNS = 200, TRIES = 200 };

static struct actor a, b;

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static int64_t ask(struct actor *who, const char *mode)
{
	return actor_do(who, "nq 0 1 %s %d", mode, GLOCK_TRY);
}

/* Takes an idle lock. Returns how often there was no answer in time. */
static int take(struct actor *who, const char *mode)
{
	int late = 0;
	int64_t err;

	while ((err = ask(who, mode)) == -EAGAIN && late < TRIES)
		late++;
	assert_int_equal(err, 0);
	return late;
}

static int begin(void **state)
{
	(void)state;
	actor_begin(&a, SPACE, "");
	actor_begin(&b, SPACE, "");
	return 0;
}

static int end(void **state)
{
	(void)state;
	actor_end(&a);
	actor_end(&b);
	return actors_left(SPACE);
}

/* The lock goes to and fro. Beside the first grants, no process asks for it with a plain request.
 */
/*
 * Promises: GLOCK_TRY_CACHED: "not of GFS2"; glock_nq: "GLOCK_TRY waits for one", "GLOCK_TRY_CACHED
 * gets only".
 */
static void an_idle_lock_is_given_up(void **state)
{
	static const char *const modes[] = {"EX", "SH", "EX"};
	int late = 0;

	(void)state;
	assert_int_equal(actor_do(&a, "nq 0 1 EX 0"), 0);
	assert_int_equal(actor_do(&a, "dq 0"), 0);
	assert_int_equal(actor_do(&b, "nq 0 1 EX %d", GLOCK_TRY_CACHED), -EAGAIN);
	assert_int_equal(actor_do(&b, "nq 0 2 EX %d", GLOCK_TRY_CACHED), -EAGAIN); /* free */
	for (int i = 0; i < TURNS; i++) {
		struct actor *who = i % 2 ? &a : &b;

		late += take(who, modes[i % 3]);
		assert_int_equal(actor_do(who, "dq 0"), 0);
	}
	print_message("# %d of %d hand-overs were late\n", late, TURNS);
	assert_true(late < TURNS / 2);
}

/* The second grant is one of the fast path, in a slot of the thread or by a bias. */
/* Promises: glock_nq: "Fails with -EBUSY", "-EBUSY once the", "-EBUSY TRY: the". */
static void a_lock_in_use_is_refused(void **state)
{
	int busy = 0;

	(void)state;
	for (int i = 0; i < TURNS; i++) {
		const char *held = i % 4 ? "EX" : "SH";

		(void)take(&a, held);
		if (i % 2) {
			assert_int_equal(actor_do(&a, "dq 0"), 0);
			assert_int_equal(actor_do(&a, "nq 0 1 %s 0", held), 0);
		}
		for (int k = 0; k < 2; k++) {
			int64_t err = ask(&b, i % 3 && i % 4 ? "SH" : "EX");

			assert_true(err == -EBUSY || err == -EAGAIN);
			busy += err == -EBUSY;
		}
		if (!strcmp(held, "SH")) {
			(void)take(&b, "SH");
			assert_int_equal(actor_do(&b, "dq 0"), 0);
		}
		assert_int_equal(actor_do(&a, "valid 0"), 1);
		assert_int_equal(actor_do(&a, "dq 0"), 0);
	}
	print_message("# %d of %d answers say that the lock is in use\n", busy, 2 * TURNS);
	assert_true(busy > TURNS);
}

/* A waiter counts as a user, also one of a third process. */
/* Promises: glock_nq: "Fails with -EBUSY", "-EBUSY TRY: the". */
static void a_waiter_is_in_the_way(void **state)
{
	struct actor c;

	(void)state;
	actor_begin(&c, SPACE, "");
	assert_int_equal(actor_do(&a, "nq 0 1 EX 0"), 0);
	actor_send(&b, "nq 0 1 EX 0");
	assert_false(actor_answers_within(&b, A_WHILE));
	assert_int_equal(ask(&c, "EX"), -EBUSY);
	assert_int_equal(ask(&c, "SH"), -EBUSY);
	assert_int_equal(actor_do(&a, "dq 0"), 0);
	assert_int_equal(actor_answer(&b), 0);
	assert_int_equal(actor_do(&b, "dq 0"), 0);
	actor_end(&c);
}

/* A stopped process gives no answer. The wait ends, and no holder was found. */
/* Promises: glock_nq: "-EAGAIN stands for a", "-EAGAIN TRY: no". */
static void a_stopped_process(void **state)
{
	int64_t began;
	int status;

	(void)state;
	take(&a, "EX");
	assert_int_equal(actor_do(&a, "dq 0"), 0);
	kill(a.pid, SIGSTOP);
	assert_int_equal(waitpid(a.pid, &status, WUNTRACED), a.pid);
	began = now();
	assert_int_equal(ask(&b, "EX"), -EAGAIN);
	assert_in_range(now() - began, 50 * MS, 10000 * MS);
	kill(a.pid, SIGCONT);
	take(&b, "EX");
	assert_int_equal(actor_do(&b, "dq 0"), 0);
}

/* The holder of a dead process is no holder: the next one is told of the death. */
static void a_dead_process(void **state)
{
	(void)state;
	for (int idle = 0; idle < 2; idle++) {
		struct actor c;

		actor_begin(&c, SPACE, "");
		take(&c, "EX");
		if (idle)
			assert_int_equal(actor_do(&c, "dq 0"), 0);
		actor_kill(&c);
		take(&b, "EX");
		assert_int_equal(actor_do(&b, "died 0"), 1);
		assert_int_equal(actor_do(&b, "dq 0"), 0);
	}
}

/* ---- two nodes of this process ---- */

static _Atomic int64_t write_back_ns;

static int write_back(struct glock *gl, enum glock_mode to, unsigned int sync)
{
	(void)gl, (void)to;
	if (sync)
		nanosleep(&(struct timespec){.tv_nsec = write_back_ns}, NULL);
	return 0;
}

static struct glock_space *open_with(int64_t hold, struct glock **gl)
{
	static const struct glock_ops ops = {.size = sizeof(ops), .xmote_th = write_back};
	const struct glock_type_options type = {
	    .size = sizeof(type), .type = GLOCK_INODE, .ops = &ops, .hold = hold};
	const struct glock_space_options o = {.size = sizeof(o), .types = &type, .n_types = 1};
	struct glock_space *space;

	assert_int_equal(glock_space_open(SPACE "-hold", &o, &space), 0);
	assert_int_equal(glock_get(space, GLOCK_INODE, 1, gl), 0);
	return space;
}

static int nq(struct glock_holder *gh, struct glock *gl, unsigned int flags)
{
	glock_holder_init(gh, gl, GLOCK_EX, flags);
	return glock_nq(gh);
}

/* The hold time is caching, and no use. A short write-back is a part of the hand-over. */
/* Promises: glock_nq: "Fails with -EAGAIN", "With GLOCK_TRY a". */
static void the_hold_time_counts_as_caching(void **state)
{
	static const int64_t holds[] = {60000 * MS, 0, GLOCK_HOLD_NONE};
	struct glock_holder gh;

	(void)state;
	for (unsigned int i = 0; i < 6; i++) {
		struct glock *gl, *its;
		struct glock_space *space = open_with(holds[i % 3], &gl);
		struct glock_space *other = open_with(holds[i % 3], &its);
		int late = 0, err;

		write_back_ns = i / 3 * 10 * MS;
		assert_int_equal(nq(&gh, gl, 0), 0);
		assert_int_equal(glock_dq(&gh), 0);
		if (holds[i % 3] > 0)
			assert_int_equal(nq(&gh, its, GLOCK_TRY_1CB), -EAGAIN);
		while ((err = nq(&gh, its, GLOCK_TRY)) == -EAGAIN && late < TRIES)
			late++;
		assert_int_equal(err, 0);
		assert_int_equal(nq(&(struct glock_holder){0}, gl, GLOCK_TRY_CACHED), -EAGAIN);
		assert_int_equal(glock_dq(&gh), 0);
		glock_put(gl);
		glock_put(its);
		assert_int_equal(glock_space_close(space), 0);
		assert_int_equal(glock_space_close(other), 0);
	}
}

/* The holder stands in a slot of its thread, and with GLOCK_BIAS_AFTER=1 by a bias. */
static void a_holder_in_a_slot(void **state)
{
	struct glock *gl, *its;
	struct glock_space *space = open_with(GLOCK_HOLD_NONE, &gl);
	struct glock_space *other = open_with(GLOCK_HOLD_NONE, &its);
	int busy = 0, late = 0;

	(void)state;
	write_back_ns = 0;
	for (int i = 0; i < TURNS; i++) {
		struct glock_holder gh, it;
		int err;

		for (int k = 0; k < 4; k++) {
			assert_int_equal(nq(&gh, gl, 0), 0);
			if (k < 3)
				assert_int_equal(glock_dq(&gh), 0);
		}
		err = nq(&it, its, GLOCK_TRY);
		assert_true(err == -EBUSY || err == -EAGAIN);
		busy += err == -EBUSY;
		assert_int_equal(glock_valid(&gh), 1);
		assert_int_equal(glock_dq(&gh), 0);
		while ((err = nq(&it, its, GLOCK_TRY)) == -EAGAIN && late < TRIES)
			late++;
		assert_int_equal(err, 0);
		assert_int_equal(glock_dq(&it), 0);
	}
	print_message("# %d of %d answers say that the lock is in use\n", busy, TURNS);
	assert_true(busy > TURNS / 2);
	glock_put(gl);
	glock_put(its);
	assert_int_equal(glock_space_close(space), 0);
	assert_int_equal(glock_space_close(other), 0);
}

/* The wait is bounded, and what was begun goes on: the lock is free some time later. */
/* Promises: glock_nq: "-EAGAIN stands for a", "Only GLOCK_TRY waits". */
static void a_long_write_back(void **state)
{
	struct glock *gl, *its;
	struct glock_space *space = open_with(GLOCK_HOLD_NONE, &gl);
	struct glock_space *other = open_with(GLOCK_HOLD_NONE, &its);
	struct glock_holder gh;
	int late = 0, err;

	(void)state;
	write_back_ns = 400 * MS;
	assert_int_equal(nq(&gh, gl, 0), 0);
	assert_int_equal(glock_dq(&gh), 0);
	while ((err = nq(&gh, its, GLOCK_TRY)) == -EAGAIN && late < TRIES)
		late++;
	assert_int_equal(err, 0);
	assert_true(late);
	write_back_ns = 0;
	assert_int_equal(glock_dq(&gh), 0);
	glock_put(gl);
	glock_put(its);
	assert_int_equal(glock_space_close(space), 0);
	assert_int_equal(glock_space_close(other), 0);
}

static void use(struct glock *gl)
{
	struct glock_holder gh;

	assert_int_equal(nq(&gh, gl, 0), 0);
	assert_int_equal(glock_dq(&gh), 0);
}

/* Each node has given the lock up several times, and so knows how long that takes. */
/* Promises: glock_nq: "The wait lasts". */
static void the_wait_follows_the_hand_overs(void **state)
{
	struct glock *gl, *its;
	struct glock_space *space = open_with(0, &gl);
	struct glock_space *other = open_with(0, &its);
	struct glock_holder gh;
	int64_t began, took, longest = 0;
	int late = 0, err;

	(void)state;
	write_back_ns = 60 * MS;
	for (int i = 0; i < 6; i++)
		use(i % 2 ? its : gl);
	use(gl);
	write_back_ns = 180 * MS;
	do {
		began = now();
		err = nq(&gh, its, GLOCK_TRY);
		took = now() - began;
		longest = took > longest ? took : longest;
	} while (err == -EAGAIN && late++ < TRIES);
	assert_int_equal(err, 0);
	assert_in_range(longest, 150 * MS, 20000 * MS);
	write_back_ns = 0;
	assert_int_equal(glock_dq(&gh), 0);
	glock_put(gl);
	glock_put(its);
	assert_int_equal(glock_space_close(space), 0);
	assert_int_equal(glock_space_close(other), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(an_idle_lock_is_given_up, begin, end),
	    cmocka_unit_test_setup_teardown(a_lock_in_use_is_refused, begin, end),
	    cmocka_unit_test_setup_teardown(a_waiter_is_in_the_way, begin, end),
	    cmocka_unit_test_setup_teardown(a_stopped_process, begin, end),
	    cmocka_unit_test_setup_teardown(a_dead_process, begin, end),
	    cmocka_unit_test(the_hold_time_counts_as_caching),
	    cmocka_unit_test(a_holder_in_a_slot),
	    cmocka_unit_test(a_long_write_back),
	    cmocka_unit_test(the_wait_follows_the_hand_overs),
	};

	actor_main(argc, argv);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
