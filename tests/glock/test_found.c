/* SPDX-License-Identifier: MIT */
/*
 * test_found.c - tests short sequences that the simulator found and needs long to find again.
 *
 * tests/sim/test_faults.c has the faults that it finds at once if they are made again.
 */
#include "rig.h"

static struct glock_holder a, b, c;

static int setup(void **state)
{
	(void)state;
	rig_open(0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rig_close();
	return 0;
}

/* Asks without running the work. */
static void ask(struct glock_holder *gh, struct glock *gl, enum glock_mode mode, unsigned int flags)
{
	glock__holder_init(gh, gl, mode, flags | GLOCK_ASYNC);
	glock_holder_owner(gh, (uintptr_t)gh);
	assert_int_equal(glock_nq(gh), 0);
}

/*
 * Three requests arrive before the glock is read in: for SH as a try, for EX as a try, and for SH.
 * The grant of the first makes the second fail. The third is then the first waiter and is
 * compatible.
 */
static void found_waiter_behind_a_failed_try(void **state)
{
	struct glock *gl = rig_glock(GLOCK_RGRP, 7);

	(void)state;
	rig_hold(&a, gl, GLOCK_EX, 0);
	rig_dq(&a);
	ask(&a, gl, GLOCK_SH, GLOCK__TRY_NOQUEUE);
	ask(&b, gl, GLOCK_EX, GLOCK__TRY_NOQUEUE);
	ask(&c, gl, GLOCK_SH, 0);
	rig_run();
	assert_int_equal(glock_wait(&a, 0, 0), 0);
	assert_true(glock_poll(&b));
	assert_int_equal(glock_wait(&b, 0, 0), -EAGAIN);
	assert_true(glock_poll(&c));
	assert_int_equal(glock_wait(&c, 0, 0), 0);
	rig_dq(&a);
	rig_dq(&c);
	glock_put(gl);
}

/*
 * A try converts behind other nodes that already convert. Otherwise tries could starve these nodes.
 */
static void found_try_overtakes_nobody(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig_hold(&a, gl, GLOCK_SH, 0);
	rig_dq(&a);
	rig_expect("th:SH:0 ask:PR");
	rig_nq(&a, gl, GLOCK_EX, GLOCK__TRY_NOQUEUE);
	rig_expect("th:EX:0 convert:EX:quecvt:try");
	rig_answer(-EAGAIN);
	glock_put(gl);
}

/* A mode stays usable after a refused demote. */
static void found_refused_give_up(void **state)
{
	struct glock_statistics s = {.size = sizeof(s)};
	struct glock *gl = rig_glock(GLOCK_INODE, 1);
	int64_t used;

	(void)state;
	rig_hold(&a, gl, GLOCK_SH, 0);
	rig_dq(&a);
	rig_nq(&a, gl, GLOCK_EX, 0);
	rig_answer(-EDEADLK); /* so the glock gives up SH first */
	glock_statistics(gl, &s);
	used = s.usable;
	rig_answer(-ENOMEM);
	rig_pass(RIG_MS);
	glock_statistics(gl, &s);
	assert_int_equal(s.usable, used + RIG_MS);
	glock_put(gl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(found_waiter_behind_a_failed_try, setup, teardown),
	    cmocka_unit_test_setup_teardown(found_try_overtakes_nobody, setup, teardown),
	    cmocka_unit_test_setup_teardown(found_refused_give_up, setup, teardown),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
