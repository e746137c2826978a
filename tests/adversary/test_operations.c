/* SPDX-License-Identifier: MIT */
/*
 * test_operations.c - tests which thread runs an operation, and which calls an operation may make.
 *
 * Also what the log says of an operation that breaks a rule.
 */
#include "watched.h"

/* ---- which thread ---- */

/*
 * Promises: Callbacks: "unlock runs in"; glock_ops: "unlock yes no"; glock_dq: "At once, except".
 */
static void unlock_runs_in_dq(void)
{
	struct glock_holder gh;

	begin_watched(0);
	for (int i = 1; i <= 20; i++) {
		SAME(ask(&gh, i % 2 ? GLOCK_EX : GLOCK_SH, i % 3 ? 0 : GLOCK_NOCACHE), 0);
		SAME(did.unlocks, i - 1);
		SAME(i % 5 ? glock_dq(&gh) : glock_dq_wait(&gh), 0);
		SAME(did.unlocks, i);
		CHECK(pthread_equal(did.unlock, pthread_self()));
	}
	end();
}

/*
 * Promises: Callbacks: "callback, demote_ok, dump, pages and lost run on"; glock_ops: "lost
 * sometimes yes"; glock_withdraw: "The lost operation".
 */
static void lost_runs_in_withdraw(void)
{
	struct glock_holder gh;

	begin_watched(0);
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	glock_withdraw(space);
	SAME(did.losses, 1);
	CHECK(pthread_equal(did.lost, pthread_self()));
	SAME(glock_dq(&gh), 0);
	end();
}

/* No operation runs, and no request is granted, before a thread dispatches. */
/*
 * Promises: Callbacks: "Operations of a", "with GLOCK_SPACE_DISPATCH, each"; GLOCK_SPACE_DISPATCH:
 * "the program runs"; glock_space_fd: "glock_dispatch() does the", "Callbacks run in"; glock_nq:
 * "The operations instantiate"; glock_poll: "With GLOCK_SPACE_DISPATCH the".
 */
static void dispatch_runs_all(void)
{
	struct glock_holder gh;

	begin_watched(GLOCK_SPACE_DISPATCH);
	SAME(ask(&gh, GLOCK_EX, GLOCK_ASYNC), 0);
	nap(50 * MS);
	SAME(did.ths, 0);
	SAME(glock_poll(&gh), 0);
	while (!glock_poll(&gh)) {
		CHECK(glock_dispatch(space) >= 0);
		breathe();
	}
	CHECK(did.ths > 0 && pthread_equal(did.th, pthread_self()));
	SAME(glock_dispatch(space), 0);
	SAME(glock_dq(&gh), 0);
	end();
}

/* Promises: Callbacks: "glock_sync() calls xmote_th"; glock_ops: "xmote_th yes no". */
static void sync_runs_on_its_caller(void)
{
	struct glock_holder gh;

	begin_watched(0);
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	for (int i = 0; i < 4; i++) {
		did.ths = 0;
		did.th = 0;
		SAME(i % 2 ? glock_sync(gl) : glock_space_sync(space), 0);
		SAME(did.ths, 1);
		CHECK(pthread_equal(did.th, pthread_self()));
		if (i == 1)
			SAME(glock_dq(&gh), 0);
	}
	end();
}

/* After the close no thread is left that could call back. */
/* Promises: glock_space_close: "After 0 or". */
static void closed_for_good(void)
{
	struct glock_holder gh;
	int ths;

	begin_watched(0);
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	SAME(glock_dq(&gh), 0);
	CHECK(threads_named("glock-") > 0);
	end();
	ths = did.ths;
	CHECK(did.invals > 0); /* the cache went before */
	SAME(threads_named("glock-"), 0);
	nap(20 * MS);
	SAME(did.ths, ths);
}

/* ---- messages about an operation ---- */

static char said[1000];

static void keep_message(void *arg, const char *message)
{
	(void)arg;
	snprintf(said, sizeof(said), "%s", message);
}

static void wrong_dump(struct glock *of, glock_print_fn *print, void *to)
{
	struct glock *found;

	(void)of, (void)print, (void)to;
	SAME(glock_get(space, 10, 2, &found), -EDEADLK);
}

/* A message about an operation has eight bytes of the name of the type. */
/* Promises: name: "the library uses". */
static void long_names(void)
{
	static const struct glock_ops wrong_ops = {.size = sizeof(wrong_ops), .dump = wrong_dump};
	const struct glock_type_options type = {
	    .size = sizeof(type), .type = 10, .name = "ninebytes and more", .ops = &wrong_ops};
	struct glock_holder gh;

	space = open_space_with(
	    (struct glock_space_options){.types = &type, .n_types = 1, .log = keep_message});
	gl = get(space, 10, 1);
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	SAME(glock_dump(space, GLOCK_FILE_GLOCKS, GLOCK_FORMAT_LINUX_7_0, drop_text, NULL), 0);
	CHECK(strstr(said, "ninebyte") && !strstr(said, "ninebytes"));
	SAME(glock_dq(&gh), 0);
	end();
}

/* ---- calls in operations ---- */

static struct glock_holder of_other;
static _Atomic int wrong_calls;

/* Each of these would wait for the thread that runs the operation. */
static int waits_in_th(struct glock *of)
{
	if (of != gl)
		return 0;
	SAME(glock_dq_wait(&of_other), -EDEADLK);
	SAME(glock_valid(&of_other), 0); /* let go all the same */
	SAME(glock_dq(&of_other), -EINVAL);
	SAME(glock_dispatch(space), -EDEADLK);
	SAME(glock_space_close(space), -EDEADLK);
	wrong_calls++;
	did.in_th = NULL;
	return 0;
}

