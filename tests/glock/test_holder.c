/* SPDX-License-Identifier: MIT */
/*
 * test_holder.c - tests requests and releases: every error and flag, several at once, lock order.
 */
#include "glock/fast/word.h"
#include "glock/state/busy.h"

#include "rig.h"

static struct glock_holder a, b, c;
static struct glock *gl;

static int setup(void **state)
{
	(void)state;
	rig_open(GLOCK_SPACE_CHECK_ORDER);
	gl = rig_glock(GLOCK_INODE, 100);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	glock_put(gl);
	rig_close();
	return 0;
}

static int nq(struct glock_holder *gh, struct glock *on, enum glock_mode mode, unsigned int flags)
{
	glock__holder_init(gh, on, mode, flags | GLOCK_ASYNC);
	return glock_nq(gh);
}

/*
 * Promises: glock_holder_init: "glock_nq() reports a"; glock_nq: "-EINVAL mode, flags", "Also: the
 * holder".
 */
static void holder_refuses_nonsense(void **state)
{
	struct glock *rgrp = rig_glock(GLOCK_RGRP, 1), *own = rig_glock(10, 1), *none;

	(void)state;
	assert_int_equal(nq(&a, gl, GLOCK_UN, 0), -EINVAL);
	assert_int_equal(nq(&a, gl, 17, 0), -EINVAL);
	assert_int_equal(nq(&a, gl, GLOCK_SH, GLOCK_FLAGS_ALL + 1), -EINVAL);
	assert_int_equal(nq(&a, gl, GLOCK_SH, GLOCK_TRY | GLOCK_TRY_1CB), -EINVAL);
	assert_int_equal(nq(&a, gl, GLOCK_SH, GLOCK_TRY | GLOCK_TRY_CACHED), -EINVAL);
	assert_int_equal(nq(&a, gl, GLOCK_SH, GLOCK_TRY_1CB | GLOCK_TRY_CACHED), -EINVAL);
	assert_int_equal(nq(&a, gl, GLOCK_EX, GLOCK_ANY), -EINVAL);
	assert_int_equal(nq(&a, gl, GLOCK_SH, GLOCK_PRIORITY), -EINVAL);
	/* of GFS2's types only inodes have DF; a program's own type may have it */
	assert_int_equal(nq(&a, rgrp, GLOCK_DF, 0), -EINVAL);
	assert_non_null(strstr(rig.messages, "test_holder.c:")); /* the call site */
	rig_expect_message("mode");
	assert_int_equal(nq(&a, own, GLOCK_DF, 0), 0);
	rig_run();
	rig_answer(0);
	/* already queued */
	assert_int_equal(glock_nq(&a), -EINVAL);
	rig_expect_message("queued already");
	rig_dq(&a);
	/* not queued at all */
	assert_int_equal(glock_dq(&a), -EINVAL);
	assert_int_equal(glock_wait(&a, 0, 0), -EINVAL);
	memset(&a, 0, sizeof(a));
	assert_int_equal(glock_nq(&a), -EINVAL);
	assert_int_equal(glock_dq(&a), -EINVAL);
	assert_int_equal(glock_cancel(&a), -EINVAL);
	assert_int_equal(glock_get(rig.space, 11, 1, &none), -EINVAL);
	assert_int_equal(glock_get(rig.space, GLOCK_TYPE_MAX, 1, &none), -EINVAL);
	glock_put(rgrp);
	glock_put(own);
}

/* PRIORITY: goes before all waiters; for journals during recovery. */
/* A glock that the program has put is free, or another thread uses it. */
/* Promises: glock_nq: "Also: the program". */
static void holder_without_a_reference(void **state)
{
	struct glock_holder gh;
	struct glock *gl;

	(void)state;
	rig_open(0);
	gl = rig_glock(GLOCK_INODE, 1);
	glock_put(gl);
	for (unsigned int flags = 0; flags <= GLOCK_ASYNC; flags += GLOCK_ASYNC) {
		*rig.messages = '\0';
		glock__holder_init(&gh, gl, GLOCK_EX, flags);
		assert_int_equal(glock_nq(&gh), -EINVAL);
		assert_non_null(strstr(rig.messages, "no reference"));
		assert_int_equal(glock_dq(&gh), -EINVAL);
	}
	rig_expect("");
	rig_close();
}

