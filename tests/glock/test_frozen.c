/* SPDX-License-Identifier: MIT */
/*
 * test_frozen.c - tests what a frozen node keeps back, and what follows the thaw.
 */
#include "glock/state/find.h"

#include "rig.h"

static struct glock_holder a, b;

/* The request waits while the node is frozen. */
static void granted_after_thaw(struct glock_holder *gh)
{
	assert_false(glock_poll(gh));
	rig.lm.events->thaw(rig.space);
	rig_run();
	assert_true(glock_poll(gh));
	rig_dq(gh);
}

/* During recovery of other nodes, grants are held back. Demotes and holders with RECOVER go on. */
/* Promises: GLOCK_RECOVER: "repairs: be granted"; glock_nq: "A grant of". */
static void machine_frozen_replies(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1), *other = rig_glock(GLOCK_INODE, 2);
	struct glock *third = rig_glock(GLOCK_INODE, 3);
	bool granted;

	(void)state;
	rig_hold(&b, other, GLOCK_SH, 0);
	rig_dq(&b);
	rig_nq(&a, gl, GLOCK_EX, 0);
	rig.lm.events->block(rig.space);
	rig_answer(0);
	assert_true(gl->flags & GLOCK__F_FROZEN);
	assert_false(glock_poll(&a));
	/* a cached lock is valid and goes on */
	rig_nq(&b, other, GLOCK_SH, 0);
	assert_true(glock_poll(&b));
	rig_dq(&b);
	rig.lm.events->thaw(rig.space);
	rig_run();
	assert_int_equal(glock_wait(&a, 0, 0), 0);
	rig_dq(&a);
	/* A refusal covers no data, so the recovery does not delay it. */
	rig.lm.events->block(rig.space);
	rig_nq(&b, third, GLOCK_EX, GLOCK__TRY_NOQUEUE);
	rig_answer(-EAGAIN);
	assert_false(third->flags & GLOCK__F_FROZEN);
	assert_true(glock_poll(&b));
	assert_int_equal(glock_wait(&b, 0, 0), -EAGAIN);
	/* nor a grant to a holder with RECOVER */
	rig_nq(&b, third, GLOCK_EX, GLOCK_RECOVER);
	rig_answer(0);
	granted = glock_poll(&b);
	rig.lm.events->thaw(rig.space);
	rig_run();
	rig_dq(&b);
	assert_true(granted);
	glock_put(third);
	/* demotes to UN go through */
	rig.lm.events->block(rig.space);
	rig_pass(201 * RIG_MS);
	rig_bast(gl, GLOCK__EX);
	rig_answer(0);
	assert_int_equal(gl->state, GLOCK_UN);
	/*
	 * so do holders with RECOVER, even if they come after the reply; other holders still wait
	 */
	rig_nq(&a, gl, GLOCK_SH, 0);
	rig_answer(0);
	assert_false(glock_poll(&a));
	rig_nq(&b, gl, GLOCK_SH, GLOCK_RECOVER);
	assert_true(!glock_poll(&a) && glock_poll(&b));
	rig_dq(&b);
	granted_after_thaw(&a);
	glock_put(gl);
	glock_put(other);
}

/* Leaves the lock that a frozen grant gave, and waits for the thaw. Then asks again. */
static void given_up_until_the_thaw(struct glock *gl, struct glock_holder *gh)
{
	assert_int_equal(rig.asked_mode, GLOCK__NL); /* at once, also within the hold time */
	rig_answer(0);
	assert_int_equal(gl->state, GLOCK_UN);
	rig_pass(201 * RIG_MS);
	assert_null(rig.open);
	assert_false(glock_poll(gh));
	rig.lm.events->thaw(rig.space);
	rig_run();
	rig_answer(0);
	assert_int_equal(glock_wait(gh, 0, 0), 0);
	rig_dq(gh);
}

/*
 * The node that recovers may want a lock of which another node has a frozen grant. The demand may
 * come before the grant.
 */
