/* SPDX-License-Identifier: MIT */
/*
 * test_gate.c - tests a lock manager that loses the cluster and has it again, or stops for a while.
 */
#include "glock/core/internal.h"

#include "rig.h"

static struct glock_holder a, b, c;

/* The lock manager forgets all locks and answers the open requests. */
static void retire(struct glock **glocks, size_t n)
{
	struct glock__lm_lock *lk = rig.open;

	for (size_t i = 0; i < n; i++)
		glocks[i]->lk.id = 0;
	rig.open = NULL;
	if (lk)
		rig.space->lm->events->reply(lk, -ENODEV, 0);
	rig_run();
}

/*
 * Promises: lost: "Called for a"; glock_withdraw: "the same happens", "Then glock_nq() succeeds",
 * "Locks that were", "No holder can"; glock_nq: "-EIO the space".
 */
static void gate_lost_and_back(void **state)
{
	struct glock *glocks[3], *held, *idle, *asked;

	(void)state;
	rig_open(0);
	for (unsigned int i = 0; i < 3; i++)
		glocks[i] = rig_glock(GLOCK_INODE, i + 1);
	held = glocks[0], idle = glocks[1], asked = glocks[2];
	rig_hold(&a, idle, GLOCK_EX, 0);
	rig_dq(&a);
	rig_hold(&a, held, GLOCK_EX, 0);
	rig_nq(&b, held, GLOCK_EX, 0);
	rig_nq(&c, asked, GLOCK_SH, 0);
	*rig.log = '\0';
	rig.space->lm->events->lost(rig.space);
	retire(glocks, 3);
	/* Holders are told. The cache is dropped and not written. */
	rig_expect("lost inval:3");
	assert_false(glock_valid(&a));
	assert_int_equal(glock_wait(&b, 0, 0), -EIO);
	assert_int_equal(glock_wait(&c, 0, 0), -EIO);
	assert_int_equal(idle->state, GLOCK_UN);
	assert_int_equal(glock_nq(&b), -EIO);

	rig.space->lm->events->back(rig.space);
	assert_false(glock_valid(&a));
	rig_nq(&c, idle, GLOCK_SH, 0);
	rig_expect("th:SH:0 ask:PR"); /* a new lock, no conversion */
	rig_answer(0);
	assert_true(glock_valid(&c));
	rig_dq(&c);
	*rig.log = '\0';
	/* A holder from before the loss blocks this node until its release. */
	rig_nq(&b, held, GLOCK_EX, 0);
	rig_expect("");
	rig_dq(&a);
	rig_expect("inval:3 th:EX:0 ask:EX");
	rig_answer(0);
	assert_int_equal(glock_wait(&b, 0, 0), 0);
	assert_true(glock_valid(&b));
	rig_dq(&b);
	for (size_t i = 0; i < 3; i++)
		glock_put(glocks[i]);
	rig_close();
}

/* A grant from before the loss is handled after it. It belonged to another lock. */
static void gate_late_grant(void **state)
{
	struct glock *gl;

	(void)state;
	rig_open(0);
	gl = rig_glock(GLOCK_INODE, 1);
	rig_nq(&a, gl, GLOCK_EX, 0);
	rig.space->lm->events->reply(rig.open, 0, 0);
	rig.open = NULL;
	rig.space->lm->events->lost(rig.space);
	rig.space->lm->events->back(rig.space);
	rig_run();
	assert_int_equal(glock_wait(&a, 0, 0), -EIO);
	assert_int_equal(gl->state, GLOCK_UN);
	glock_put(gl);
	rig_close();
}