/* Promises: GLOCK_PRIORITY: "a journal in". */
static void holder_priority(void **state)
{
	struct glock *journal = rig_glock(GLOCK_JOURNAL, 0);

	(void)state;
	rig_nq(&a, journal, GLOCK_EX, 0);
	rig_nq(&b, journal, GLOCK_EX, 0);
	assert_int_equal(nq(&c, journal, GLOCK_EX, GLOCK_PRIORITY), -EINVAL);
	rig.lm.events->block(rig.space);
	assert_int_equal(nq(&c, gl, GLOCK_EX, GLOCK_PRIORITY), -EINVAL);
	assert_int_equal(nq(&c, journal, GLOCK_EX, GLOCK_PRIORITY | GLOCK_RECOVER), 0);
	rig_answer(0);
	assert_true(glock_poll(&c));
	assert_false(glock_poll(&a));
	rig.lm.events->thaw(rig.space);
	rig_dq(&c);
	assert_true(glock_poll(&a));
	/* Without RECOVER it waits for the end of the recovery, but before b. */
	rig.lm.events->block(rig.space);
	assert_int_equal(nq(&c, journal, GLOCK_EX, GLOCK_PRIORITY), 0);
	rig_dq(&a);
	rig.lm.events->thaw(rig.space);
	rig_run();
	assert_true(glock_poll(&c));
	assert_false(glock_poll(&b));
	rig_dq(&c);
	rig_dq(&b);
	glock_put(journal);
}

static void nq_priority_in_lock(const char *op, struct glock *on, struct glock_holder *gh)
{
	(void)gh;
	if (strcmp(op, "lock") || on->flags & GLOCK__F_ENTERED)
		return;
	glock_holder_init(&c, on, GLOCK_EX, GLOCK_PRIORITY | GLOCK_RECOVER | GLOCK_ASYNC);
	glock_holder_owner(&c, 4712);
	assert_int_equal(glock_nq(&c), 0);
	rig.in_op = NULL;
}

/* A granted holder whose lock operation runs stays at the head, even before PRIORITY. */
static void holder_priority_while_entering(void **state)
{
	struct glock *journal = rig_glock(GLOCK_JOURNAL, 0);

	(void)state;
	rig.lm.events->block(rig.space);
	rig_nq(&a, journal, GLOCK_EX, GLOCK_RECOVER);
	rig.in_op = nq_priority_in_lock;
	rig_answer(0);
	assert_null(rig.in_op);
	assert_true(glock_valid(&a));
	assert_false(glock_poll(&c));
	assert_ptr_equal(glock__next_holder(journal, NULL), gh_of(&a));
	rig_dq(&a);
	assert_true(glock_valid(&c));
	rig_dq(&c);
	rig.lm.events->thaw(rig.space);
	glock_put(journal);
}

/* The same owner asks twice. The error names both places. The request neither hangs nor aborts. */
/*
 * Promises: Deadlocks: "If an owner"; GLOCK_OPS_RECUR: "one owner may"; glock_holder_init: "The
 * owner of", "If a coroutine"; glock_nq: "-EDEADLK this owner".
 */