/*
 * Promises: Callbacks: "glock_dq_wait(), glock_dispatch() and"; glock_space_close: "-EDEADLK called
 * from"; glock_space_fd: "-EDEADLK called from"; glock_dq_wait: "-EDEADLK: called from".
 */
static void waits_in_operations(void)
{
	struct glock_holder gh;

	begin_watched(GLOCK_SPACE_DISPATCH);
	other = get(space, GLOCK_RGRP, 1);
	glock_holder_init(&of_other, other, GLOCK_EX, GLOCK_NOPID);
	SAME(glock_nq(&of_other), 0);
	did.in_th = waits_in_th;
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	SAME(wrong_calls, 1);
	SAME(glock_dq(&gh), 0);
	glock_put(other);
	end();
}

static struct glock_holder held_now;

/* Under the internal lock: a function that needs the lock says so. The others work. */
static void calls_under_the_lock(struct glock *of)
{
	char value[GLOCK_LVB_SIZE] = {0};
	struct glock_statistics stats = {.size = sizeof(stats)};
	struct glock_holder gh;
	struct glock *found;
	uint64_t token;

	if (of != gl)
		return;
	SAME(glock_get(space, GLOCK_INODE, 5, &found), -EDEADLK);
	glock_holder_init(&gh, of, GLOCK_SH, GLOCK_TRY);
	SAME(glock_nq(&gh), -EDEADLK);
	SAME(glock_nq_m(1, &gh), -EDEADLK);
	SAME(glock_dq(&held_now), -EDEADLK);
	SAME(glock_dq_wait(&held_now), -EDEADLK);
	SAME(glock_cancel(&held_now), -EDEADLK);
	SAME(glock_downgrade(&held_now, GLOCK_SH), -EDEADLK);
	SAME(glock_lvb_read(&held_now, value), -EDEADLK);
	SAME(glock_lvb_write(&held_now, value), -EDEADLK);
	SAME(glock_statistics(of, &stats), -EDEADLK);
	SAME(glock_dump(space, GLOCK_FILE_GLOCKS, GLOCK_FORMAT_LINUX_7_0, drop_text, NULL),
	     -EDEADLK);
	SAME(glock_dispatch(space), -EDEADLK);
	SAME(glock_space_close(space), -EDEADLK);
	SAME(glock_wait(&held_now, 0, 0), 0);
	CHECK(glock_valid(&held_now) && glock_poll(&held_now));
	CHECK(glock_of(&held_now) == of && glock_mode_of(&held_now) == GLOCK_EX);
	SAME(glock_token(&held_now, &token), 0);
	wrong_calls++;
	did.in_callback = NULL;
}

/* Another node demands the lock, so that callback runs while this node holds it. */
/*
 * Promises: Callbacks: "They must return", "A function that"; What to know before using it: "in the
 * operations".
 */
static void under_the_lock(void)
{
	struct glock_space *second;
	struct glock *its_glock;
	struct glock_holder gh;

	begin_watched(0);
	second = open_space(NULL, 0, 0);
	its_glock = get(second, GLOCK_INODE, 1);
	SAME(ask(&held_now, GLOCK_EX, 0), 0);
	did.in_callback = calls_under_the_lock;
	glock_holder_init(&gh, its_glock, GLOCK_EX, GLOCK_ASYNC);
	SAME(glock_nq(&gh), 0);
	UNTIL(wrong_calls);
	SAME(glock_dq(&held_now), 0);
	SAME(glock_wait(&gh, 0, 0), 0);
	SAME(glock_dq(&gh), 0);
	glock_put(its_glock);
	SAME(glock_space_close(second), 0);
	end();
}

static int asks_while_closing(struct glock *of)
{
	struct glock_holder gh;
	struct glock *found;

	SAME(glock_get(space, GLOCK_INODE, 77, &found), -ESHUTDOWN);
	SAME(glock_get(space, glock_type_of(of), glock_number(of), &found), -ESHUTDOWN);
	glock_holder_init(&gh, of, GLOCK_SH, GLOCK_TRY);
	SAME(glock_nq(&gh), -ESHUTDOWN);
	wrong_calls++;
	return 0;
}

/* Promises: glock_get: "-ESHUTDOWN the space"; glock_nq: "-ESHUTDOWN the space". */
static void while_closing(void)
{
	struct glock_holder gh;

	begin_watched(0);
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	SAME(glock_dq(&gh), 0);
	did.in_th = asks_while_closing;
	end();
	SAME(wrong_calls, 1);
}

int main(void)
{
	static const struct test tests[] = {
	    {"unlock_runs_in_dq", unlock_runs_in_dq, NULL},
	    {"lost_runs_in_withdraw", lost_runs_in_withdraw, NULL},
	    {"dispatch_runs_all", dispatch_runs_all, NULL},
	    {"sync_runs_on_its_caller", sync_runs_on_its_caller, NULL},
	    {"closed_for_good", closed_for_good, NULL},
	    {"long_names", long_names, NULL},
	    {"waits_in_operations", waits_in_operations, NULL},
	    {"under_the_lock", under_the_lock, "local"},
	    {"while_closing", while_closing, NULL},
	};

	return run_tests(tests, COUNT(tests));
}
