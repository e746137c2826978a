/* SPDX-License-Identifier: MIT */
/*
 * test_cancel.c - tests requests that are taken back, and locks that are given back.
 */
#include "glock/state/busy.h"
#include "glock/state/find.h"

#include "rig.h"

static struct glock_holder a, b, c;

/* Of the idle glocks of a part, some are given back, the oldest first. */
/* Promises: Memory of "local": "This node gives", "xmote_th and inval", "A lock that". */
static void machine_give_back(void **state)
{
	struct glock *gl;

	(void)state;
	rig.answer_at_once = true;
	rig.demote_ok = 1;
	for (uint64_t i = 0; i < 300; i++) {
		gl = rig_glock(GLOCK_INODE, i);
		rig_leave_cached(&a, gl);
		glock_put(gl);
	}
	gl = rig_glock(GLOCK_INODE, 3); /* in use again */
	*rig.log = '\0';
	rig.lm.events->give_back(rig.space, 1u << 1);
	assert_int_equal(glock__lru_count(rig.space), 299);
	rig_run();
	assert_int_equal(glock__lru_count(rig.space), 299 - 64);
	assert_non_null(strstr(rig.log, "th:UN:3 inval:3 convert:NL unlock"));
	for (uint64_t i = 0; i < 300; i++) {
		struct glock *there;

		/* 64 odd numbers, without 3 */
		assert_int_equal(glock__get_there(rig.space, GLOCK_INODE, i, &there),
				 i % 2 && i < 2 * 65 && i != 3 ? -ENOENT : 0);
		if (!(i % 2 && i < 2 * 65 && i != 3))
			glock_put(there);
	}
	/* The walk ends although the type keeps all glocks. */
	rig.demote_ok = 0;
	*rig.log = '\0';
	rig.lm.events->give_back(rig.space, 1u << 0);
	rig_run();
	assert_int_equal(glock__lru_count(rig.space), 299 - 64);
	rig.demote_ok = 1;
	rig.lm.events->give_back(rig.space, 1u << 0 | 1u << 1);
	rig_run();
	assert_int_equal(glock__lru_count(rig.space), 299 - 3 * 64);
	*rig.log = '\0';
	glock_put(gl);
}

/* A canceled request goes back, and the glock keeps its mode. */
/* Promises: glock_dq: "Lets the lock". */
static void machine_cancel(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig_nq(&a, gl, GLOCK_EX, 0);
	assert_int_equal(glock_cancel(&a), 0);
	rig_expect("th:EX:0 ask:EX cancel");
	assert_int_equal(glock_wait(&a, 0, 0), -ECANCELED);
	assert_true(gl->flags & GLOCK__F_LOCK);
	rig_answer(-GLOCK__DLM_ECANCEL);
	assert_false(gl->flags & GLOCK__F_LOCK);
	assert_int_equal(gl->state, GLOCK_UN);
	assert_int_equal(glock_cancel(&a), -EALREADY);
	glock_put(gl);
}

/* The grant comes before the cancel. The glock is cached in that mode, without a holder. */
/* Promises: glock_cancel: "The lock manager". */
static void machine_cancel_too_late(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig_nq(&a, gl, GLOCK_EX, 0);
	rig_dq(&a);
	rig_answer(0);
	assert_int_equal(gl->state, GLOCK_EX);
	assert_true(!look(gl).any_holders);
	*rig.log = '\0';
	rig_nq(&b, gl, GLOCK_SH, 0);
	assert_true(glock_poll(&b));
	rig_expect("");
	rig_dq(&b);
	glock_put(gl);
}

/*
 * If another holder waits for the same mode, the request is not canceled. If it waits for another
 * mode, the request is canceled.
 */
static void machine_cancel_leaves_others(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig_nq(&a, gl, GLOCK_EX, 0);
	rig_nq(&b, gl, GLOCK_EX, 0);
	rig_nq(&c, gl, GLOCK_SH, 0);
	*rig.log = '\0';
	rig_dq(&a);
	rig_expect("");
	rig_dq(&b);
	rig_expect("cancel");
	rig_answer(-GLOCK__DLM_ECANCEL);
	rig_expect("th:SH:0 ask:PR");
	rig_answer(0);
	assert_int_equal(glock_wait(&c, 0, 0), 0);
	rig_dq(&c);
	glock_put(gl);
}