static void holder_recursion(void **state)
{
	static const enum glock_mode modes[] = {GLOCK_SH, GLOCK_DF, GLOCK_EX};
	struct glock *flock = rig_glock(GLOCK_FLOCK, 1);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(modes); j++) {
			assert_int_equal(nq(&a, gl, modes[i], 0), 0);
			rig_run();
			assert_int_equal(nq(&b, gl, modes[j], 0), -EDEADLK);
			if (rig.open) /* the holder waits for itself as well */
				rig_answer(0);
			assert_int_equal(nq(&b, gl, modes[j], 0), -EDEADLK);
			rig_dq(&a);
		}
	}
	glock_holder_init(&a, gl, GLOCK_SH, GLOCK_ASYNC);
	assert_int_equal(glock_nq_at(&a, "first.c:1"), 0);
	rig_run();
	if (rig.open)
		rig_answer(0);
	glock_holder_init(&b, gl, GLOCK_SH, GLOCK_ASYNC);
	assert_int_equal(glock_nq_at(&b, "second.c:2"), -EDEADLK);
	assert_non_null(strstr(rig.messages, "first.c:1"));
	rig_expect_message("second.c:2");
	/* another owner, named by the program, may */
	glock_holder_owner(&b, 4711);
	assert_int_equal(glock_nq(&b), 0);
	rig_dq(&b);
	rig_dq(&a);
	/* a NOPID holder has no owner and blocks no owner; flocks are exempt */
	rig_nq(&a, gl, GLOCK_SH, GLOCK_NOPID);
	assert_int_equal(nq(&b, gl, GLOCK_SH, 0), 0);
	rig_dq(&a);
	rig_dq(&b);
	assert_int_equal(nq(&a, flock, GLOCK_SH, 0), 0);
	assert_int_equal(nq(&b, flock, GLOCK_SH, 0), 0);
	rig_run();
	rig_answer(0);
	assert_true(glock_poll(&a) && glock_poll(&b));
	rig_dq(&a);
	rig_dq(&b);
	glock_put(flock);
}

/* Promises: glock_nq: "TRY_CACHED, TRY_1CB: it". */
static void holder_try_is_futile(void **state)
{
	(void)state;
	rig_hold(&a, gl, GLOCK_SH, 0);
	/* an incompatible holder */
	glock__holder_init(&c, gl, GLOCK_EX, GLOCK__TRY_NOQUEUE);
	assert_int_equal(glock_nq(&c), -EAGAIN);
	/* compatible, but a waiter is queued that is no try */
	rig_nq(&b, gl, GLOCK_EX, 0);
	glock__holder_init(&c, gl, GLOCK_SH, GLOCK__TRY_NOQUEUE);
	assert_int_equal(glock_nq(&c), -EAGAIN);
	assert_int_equal(look(gl).counts.tries_failed, 2);
	assert_int_equal(gl_record(gl)->stats.v[GLOCK__QCOUNT], 2);
	rig_dq(&b);
	glock__holder_init(&c, gl, GLOCK_SH, GLOCK__TRY_NOQUEUE);
	assert_int_equal(glock_nq(&c), 0);
	rig_dq(&c);
	rig_dq(&a);
}

/* Promises: GLOCK_NOBLOCK: "without sleeping and"; glock_nq: "-ECHILD NOBLOCK: it". */
static void holder_noblock(void **state)
{
	(void)state;
	glock_holder_init(&a, gl, GLOCK_SH, GLOCK_NOBLOCK);
	assert_int_equal(glock_nq(&a), -ECHILD);
	rig_hold(&b, gl, GLOCK_SH, 0);
	assert_int_equal(glock_nq(&a), 0);
	assert_true(glock_valid(&a));
	/* not counted as queued */
	assert_int_equal(gl_record(gl)->stats.v[GLOCK__QCOUNT], 1);
	rig_nq(&c, gl, GLOCK_EX, 0);
	rig_dq(&a);
	glock_holder_init(&a, gl, GLOCK_SH, GLOCK_NOBLOCK);
	assert_int_equal(glock_nq(&a), -ECHILD);
	rig_dq(&c);
	/* and not while a demand is due, because other nodes come first */
	rig_pass(201 * RIG_MS);
	rig_bast(gl, GLOCK__EX);
	assert_int_equal(glock_nq(&a), -ECHILD);
	rig_dq(&b);
	rig_answer(0);
}

static void holder_any_and_exact(void **state)
{
	(void)state;
	rig_hold(&a, gl, GLOCK_DF, 0);
	rig_dq(&a);
	*rig.log = '\0';
	rig_nq(&a, gl, GLOCK_SH, GLOCK_ANY);
	assert_true(glock_poll(&a));
	/* a request with ANY may join; a plain SH may not, because the mode is DF */
	rig_nq(&b, gl, GLOCK_SH, GLOCK_ANY);
	assert_true(glock_poll(&b));
	rig_nq(&c, gl, GLOCK_SH, 0);
	assert_false(glock_poll(&c));
	rig_dq(&b);
	rig_dq(&c);
	rig_dq(&a);
	rig_expect("");
	rig_hold(&a, gl, GLOCK_EX, 0);
	rig_dq(&a);
	*rig.log = '\0';
	rig_nq(&a, gl, GLOCK_SH, GLOCK_EXACT);
	rig_expect("th:SH:3 convert:PR");
	rig_answer(0);
	assert_true(glock_poll(&a));
	rig_dq(&a);
}

