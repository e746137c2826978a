/* SPDX-License-Identifier: MIT */
/*
 * test_frozen.c - freezes a process in a lock table by a control group, of each version that this
 * machine has. Other processes take the table over, as from a stopped process.
 */
#include "freezer.h"
#include "inside.h"

#include "glock.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { LOCKS = 64, ROUNDS = 5, TRIES = 20000 };

static struct freezer freezers[FREEZERS];
static size_t n_freezers;

/* Freezes the process while it has a table. */
static bool freeze_inside(const struct freezer *f, pid_t pid)
{
	for (int i = 0; i < TRIES; i++) {
		const struct timespec pause = {.tv_nsec = 1000 * (random() % 50)};

		if (!freezer_freeze(f, true))
			return false;
		while (!freezer_is_frozen(f))
			nanosleep(&pause, NULL);
		if (inside_has_table("frozen", pid))
			return true;
		freezer_freeze(f, false);
		nanosleep(&pause, NULL);
	}
	return false;
}

static int guarded = -1; /* the write end of a pipe, in this process only */

/* ---- processes ---- */

static int *stop; /* an atom; in memory of both processes */
static pid_t child;

static struct glock_space *open_frozen(struct glock **gls, uint64_t first)
{
	const struct glock_space_options o = {.size = sizeof(o), .lockman = "local"};
	struct glock_space *space;

	if (glock_space_open("frozen", &o, &space))
		return NULL;
	for (uint64_t i = 0; i < LOCKS; i++)
		if (glock_get(space, GLOCK_NONDISK, first + i, &gls[i]))
			return NULL;
	return space;
}

static void close_frozen(struct glock_space *space, struct glock **gls)
{
	for (int i = 0; i < LOCKS; i++)
		glock_put(gls[i]);
	assert_int_equal(glock_space_close(space), 0);
}

static void works(void)
{
	struct glock *gls[LOCKS];
	struct glock_space *space = open_frozen(gls, 1000);
	struct glock_holder gh;

	close(guarded);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned int i = 0; space && !__atomic_load_n(stop, __ATOMIC_ACQUIRE); i++) {
		glock_holder_init(&gh, gls[i % LOCKS], GLOCK_EX, GLOCK_NOCACHE);
		if (glock_nq(&gh) || glock_dq_wait(&gh))
			_exit(1);
	}
	for (int i = 0; space && i < LOCKS; i++)
		glock_put(gls[i]);
	_exit(!space || glock_space_close(space));
}

/* Each request for another lock ends while the process is frozen. */
static void ask_for_others(struct glock **gls)
{
	static const unsigned int ways[] = {0, GLOCK_TRY, GLOCK_TRY_CACHED, GLOCK_TRY_1CB};
	struct glock_holder gh;

	for (unsigned int i = 0; i < LOCKS; i++) {
		const unsigned int way = ways[i % 4];
		int err;

		glock_holder_init(&gh, gls[i], GLOCK_EX, GLOCK_NOCACHE | way);
		err = glock_nq(&gh);
		assert_true(!err || (way && (err == -EAGAIN || err == -EBUSY)));
		if (!err)
			assert_int_equal(glock_dq(&gh), 0);
	}
}

static void frozen_by(const struct freezer *f)
{
	struct glock *gls[LOCKS];
	struct glock_space *space;
	struct inside in;
	int status;

	*stop = 0;
	child = fork();
	if (!child)
		works();
	assert_true(freezer_add(f, child));
	space = open_frozen(gls, 5000);
	assert_non_null(space);
	for (int i = 0; i < ROUNDS; i++) {
		assert_true(freeze_inside(f, child));
		ask_for_others(gls);
		assert_true(freezer_is_frozen(f));
		assert_true(freezer_freeze(f, false));
	}
	__atomic_store_n(stop, 1, __ATOMIC_RELEASE);
	assert_int_equal(waitpid(child, &status, 0), child);
	child = 0;
	assert_int_equal(status, 0);
	inside_look("frozen", &in);
	assert_null(in.wrong);
	assert_true(in.stolen > 0);
	close_frozen(space, gls);
}

static void frozen_inside_a_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_freezers; i++)
		frozen_by(&freezers[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(frozen_inside_a_table)};
	pid_t guard;
	int failed;

	n_freezers = freezers_make(freezers);
	if (!n_freezers) {
		puts("1..0 # SKIP needs freezer");
		return 0;
	}
	stop = mmap(NULL, sizeof(*stop), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	guard = freezers_guard(freezers, n_freezers, &guarded);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (child > 0)
		kill(child, SIGKILL);
	close(guarded);
	waitpid(guard, NULL, 0);
	return failed;
}