/* A grant comes during the cancel. The work applies it later: the cancel may hit no other one. */
static void machine_cancel_and_grant(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig_nq(&a, gl, GLOCK_SH, 0);
	rig_nq(&b, gl, GLOCK_EX, 0);
	*rig.log = '\0';
	rig.answer_in_cancel = true;
	rig_dq(&a);
	rig_expect("cancel cancel-ends th:EX:0 convert:EX:quecvt");
	rig_answer(0);
	assert_int_equal(glock_wait(&b, 0, 0), 0);
	rig_dq(&b);
	glock_put(gl);
}

/* The lock manager takes no request and no cancel for a while: the work makes them again. */
static void machine_asks_again(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig.refuse = -ETIME;
	rig_nq(&a, gl, GLOCK_EX, 0);
	rig_expect("th:EX:0 ask:EX");
	rig_pass(16 * RIG_MS);
	rig_expect("ask:EX");
	rig.refuse = 0;
	rig_pass(16 * RIG_MS);
	rig_expect("ask:EX"); /* once only: it is open now */
	rig.refuse_cancel = true;
	assert_int_equal(glock_cancel(&a), 0);
	rig_expect("cancel");
	rig_pass(16 * RIG_MS);
	rig_expect("cancel");
	rig.refuse_cancel = false;
	rig_pass(16 * RIG_MS);
	rig_expect("cancel");
	rig_pass(16 * RIG_MS);
	rig_expect("");
	rig_answer(-GLOCK__DLM_ECANCEL);
	assert_int_equal(glock_wait(&a, 0, 0), -ECANCELED);
	assert_int_equal(gl->state, GLOCK_UN);
	glock_put(gl);
}

/* The request was not made yet when it is taken back, or when the node loses all locks. */
static void machine_asks_no_more(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig.refuse = -ETIME;
	rig_nq(&a, gl, GLOCK_EX, 0);
	rig_dq(&a);
	rig_expect("th:EX:0 ask:EX");
	rig.refuse = 0;
	rig_pass(16 * RIG_MS);
	rig_expect("ask:EX cancel");
	rig_answer(-GLOCK__DLM_ECANCEL);
	rig.refuse = -ETIME;
	rig_nq(&a, gl, GLOCK_EX, 0);
	rig_expect("th:EX:0 ask:EX");
	glock_withdraw(rig.space);
	rig_pass(16 * RIG_MS);
	rig_expect("leave:failed");
	assert_int_equal(glock_wait(&a, 0, 0), -EIO);
	assert_int_equal(gl->state, GLOCK_UN);
	assert_false(gl->flags & GLOCK__F_LOCK);
	glock_put(gl);
}

/* A waiter behind the first one just leaves. The waiter behind it may go on. */
static void machine_cancel_in_the_middle(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig_hold(&a, gl, GLOCK_SH, 0);
	rig_nq(&b, gl, GLOCK_EX, 0);
	rig_nq(&c, gl, GLOCK_SH, 0);
	assert_false(glock_poll(&c));
	*rig.log = '\0';
	assert_int_equal(glock_cancel(&b), 0);
	assert_int_equal(glock_wait(&c, 0, 0), 0);
	rig_expect("");
	rig_dq(&a);
	rig_dq(&c);
	glock_put(gl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    RIG_TEST(machine_give_back),        RIG_TEST(machine_cancel),
	    RIG_TEST(machine_cancel_too_late),  RIG_TEST(machine_cancel_leaves_others),
	    RIG_TEST(machine_cancel_and_grant), RIG_TEST(machine_asks_again),
	    RIG_TEST(machine_asks_no_more),     RIG_TEST(machine_cancel_in_the_middle),
	};

	return RUN_TESTS(tests);
}