/*
 * Promises: glock_downgrade: "Changes a holder", "Other requests of", "-EINVAL not held", "-EBUSY
 * the holder"; glock_of: "After a downgrade".
 */
static void holder_downgrade(void **state)
{
	struct glock *scope = rig_glock(GLOCK_RGRP, 3);

	(void)state;
	rig_hold(&a, gl, GLOCK_EX, 0);
	rig_nq(&b, gl, GLOCK_SH, 0);
	assert_false(glock_poll(&b));
	assert_int_equal(glock_downgrade(&a, GLOCK_UN), -EINVAL);
	assert_int_equal(glock_downgrade(&a, GLOCK_EX), -EINVAL);
	assert_int_equal(glock_downgrade(&b, GLOCK_SH), -EINVAL);
	assert_int_equal(glock_downgrade(&a, GLOCK_SH), 0);
	assert_int_equal(glock_mode_of(&a), GLOCK_SH);
	assert_true(glock_poll(&b));
	assert_int_equal(glock_downgrade(&a, GLOCK_DF), -EINVAL);
	rig_dq(&a);
	rig_dq(&b);
	rig_hold(&a, scope, GLOCK_EX, GLOCK_NODE_SCOPE);
	rig_hold(&b, scope, GLOCK_EX, GLOCK_NODE_SCOPE);
	assert_int_equal(glock_downgrade(&a, GLOCK_SH), -EBUSY);
	assert_int_equal(glock_downgrade(&b, GLOCK_SH), -EBUSY);
	rig_dq(&b);
	assert_int_equal(glock_downgrade(&a, GLOCK_SH), 0);
	rig_dq(&a);
	glock_put(scope);
}

/*
 * Promises: glock_lvb_read: "Read and write", "-ENODATA no value", "-EOPNOTSUPP the type", "-EPERM
 * not held".
 */
static void holder_value_block(void **state)
{
	struct glock *rgrp = rig_glock(GLOCK_RGRP, 3);
	char value[GLOCK_LVB_SIZE] = "value", got[GLOCK_LVB_SIZE];

	(void)state;
	rig_hold(&a, rgrp, GLOCK_SH, 0);
	assert_int_equal(glock_lvb_read(&a, got), -ENODATA);
	assert_int_equal(glock_lvb_write(&a, value), -EPERM);
	rig_dq(&a);
	assert_int_equal(glock_lvb_read(&a, got), -EPERM);
	rig_hold(&a, rgrp, GLOCK_EX, 0);
	assert_int_equal(glock_lvb_write(&a, value), 0);
	assert_int_equal(glock_lvb_read(&a, got), 0);
	assert_memory_equal(got, value, sizeof(value));
	rig_dq(&a);
	rig_hold(&a, gl, GLOCK_EX, 0);
	assert_int_equal(glock_lvb_read(&a, got), -EOPNOTSUPP);
	rig_dq(&a);
	glock_put(rgrp);
}