static void machine_frozen_gives_way(void **state)
{
	struct glock *gl = rig_glock(GLOCK_RGRP, 1);

	(void)state;
	for (int early = 0; early < 2; early++) {
		rig_nq(&a, gl, GLOCK_EX, GLOCK_NOCACHE);
		rig.lm.events->block(rig.space);
		if (early)
			rig_bast(gl, GLOCK__EX);
		rig_answer(0);
		if (!early)
			rig_bast(gl, GLOCK__EX);
		/* neither bh nor lock */
		rig_expect(early ? "th:EX:0 convert:EX:quecvt callback:UN:remote th:UN:1 inval:1 "
				   "convert:NL"
				 : "th:EX:0 ask:EX callback:UN:remote th:UN:1 inval:1 convert:NL");
		given_up_until_the_thaw(gl, &a);
		rig_answer(0); /* NOCACHE */
		rig_expect("th:EX:0 convert:EX:quecvt bh:EX lock callback:UN:local unlock_op "
			   "th:UN:1 inval:1 convert:NL");
	}
	glock_put(gl);
}

/* A lock that a holder with RECOVER brought here is no cached lock before the thaw. */
/* Promises: recover: "Until the function". */
static void machine_recovered_lock_is_kept_back(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig.lm.events->block(rig.space);
	rig_hold(&a, gl, GLOCK_SH, GLOCK_RECOVER);
	glock_holder_init(&b, gl, GLOCK_SH, GLOCK_NOBLOCK | GLOCK_NOPID);
	assert_int_equal(glock_nq(&b), -ECHILD);
	rig_dq(&a);
	assert_int_equal(glock_nq(&b), -ECHILD);
	rig_nq(&b, gl, GLOCK_SH, 0);
	assert_false(glock_poll(&b));
	rig_nq(&a, gl, GLOCK_SH, GLOCK_RECOVER | GLOCK_NOPID);
	assert_true(glock_poll(&a));
	rig_dq(&a);
	rig.lm.events->thaw(rig.space);
	rig_run();
	assert_true(glock_poll(&b));
	rig_dq(&b);
	glock_put(gl);
}

/* Recovery freezes a grant that no use waits for. So a demand does not wait for the hold time. */
static void machine_frozen_gives_way_at_once(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig_hold(&a, gl, GLOCK_SH, 0);
	rig_dq(&a);
	rig_nq(&a, gl, GLOCK_EX, 0);
	rig_bast(gl, GLOCK__EX);
	rig_dq(&a);
	rig.lm.events->block(rig.space);
	rig_answer(0);
	assert_int_equal(rig.asked_mode, GLOCK__NL);
	rig_answer(0);
	glock_put(gl);
}

/* A node that lost the cluster gets no thaw. */
static void machine_lost_is_not_frozen(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig_nq(&a, gl, GLOCK_SH, 0);
	rig.lm.events->block(rig.space);
	rig_answer(0);
	rig_bast(gl, GLOCK__EX); /* so only holders with RECOVER may ask */
	rig_answer(0);
	rig.lm.events->lost(rig.space);
	assert_int_equal(glock_wait(&a, 0, 0), -EIO);
	rig.lm.events->back(rig.space);
	rig.lm.events->block(rig.space);
	rig_nq(&a, gl, GLOCK_SH, 0);
	rig.lm.events->lost(rig.space);
	rig.lm.events->block(rig.space); /* late */
	rig_answer(0);
	assert_false(gl->flags & GLOCK__F_FROZEN);
	assert_int_equal(glock_wait(&a, 0, 0), -EIO);
	glock_put(gl);
}

/*
 * A lock manager reports both under a lock of its own. So thaw touches no glock, because that may
 * give a lock back. If another recovery begins before the work runs, its own grants stay held back.
 */
static void machine_thaw_is_left_to_the_work(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig_nq(&a, gl, GLOCK_EX, 0);
	rig.lm.events->block(rig.space);
	rig_answer(0);
	rig.lm.events->thaw(rig.space);
	assert_true(gl->flags & GLOCK__F_FROZEN);
	rig.lm.events->block(rig.space);
	rig_run();
	assert_true(gl->flags & GLOCK__F_FROZEN);
	granted_after_thaw(&a);
	glock_put(gl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    RIG_TEST(machine_frozen_replies),
	    RIG_TEST(machine_frozen_gives_way),
	    RIG_TEST(machine_frozen_gives_way_at_once),
	    RIG_TEST(machine_lost_is_not_frozen),
	    RIG_TEST(machine_recovered_lock_is_kept_back),
	    RIG_TEST(machine_thaw_is_left_to_the_work),
	};

	return RUN_TESTS(tests);
}