static void gate_pause(void **state)
{
	struct glock *gl, *other;

	(void)state;
	rig_open(0);
	gl = rig_glock(GLOCK_INODE, 1);
	other = rig_glock(GLOCK_INODE, 2);
	rig_hold(&a, gl, GLOCK_SH, 0);
	*rig.log = '\0';
	rig.space->lm->events->pause(rig.space);
	rig_run();
	assert_true(glock_valid(&a));
	rig_nq(&b, gl, GLOCK_SH, 0); /* would be granted immediately */
	rig_nq(&c, other, GLOCK_SH, 0);
	rig_expect("");
	assert_false(glock_poll(&b) || glock_poll(&c));
	rig_dq(&b);
	glock__holder_init(&b, gl, GLOCK_SH, GLOCK__TRY_NOQUEUE);
	assert_int_equal(glock_nq(&b), -EAGAIN);
	glock_holder_init(&b, gl, GLOCK_SH, GLOCK_NOBLOCK);
	assert_int_equal(glock_nq(&b), -ECHILD);
	glock_holder_init(&b, gl, GLOCK_SH, GLOCK_TRY_CACHED);
	assert_int_equal(glock_nq(&b), -EAGAIN);
	rig_nq(&b, gl, GLOCK_SH, 0);
	rig.space->lm->events->resume(rig.space);
	rig_run();
	assert_true(glock_valid(&a) && glock_valid(&b));
	rig_expect("th:SH:0 ask:PR");
	rig_answer(0);
	assert_true(glock_valid(&c));
	rig_dq(&a);
	rig_dq(&b);
	rig_dq(&c);
	glock_put(gl);
	glock_put(other);
	rig_close();
}

static int valid_before, valid_after;

static void lose_in_it(const char *op, struct glock *gl, struct glock_holder *gh)
{
	(void)gl;
	if (strcmp(op, "lock"))
		return;
	rig.in_op = NULL;
	valid_before = glock_valid(gh);
	rig.space->lm->events->lost(rig.space);
	rig.space->lm->events->back(rig.space);
	valid_after = glock_valid(gh);
}

/* The cluster is lost, and comes back, while the operation lock runs. The operation is told. */
static void gate_lost_in_an_operation(void **state)
{
	struct glock *gl;

	(void)state;
	rig_open(0);
	gl = rig_glock(GLOCK_RGRP, 1);
	rig.in_op = lose_in_it;
	rig_nq(&a, gl, GLOCK_EX, 0);
	rig_answer(0);
	assert_true(valid_before);
	assert_false(valid_after);
	assert_int_equal(glock_wait(&a, 0, 0), 0);
	assert_false(glock_valid(&a));
	rig_dq(&a);
	glock_put(gl);
	rig_close();
}

static bool comes_back;

/* The lock goes while xmote_bh runs. If it can come back at once, another request comes, too. */
static void lose_in_bh(const char *op, struct glock *gl, struct glock_holder *gh)
{
	(void)gh;
	if (strcmp(op, "xmote_bh"))
		return;
	rig.in_op = NULL;
	if (!comes_back) {
		rig.space->lm->events->gone(rig.space);
		return;
	}
	rig.space->lm->events->lost(rig.space);
	rig.space->lm->events->back(rig.space);
	glock_holder_init(&b, gl, GLOCK_EX, GLOCK_ASYNC);
	assert_int_equal(glock_nq(&b), 0);
}

/* No waiter gets the lock that a grant brought and that was lost before the waiter's turn. */
static void gate_lost_before_the_turn(void **state)
{
	struct glock *gl;

	(void)state;
	for (comes_back = false;; comes_back = true) {
		rig_open(0);
		gl = rig_glock(GLOCK_RGRP, 1);
		rig.in_op = lose_in_bh;
		rig_nq(&a, gl, GLOCK_EX, 0);
		rig_answer(0);
		assert_int_equal(glock_wait(&a, 0, 0), -EIO);
		if (comes_back)
			break;
		glock_put(gl);
		rig_close();
	}
	assert_false(glock_poll(&b));
	rig_answer(0);
	assert_int_equal(glock_wait(&b, 0, 0), 0);
	assert_true(glock_valid(&b));
	rig_dq(&b);
	glock_put(gl);
	rig_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(gate_lost_and_back),
	    cmocka_unit_test(gate_late_grant),
	    cmocka_unit_test(gate_pause),
	    cmocka_unit_test(gate_lost_in_an_operation),
	    cmocka_unit_test(gate_lost_before_the_turn),
	};

	return RUN_TESTS(tests);
}