/* Sorted by number. All or none are held. No holder appears twice. */
/* Promises: glock_nq_m: "glock_nq_m_at() asks for", "Waits for each", "After an error". */
static void holder_several_in_order(void **state)
{
	struct glock *g[3] = {rig_glock(GLOCK_INODE, 30), rig_glock(GLOCK_INODE, 10),
			      rig_glock(GLOCK_INODE, 20)};
	struct glock *meta = rig_glock(GLOCK_META, 5);
	struct glock_holder gh[3], other;
	char buf[200];
	uint64_t cursor = 0;

	(void)state;
	rig.answer_at_once = true;
	for (int i = 0; i < 3; i++)
		glock_holder_init(&gh[i], g[i], GLOCK_EX, 0);
	assert_int_equal(glock_nq_m(3, gh), 0);
	for (uint64_t want = 10; want <= 30;) {
		assert_int_equal(trace_next(rig.space, &cursor, buf, sizeof(buf)), 1);
		if (!strncmp(buf, "gfs2_promote: ", 14)) {
			char line[64];

			snprintf(line, sizeof(line), "gfs2_promote: 0,0 glock 2:%d promote EX",
				 (int)want);
			assert_string_equal(buf, line);
			want += 10;
		}
	}
	glock_dq_m(3, gh);
	/* The number decides before the type. Glocks of type meta have no place in the order. */
	glock_holder_init(&gh[0], g[0], GLOCK_EX, 0);
	glock_holder_init(&gh[1], meta, GLOCK_EX, 0);
	assert_int_equal(glock_nq_m(2, gh), 0);
	do
		assert_int_equal(trace_next(rig.space, &cursor, buf, sizeof(buf)), 1);
	while (!strstr(buf, "queue EX") || strstr(buf, "dequeue"));
	assert_non_null(strstr(buf, "glock 4:5 queue EX"));
	glock_dq_m(2, gh);
	glock_put(meta);
	/* the last one fails, so none is held */
	rig_hold(&other, g[0], GLOCK_SH, 0);
	for (int i = 0; i < 3; i++)
		glock__holder_init(&gh[i], g[i], GLOCK_EX, GLOCK__TRY_NOQUEUE);
	assert_int_equal(glock_nq_m(3, gh), -EAGAIN);
	for (int i = 0; i < 3; i++)
		assert_false(glock_valid(&gh[i]));
	rig_dq(&other);
	glock_holder_init(&gh[1], g[0], GLOCK_EX, 0);
	assert_int_equal(glock_nq_m(2, gh), -EINVAL);
	assert_int_equal(glock_nq_m(0, gh), 0);
	for (int i = 0; i < 3; i++)
		glock_put(g[i]);
}

/*
 * Two glocks of the same place in the wrong order are an error. The message tells the owner both
 * places.
 */
/*
 * Promises: What to know before using it: "The log callback"; GLOCK_SPACE_CHECK_ORDER: "waiting for
 * locks"; glock_nq: "-EDEADLK this owner".
 */
static void holder_lock_order(void **state)
{
	struct glock *rename = rig_glock(GLOCK_NONDISK, 3), *r1 = rig_glock(GLOCK_RGRP, 1),
		     *r2 = rig_glock(GLOCK_RGRP, 2), *iopen = rig_glock(GLOCK_IOPEN, 100);

	(void)state;
	rig.answer_at_once = true;
	glock_holder_init(&a, r2, GLOCK_SH, GLOCK_SKIP);
	assert_int_equal(glock_nq(&a), 0);
	/* an inode after a resource group, a lower number after a higher one */
	glock_holder_init(&b, gl, GLOCK_SH, 0);
	assert_int_equal(glock_nq(&b), -EDEADLK);
	rig_expect_message("comes later in the lock order");
	glock_holder_init(&b, r1, GLOCK_SH, GLOCK_SKIP);
	assert_int_equal(glock_nq(&b), -EDEADLK);
	/* a try cannot deadlock; another owner is independent */
	glock__holder_init(&b, r1, GLOCK_SH, GLOCK_SKIP | GLOCK__TRY_NOQUEUE);
	assert_int_equal(glock_nq(&b), 0);
	rig_dq(&b);
	glock_holder_owner(&b, 5);
	assert_int_equal(glock_nq(&b), 0);
	rig_dq(&b);
	rig_dq(&a);
	/* two places side by side: the iopen glock comes directly after the inode */
	glock_holder_init(&a, iopen, GLOCK_SH, 0);
	assert_int_equal(glock_nq(&a), 0);
	glock_holder_init(&b, gl, GLOCK_SH, 0);
	assert_int_equal(glock_nq(&b), -EDEADLK);
	rig_dq(&a);
	glock_put(iopen);
	/* the right order: rename, inode, rgrp */
	glock_holder_init(&a, rename, GLOCK_EX, 0);
	glock_holder_init(&b, gl, GLOCK_SH, 0);
	glock_holder_init(&c, r1, GLOCK_SH, GLOCK_SKIP);
	assert_int_equal(glock_nq(&a), 0);
	assert_int_equal(glock_nq(&b), 0);
	assert_int_equal(glock_nq(&c), 0);
	rig_dq(&c);
	rig_dq(&b);
	rig_dq(&a);
	glock_put(rename);
	glock_put(r1);
	glock_put(r2);
}

