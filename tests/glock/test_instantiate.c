/* SPDX-License-Identifier: MIT */
/* test_instantiate.c - tests when the operation instantiate runs, and what an error leaves. */
#include "glock/state/busy.h"

#include "rig.h"

static struct glock_holder a, b, c;
static struct glock *gl;

static int setup(void **state)
{
	rig_setup(state);
	gl = rig_glock(RIG_READ_IN, 1);
	return 0;
}

static int teardown(void **state)
{
	glock_put(gl);
	return rig_teardown(state);
}

/* Takes the lock and lets it go. */
static void pass(enum glock_mode mode, unsigned int flags)
{
	rig_hold(&a, gl, mode, flags);
	rig_dq(&a);
}

/* Once for a new glock, and once after each inval. A change between SH and EX keeps the cache. */
/*
 * Promises: glock_ops: "instantiate once: for"; instantiate: "Reads the object"; glock_nq: "The
 * operations instantiate".
 */
static void instantiate_once_for_each_cache(void **state)
{
	(void)state;
	pass(GLOCK_SH, 0);
	rig_expect("th:SH:0 ask:PR instantiate:SH");
	pass(GLOCK_SH, 0);
	rig_expect("");
	pass(GLOCK_EX, 0);
	rig_expect("th:EX:0 convert:EX:quecvt");
	rig_bast(gl, GLOCK__PR);
	rig_expect("th:SH:3 convert:PR");
	rig_answer(0);
	pass(GLOCK_SH, 0);
	rig_expect("");
	rig_bast(gl, GLOCK__EX);
	rig_expect("th:UN:0 inval:3 convert:NL");
	rig_answer(0);
	pass(GLOCK_EX, 0);
	rig_expect("th:EX:0 convert:EX:quecvt instantiate:EX");
}

/* DF allows no data. So the object is read in again after a change to DF, and after one from DF. */
/* Promises: glock_ops: "instantiate once: for". */
static void instantiate_around_deferred(void **state)
{
	(void)state;
	pass(GLOCK_EX, 0);
	*rig.log = '\0';
	rig_bast(gl, GLOCK__CW);
	rig_answer(0);
	rig_expect("th:DF:3 inval:2 convert:CW");
	pass(GLOCK_DF, 0);
	rig_expect("instantiate:DF");
	pass(GLOCK_DF, 0);
	rig_expect("");
	pass(GLOCK_EX, 0);
	rig_expect("th:EX:0 convert:EX:quecvt instantiate:EX");
}

/* A holder in DF under EX reads no data. So the object is not read in yet for those who may. */
/* Promises: glock_ops: "If it stands", "A holder in". */
static void instantiate_after_a_holder_in_df(void **state)
{
	(void)state;
	pass(GLOCK_EX, GLOCK_SKIP);
	rig_expect("th:EX:0 ask:EX");
	pass(GLOCK_DF, 0);
	rig_expect("instantiate:DF");
	pass(GLOCK_DF, 0);
	rig_expect("instantiate:DF");
	pass(GLOCK_SH, 0);
	rig_expect("instantiate:SH");
	pass(GLOCK_DF, 0);
	pass(GLOCK_EX, 0);
	rig_expect("");
}

static void ask_beside(const char *op, struct glock *on, struct glock_holder *gh)
{
	(void)gh;
	if (strcmp(op, "instantiate"))
		return;
	glock__holder_init(&c, on, GLOCK_SH, GLOCK_SKIP | GLOCK__TRY_NOQUEUE);
	glock_holder_owner(&c, 8);
	assert_int_equal(glock_nq(&c), -EAGAIN);
	glock_holder_init(&b, on, GLOCK_SH, GLOCK_ASYNC);
	glock_holder_owner(&b, 7);
	assert_int_equal(glock_nq(&b), 0);
	glock_holder_init(&c, on, GLOCK_SH, GLOCK_SKIP | GLOCK_NOBLOCK);
	glock_holder_owner(&c, 8);
	assert_int_equal(glock_nq(&c), -ECHILD);
	assert_false(glock_poll(&b));
	assert_true(on->flags & GLOCK__F_INSTANTIATING && on->flags & GLOCK__F_LOCK);
	assert_false(gl_held(on));
}

/* Other holders wait until it has run, and tries fail. It does not run for them. */
/*
 * Promises: glock_ops: "instantiate yes no", "While instantiate or", "A try fails", "NOBLOCK
 * returns -ECHILD".
 */
static void instantiate_by_one_holder(void **state)
{
	(void)state;
	rig.in_op = ask_beside;
	rig_nq(&a, gl, GLOCK_SH, 0);
	rig_answer(0);
	rig_expect("th:SH:0 ask:PR instantiate:SH");
	assert_true(glock_poll(&a) && glock_poll(&b));
	assert_false(gl->flags & (GLOCK__F_INSTANTIATING | GLOCK__F_INSTANTIATE_NEEDED));
	rig_dq(&b);
	rig_dq(&a);
}