static int in_op_result;

/* In an operation that may block: a request is granted immediately or refused. It does not hang. */
static void nq_in_work(const char *op, struct glock *on, struct glock_holder *gh)
{
	struct glock_holder mine;
	struct glock *other = rig_glock(GLOCK_INODE, 7);

	(void)gh;
	(void)on;
	if (!strcmp(op, "xmote_th")) {
		glock_holder_init(&mine, other, GLOCK_EX, 0);
		in_op_result = glock_nq(&mine);
		if (!in_op_result)
			glock_dq(&mine);
	}
	glock_put(other);
}

/* Promises: Callbacks: "In these operations"; glock_nq: "Also: the caller". */
static void holder_waiting_in_work_is_refused(void **state)
{
	(void)state;
	rig.in_op = nq_in_work;
	in_op_result = 0;
	rig_nq(&a, gl, GLOCK_SH, 0);
	rig.in_op = NULL;
	assert_int_equal(in_op_result, -EDEADLK);
	rig_answer(0);
	rig_dq(&a);
	rig_run();
}

/* Two types of the program in one place of the order: numbers count within a type only. */
/* Promises: GLOCK_OPS_BY_NUMBER: "its glocks are". */
static void holder_order_of_numbers(void **state)
{
	struct glock_type_options types[] = {
	    {.size = sizeof(types[0]),
	     .type = GLOCK_TYPE_OWN,
	     .flags = GLOCK_OPS_BY_NUMBER,
	     .order = 3},
	    {.size = sizeof(types[0]),
	     .type = GLOCK_TYPE_OWN + 1,
	     .flags = GLOCK_OPS_BY_NUMBER,
	     .order = 3},
	};
	struct glock_space_options o = {.size = sizeof(o),
					.types = types,
					.n_types = ARRAY_SIZE(types),
					.flags = GLOCK_SPACE_CHECK_ORDER};
	struct glock *one, *other, *lower;

	(void)state;
	rig_open_with(&o);
	rig.answer_at_once = true;
	one = rig_glock(GLOCK_TYPE_OWN, 7);
	lower = rig_glock(GLOCK_TYPE_OWN, 6);
	other = rig_glock(GLOCK_TYPE_OWN + 1, 5);
	glock_holder_init(&a, one, GLOCK_SH, 0);
	assert_int_equal(glock_nq(&a), 0);
	glock_holder_init(&b, other, GLOCK_SH, 0);
	assert_int_equal(glock_nq(&b), 0);
	rig_dq(&b);
	glock_holder_init(&b, lower, GLOCK_SH, 0);
	assert_int_equal(glock_nq(&b), -EDEADLK);
	rig_dq(&a);
	glock_put(one);
	glock_put(lower);
	glock_put(other);
	rig_close();
}

#define HOLDER_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    HOLDER_TEST(holder_refuses_nonsense),
	    cmocka_unit_test(holder_without_a_reference),
	    HOLDER_TEST(holder_priority),
	    HOLDER_TEST(holder_priority_while_entering),
	    HOLDER_TEST(holder_recursion),
	    HOLDER_TEST(holder_try_is_futile),
	    HOLDER_TEST(holder_noblock),
	    HOLDER_TEST(holder_any_and_exact),
	    HOLDER_TEST(holder_downgrade),
	    HOLDER_TEST(holder_value_block),
	    HOLDER_TEST(holder_several_in_order),
	    HOLDER_TEST(holder_lock_order),
	    cmocka_unit_test(holder_order_of_numbers),
	    HOLDER_TEST(holder_waiting_in_work_is_refused),
	};

	return RUN_TESTS(tests);
}