/* An error is the result of that holder. The next holder tries again. */
/* Promises: glock_ops: "instantiate once: for"; glock_nq: "or the error". */
static void instantiate_fails(void **state)
{
	(void)state;
	rig.instantiate_error = -ENOMEM;
	rig_nq(&a, gl, GLOCK_EX, GLOCK_NODE_SCOPE);
	rig_nq(&b, gl, GLOCK_EX, GLOCK_NODE_SCOPE);
	rig_answer(0);
	assert_int_equal(glock_wait(&a, 0, 0), -ENOMEM);
	assert_int_equal(glock_wait(&b, 0, 0), -ENOMEM);
	rig_expect("th:EX:0 ask:EX instantiate:EX instantiate:EX");
	assert_int_equal(gl->state, GLOCK_EX); /* the lock is cached */
	rig.instantiate_error = 0;
	pass(GLOCK_EX, 0);
	pass(GLOCK_EX, 0);
	rig_expect("instantiate:EX");
}

/* SKIP neither runs it nor makes the cache good: the next holder runs it, also beside that one. */
/* Promises: glock_ops: "instantiate once: for", "NOBLOCK returns -ECHILD". */
static void instantiate_skipped(void **state)
{
	(void)state;
	rig_hold(&a, gl, GLOCK_SH, GLOCK_SKIP);
	rig_expect("th:SH:0 ask:PR");
	glock_holder_init(&b, gl, GLOCK_SH, GLOCK_NOBLOCK);
	glock_holder_owner(&b, 7);
	assert_int_equal(glock_nq(&b), -ECHILD);
	glock_holder_init(&b, gl, GLOCK_SH, GLOCK_ASYNC);
	glock_holder_owner(&b, 7);
	assert_int_equal(glock_nq(&b), 0);
	rig_run();
	assert_true(glock_poll(&b));
	rig_expect("instantiate:SH");
	rig_dq(&b);
	rig_dq(&a);
	pass(GLOCK_SH, 0);
	rig_expect("");
}

static void withdraw_in_it(const char *op, struct glock *on, struct glock_holder *gh)
{
	if (strcmp(op, "instantiate"))
		return;
	assert_int_equal(glock_valid(gh), 1);
	glock_withdraw(gl_space(on));
	assert_int_equal(glock_valid(gh), 0);
}

/* The lock was lost meanwhile: the holder fails, and nothing counts as read in. */
/* Promises: glock_ops: "If the node", "In instantiate and". */
static void instantiate_in_a_lost_space(void **state)
{
	(void)state;
	rig.in_op = withdraw_in_it;
	rig_nq(&a, gl, GLOCK_EX, 0);
	rig_answer(0);
	assert_int_equal(glock_wait(&a, 0, 0), -EIO);
	rig_run();
	assert_int_equal(gl->state, GLOCK_UN);
	assert_true(gl->flags & GLOCK__F_INSTANTIATE_NEEDED);
	rig_expect("th:EX:0 ask:EX instantiate:EX leave:failed inval:3");
}

static int died_in_it;

static void look_in_it(const char *op, struct glock *on, struct glock_holder *gh)
{
	char value[GLOCK_LVB_SIZE] = "v";

	(void)on;
	if (strcmp(op, "instantiate"))
		return;
	died_in_it = glock_owner_died(gh);
	assert_int_equal(glock_lvb_write(gh, value), 0);
	assert_int_equal(glock_lvb_read(gh, value), 0);
	assert_int_equal(glock_dq(gh), -EBUSY);
}

/* In it the holder has the value block, and is told of the death of the owner before. */
/* Promises: glock_ops: "In instantiate and", "If the operation"; glock_dq: "-EBUSY called in". */
static void instantiate_sees_the_lock(void **state)
{
	struct glock__lm_lock *lk;
	int died[2], err[2];

	(void)state;
	rig.in_op = look_in_it;
	rig.instantiate_error = -ENOMEM;
	for (int i = 0; i < 2; i++) {
		rig_nq(&a, gl, GLOCK_EX, 0);
		lk = rig.open;
		if (lk) {
			rig.open = NULL;
			lk->id = 1;
			rig.lm.events->reply(lk, 0, GLOCK__SBF_OWNER_DIED);
			rig_run();
		}
		died[i] = died_in_it;
		err[i] = glock_wait(&a, 0, 0);
		rig.instantiate_error = 0;
	}
	died_in_it = glock_owner_died(&a);
	rig_dq(&a);
	assert_int_equal(err[0], -ENOMEM);
	assert_int_equal(err[1], 0);
	assert_true(died[0] && died[1]);
	/* the holder that failed was not told: the next one is */
	assert_int_equal(died_in_it, 1);
}

/* The type has unlock and no lock operation. */
/* Promises: glock_ops: "unlock when the". */
static void unlock_without_lock(void **state)
{
	struct glock *only = rig_glock(RIG_UNLOCK_ONLY, 1);

	(void)state;
	rig_hold(&a, only, GLOCK_EX, 0);
	rig_expect("ask:EX");
	rig_dq(&a);
	rig_expect("unlock_op");
	rig_hold(&a, only, GLOCK_EX, 0);
	rig_dq(&a);
	rig_expect("unlock_op");
	glock_put(only);
}

#define INSTANTIATE_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    INSTANTIATE_TEST(instantiate_once_for_each_cache),
	    INSTANTIATE_TEST(instantiate_around_deferred),
	    INSTANTIATE_TEST(instantiate_after_a_holder_in_df),
	    INSTANTIATE_TEST(instantiate_by_one_holder),
	    INSTANTIATE_TEST(instantiate_fails),
	    INSTANTIATE_TEST(instantiate_skipped),
	    INSTANTIATE_TEST(instantiate_in_a_lost_space),
	    INSTANTIATE_TEST(instantiate_sees_the_lock),
	    RIG_TEST(unlock_without_lock),
	};

	return RUN_TESTS(tests);
}
