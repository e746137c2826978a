/* SPDX-License-Identifier: MIT */
/*
 * test_machine.c - tests the state machine, sequence by sequence, for every kind of reply and bast.
 *
 * Each sequence checks the requests to the lock manager, and the order of the cache's changes.
 */
#include "glock/state/busy.h"
#include "glock/state/find.h"

#include "rig.h"

static struct glock_holder a, b, c;

/* A new lock is asked for, given back to NL while referenced, then converted behind others. */
/* Promises: What a glock is: "A node keeps"; glock_nq: "0 granted; with". */
static void machine_requests(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 0x6259);

	(void)state;
	assert_true(gl->flags & GLOCK__F_INITIAL);
	rig_nq(&a, gl, GLOCK_SH, 0);
	rig_expect("th:SH:0 ask:PR");
	assert_false(glock_poll(&a));
	assert_true(gl->flags & GLOCK__F_BLOCKING);
	/* one request at a time */
	rig_nq(&b, gl, GLOCK_SH, 0);
	rig_expect("");
	rig_answer(0);
	assert_true(glock_poll(&a) && glock_poll(&b));
	assert_false(gl->flags & GLOCK__F_INITIAL);
	rig_dq(&a);
	rig_dq(&b);
	rig_expect("");
	/* cached: no request at all */
	rig_nq(&b, gl, GLOCK_SH, 0);
	assert_true(glock_poll(&b));
	rig_dq(&b);
	rig_expect("");
	rig_pass(201 * RIG_MS);
	rig_bast(gl, GLOCK__EX);
	rig_expect("th:UN:0 inval:3 convert:NL");
	assert_false(gl->flags & GLOCK__F_BLOCKING);
	rig_answer(0);
	rig_nq(&a, gl, GLOCK_SH, 0);
	rig_expect("th:SH:0 convert:PR:quecvt");
	rig_answer(0);
	rig_dq(&a);
	glock_put(gl);
	rig_expect("");
}

/*
 * A glock goes to another node and returns. The library reads the clock:
 *
 * - for the request,
 * - when the reply arrives,
 * - once each time that the glock's lock is taken and the time is needed. Four of these times look
 *   for work.
 *
 * It does not read the clock for each trace event, because no tracer is attached here.
 */
static void machine_looks_at_the_clock(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 2);

	(void)state;
	rig_leave_cached(&a, gl);
	rig.looks = 0;
	rig_bast(gl, GLOCK__EX);
	rig_answer(0);
	assert_true(rig.looks <= 6);
	rig.looks = 0;
	rig_hold(&a, gl, GLOCK_EX, 0);
	assert_true(rig.looks <= 7);
	rig_dq(&a);
	glock_put(gl);
}

/*
 * Another node asks for PR while this node has EX: dirty data is written, and the cache stays. Then
 * the node asks for EX, and all of the cache goes.
 */
/*
 * Promises: What a glock is: "The lock manager", "Before another node"; glock_ops: "xmote_th before
 * each"; xmote_th: "Called before the", "sync (GLOCK_CACHES_) names"; inval: "Called after
 * xmote_th".
 */
static void machine_gives_way_by_steps(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig_hold(&a, gl, GLOCK_EX, 0);
	rig_dq(&a);
	rig_expect("th:EX:0 ask:EX");
	rig_pass(201 * RIG_MS);
	rig_bast(gl, GLOCK__PR);
	rig_expect("th:SH:3 convert:PR");
	rig_answer(0);
	assert_int_equal(gl->state, GLOCK_SH);
	rig_bast(gl, GLOCK__EX);
	rig_expect("th:UN:0 inval:3 convert:NL");
	rig_answer(0);
	assert_int_equal(gl->state, GLOCK_UN);
	glock_put(gl);
	rig_expect("unlock");
}

/* Promises: glock_ops: "inval after xmote_th"; xmote_th: "sync (GLOCK_CACHES_) names". */
static void machine_deferred_keeps_metadata(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig_hold(&a, gl, GLOCK_EX, 0);
	rig_dq(&a);
	*rig.log = '\0';
	rig_pass(201 * RIG_MS);
	rig_bast(gl, GLOCK__CW);
	rig_expect("th:DF:3 inval:2 convert:CW");
	rig_answer(0);
	/* a demote sideways would have to wait for others, so the glock goes down to UN */
	rig_bast(gl, GLOCK__PR);
	rig_expect("th:UN:0 inval:1 convert:NL");
	rig_answer(0);
	glock_put(gl);
}

/* SH to EX: the other node gives way, and this node is granted. */
static void machine_converts(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig_hold(&a, gl, GLOCK_SH, 0);
	rig_dq(&a);
	*rig.log = '\0';
	rig_nq(&a, gl, GLOCK_EX, 0);
	rig_expect("th:EX:0 convert:EX:quecvt");
	rig_answer(0);
	assert_int_equal(glock_wait(&a, 0, 0), 0);
	rig_dq(&a);
	glock_put(gl);
}

/* Both nodes convert. One is refused, drops SH with an invalid cache, and asks anew. */
static void machine_failed_conversion(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig_hold(&a, gl, GLOCK_SH, 0);
	rig_dq(&a);
	*rig.log = '\0';
	rig_nq(&a, gl, GLOCK_EX, 0);
	rig_answer(-EDEADLK);
	rig_expect("th:EX:0 convert:EX:quecvt th:UN:0 inval:3 convert:NL");
	assert_int_equal(gl->state, GLOCK_SH);
	assert_int_equal(look(gl).counts.conversions_failed, 1);
	rig_answer(0);
	rig_expect("th:EX:0 convert:EX:quecvt");
	assert_int_equal(gl->state, GLOCK_UN);
	assert_false(glock_poll(&a));
	rig_answer(0);
	assert_int_equal(glock_wait(&a, 0, 0), 0);
	rig_dq(&a);
	glock_put(gl);
}

/* A request refused at UN (the DLM lost it) is just repeated. */
static void machine_asks_again_at_un(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig_nq(&a, gl, GLOCK_SH, 0);
	rig_answer(-EDEADLK);
	rig_expect("th:SH:0 ask:PR th:SH:0 ask:PR");
	rig_answer(0);
	assert_int_equal(glock_wait(&a, 0, 0), 0);
	rig_dq(&a);
	glock_put(gl);
}

/*
 * Promises: GLOCK_TRY_1CB: "one request, such"; glock_nq: "GLOCK_TRY_1CB makes one", "Fails with
 * -EAGAIN".
 */
static void machine_try_fails(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig_nq(&a, gl, GLOCK_EX, GLOCK__TRY_NOQUEUE);
	rig_expect("th:EX:0 ask:EX:try");
	assert_false(gl->flags & GLOCK__F_BLOCKING);
	rig_answer(-EAGAIN);
	assert_int_equal(glock_wait(&a, 0, 0), -EAGAIN);
	assert_int_equal(gl->state, GLOCK_UN);
	rig_nq(&a, gl, GLOCK_EX, GLOCK_TRY_1CB);
	rig_expect("th:EX:0 ask:EX:try:1cb");
	rig_answer(-EAGAIN);
	assert_int_equal(glock_wait(&a, 0, 0), -EAGAIN);
	assert_int_equal(look(gl).counts.tries_failed, 2);
	glock_put(gl);
}

/* No request goes out, whatever this node has, and nothing is demanded of others. */
/* Promises: glock_nq: "GLOCK_TRY_CACHED gets only". */
static void machine_try_cached(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	glock_holder_init(&a, gl, GLOCK_EX, GLOCK_TRY_CACHED);
	assert_int_equal(glock_nq(&a), -EAGAIN);
	rig_run();
	rig_expect("");
	assert_null(rig.open);
	rig_hold(&b, gl, GLOCK_SH, 0);
	rig_dq(&b);
	rig_expect("th:SH:0 ask:PR");
	assert_int_equal(glock_nq(&a), -EAGAIN); /* a conversion would be a request, too */
	glock_holder_init(&a, gl, GLOCK_SH, GLOCK_TRY_CACHED);
	assert_int_equal(glock_nq(&a), 0);
	rig_dq(&a);
	rig_run();
	rig_expect("");
	/* A request of this node is on its way: the try does not wait for the answer. */
	rig_nq(&b, gl, GLOCK_EX, 0);
	glock_holder_owner(&a, 7);
	assert_int_equal(glock_nq(&a), -EAGAIN);
	rig_answer(0);
	rig_dq(&b);
	assert_int_equal(gl->state, GLOCK_EX);
	assert_int_equal(look(gl).counts.tries_failed, 3);
	glock_put(gl);
}

/* A refused conversion of a try leaves the mode unchanged. */
static void machine_try_keeps_the_mode(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig_hold(&a, gl, GLOCK_SH, 0);
	rig_dq(&a);
	rig_nq(&a, gl, GLOCK_EX, GLOCK__TRY_NOQUEUE);
	rig_answer(-EAGAIN);
	assert_int_equal(glock_wait(&a, 0, 0), -EAGAIN);
	assert_int_equal(gl->state, GLOCK_SH);
	glock_put(gl);
}

/* Promises: glock_nq: "-EIO the space". */
static void machine_error_fails_all(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig_nq(&a, gl, GLOCK_EX, 0);
	rig_nq(&b, gl, GLOCK_SH, 0);
	rig_answer(-ETIMEDOUT);
	assert_int_equal(glock_wait(&a, 0, 0), -EIO);
	assert_int_equal(glock_wait(&b, 0, 0), -EIO);
	/* and the glock is usable again */
	rig_hold(&a, gl, GLOCK_SH, 0);
	rig_dq(&a);
	glock_put(gl);
}

static void machine_refused_request(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig.refuse = -ENODEV;
	rig_nq(&a, gl, GLOCK_EX, 0);
	assert_int_equal(glock_wait(&a, 0, 0), -EIO);
	rig_expect_message("refused");
	rig.refuse = 0;
	/* The queue goes on after a refused try: the next waiter asks. */
	*rig.log = '\0';
	rig_nq(&a, gl, GLOCK_EX, GLOCK__TRY_NOQUEUE);
	rig_nq(&b, gl, GLOCK_EX, 0);
	rig_expect("th:EX:0 ask:EX:try");
	rig_answer(-EAGAIN);
	assert_int_equal(glock_wait(&a, 0, 0), -EAGAIN);
	rig_expect("th:EX:0 ask:EX");
	rig_answer(0);
	assert_true(glock_poll(&b));
	rig_dq(&b);
	glock_put(gl);
}

/* Without memory the request is made again and again, as the lock manager says. */
static void machine_no_memory(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig.refuse = -ENOSPC;
	rig.room = 2 * RIG_MS;
	rig_nq(&a, gl, GLOCK_EX, 0);
	rig_expect("th:EX:0 ask:EX room:0");
	rig_pass(RIG_MS);
	rig_expect("");
	assert_int_equal(glock_wait(&a, rig.now, 0), -ETIMEDOUT);
	rig_pass(RIG_MS);
	rig_expect("th:EX:0 ask:EX room:2");
	rig.refuse = 0;
	rig_pass(2 * RIG_MS);
	rig_expect("th:EX:0 ask:EX");
	rig_answer(0);
	assert_int_equal(glock_wait(&a, 0, 0), 0);
	rig_dq(&a);
	glock_put(gl);
}

/* Promises: Memory of "local": "A try does". */
static void machine_no_memory_at_all(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig.refuse = -ENOSPC;
	rig_nq(&a, gl, GLOCK_EX, 0);
	rig_expect("th:EX:0 ask:EX room:0");
	assert_int_equal(glock_wait(&a, 0, 0), -ENOSPC);
	/* A try does not wait. */
	rig.room = RIG_MS;
	rig_nq(&a, gl, GLOCK_EX, GLOCK__TRY_NOQUEUE);
	rig_expect("th:EX:0 ask:EX:try room:0");
	assert_int_equal(glock_wait(&a, 0, 0), -ENOSPC);
	/* A canceled request is not made again. The next request is short of memory anew. */
	rig_nq(&a, gl, GLOCK_EX, 0);
	rig_expect("th:EX:0 ask:EX room:0");
	assert_int_equal(glock_cancel(&a), 0);
	rig_pass(RIG_MS);
	rig_expect("");
	rig_nq(&a, gl, GLOCK_EX, 0);
	rig_expect("th:EX:0 ask:EX room:0");
	glock_withdraw(rig.space);
	assert_int_equal(glock_wait(&a, 0, 0), -EIO);
	rig_pass(RIG_MS); /* the work that would have made the request again */
	glock_put(gl);
}

/* Requests are granted strictly in order. A reader does not overtake a waiting writer. */
/* Promises: glock_nq: "Requests are granted", "Waits for all". */
static void machine_fifo(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);
	struct glock_holder d;

	(void)state;
	rig_hold(&a, gl, GLOCK_SH, 0);
	rig_nq(&b, gl, GLOCK_EX, 0);
	rig_nq(&c, gl, GLOCK_SH, 0);
	rig_nq(&d, gl, GLOCK_SH, 0);
	assert_false(glock_poll(&b) || glock_poll(&c) || glock_poll(&d));
	rig_dq(&a);
	rig_answer(0);
	assert_true(glock_poll(&b));
	assert_false(glock_poll(&c));
	rig_dq(&b);
	assert_true(glock_poll(&c) && glock_poll(&d));
	rig_dq(&c);
	rig_dq(&d);
	glock_put(gl);
}

/* lock for the first holder here, unlock after the last one, both outside the fast path. */
/*
 * Promises: glock_ops: "lock for each", "unlock when the"; xmote_bh: "Called after the"; lock:
 * "Called whenever a"; unlock: "Called when the"; glock_nq: "The operations instantiate".
 */
static void machine_lock_and_unlock(void **state)
{
	struct glock *gl = rig_glock(GLOCK_RGRP, 7);

	(void)state;
	rig_nq(&a, gl, GLOCK_EX, GLOCK_NODE_SCOPE);
	rig_answer(0);
	rig_expect("th:EX:0 ask:EX bh:EX lock");
	rig_hold(&b, gl, GLOCK_EX, GLOCK_NODE_SCOPE);
	rig_expect("");
	rig_dq(&a);
	rig_expect("");
	rig_dq(&b);
	rig_expect("unlock_op");
	/* again, cached: the work calls the operation */
	glock_holder_init(&a, gl, GLOCK_EX, GLOCK_ASYNC);
	assert_int_equal(glock_nq(&a), 0);
	assert_false(glock_poll(&a));
	rig_run();
	rig_expect("lock");
	assert_int_equal(glock_wait(&a, 0, 0), 0);
	rig_dq(&a);
	/* SKIP does not call the operation */
	*rig.log = '\0';
	rig_hold(&a, gl, GLOCK_EX, GLOCK_SKIP);
	rig_dq(&a);
	rig_expect("");
	/* At UN there is nothing to read, so bh does not run. */
	rig_pass(201 * RIG_MS);
	rig_bast(gl, GLOCK__EX);
	rig_answer(0);
	assert_int_equal(gl->state, GLOCK_UN);
	rig_expect("callback:UN:remote th:UN:1 inval:1 convert:NL");
	glock_put(gl);
}

/* Promises: glock_ops: "lock for each"; glock_nq: "The error of". */
static void machine_lock_fails(void **state)
{
	struct glock *gl = rig_glock(GLOCK_RGRP, 7);

	(void)state;
	rig.lock_error = -ENOMEM;
	rig_nq(&a, gl, GLOCK_SH, 0);
	rig_answer(0);
	assert_int_equal(glock_wait(&a, 0, 0), -ENOMEM);
	rig_expect("th:SH:0 ask:PR bh:SH lock");
	rig.lock_error = 0;
	rig_hold(&b, gl, GLOCK_SH, 0);
	rig_expect("lock");
	rig_dq(&b);
	glock_put(gl);
}

/* Promises: glock_ops: "xmote_bh after a"; xmote_bh: "An error fails". */
static void machine_xmote_bh_fails(void **state)
{
	struct glock *gl = rig_glock(GLOCK_RGRP, 7);

	(void)state;
	rig.bh_error = -ENOSPC;
	rig_nq(&a, gl, GLOCK_SH, 0);
	rig_answer(0);
	assert_int_equal(glock_wait(&a, 0, 0), -ENOSPC);
	rig.bh_error = 0;
	glock_put(gl);
}

/* Promises: callback: "Called when the", "remote is not". */
static void machine_callback_tells(void **state)
{
	struct glock *gl = rig_glock(GLOCK_RGRP, 7);

	(void)state;
	rig_hold(&a, gl, GLOCK_EX, 0);
	rig_pass(201 * RIG_MS);
	*rig.log = '\0';
	rig_bast(gl, GLOCK__PR);
	rig_expect("callback:SH:remote");
	rig_dq(&a);
	*rig.log = '\0';
	rig_answer(0);
	rig_hold(&a, gl, GLOCK_SH, GLOCK_NOCACHE | GLOCK_SKIP);
	*rig.log = '\0';
	rig_dq(&a);
	rig_expect("callback:UN:local th:UN:0 inval:1 convert:NL");
	rig_answer(0);
	glock_put(gl);
}

/* At UN, a glock without holder or reference is freed. Then the lock manager's lock is released. */
/* Promises: glock_put: "Gives the reference", "At UN the". */
static void machine_lifetime(void **state)
{
	struct glock_statistics s = {.size = sizeof(s)};
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	assert_int_equal(rig.space->n_glocks, 1);
	assert_ptr_equal(rig_glock(GLOCK_INODE, 1), gl);
	glock_put(gl);
	rig_hold(&a, gl, GLOCK_SH, 0);
	rig_dq(&a);
	glock_put(gl);
	/* the glock is cached and stays */
	assert_int_equal(rig.space->n_glocks, 1);
	assert_true(gl->flags & GLOCK__F_LRU);
	rig_pass(201 * RIG_MS);
	*rig.log = '\0';
	rig_bast(gl, GLOCK__EX);
	assert_int_equal(rig.space->n_glocks, 1);
	rig_answer(0);
	rig_expect("th:UN:0 inval:3 convert:NL unlock");
	assert_int_equal(rig.space->n_glocks, 0);
	assert_int_equal(rig.space->alive, 0);
	/* Its statistics have gone with it. */
	gl = rig_glock(GLOCK_INODE, 1);
	assert_int_equal(glock_statistics(gl, &s), 0);
	assert_int_equal(s.dcount, 0);
	assert_int_equal(s.qcount, 0);
	glock_put(gl);
	/* never granted, so there is nothing to give back */
	glock_put(rig_glock(GLOCK_INODE, 2));
	rig_expect("");
	assert_int_equal(rig.space->n_glocks, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    RIG_TEST(machine_requests),
	    RIG_TEST(machine_looks_at_the_clock),
	    RIG_TEST(machine_gives_way_by_steps),
	    RIG_TEST(machine_deferred_keeps_metadata),
	    RIG_TEST(machine_converts),
	    RIG_TEST(machine_failed_conversion),
	    RIG_TEST(machine_asks_again_at_un),
	    RIG_TEST(machine_try_fails),
	    RIG_TEST(machine_try_cached),
	    RIG_TEST(machine_try_keeps_the_mode),
	    RIG_TEST(machine_error_fails_all),
	    RIG_TEST(machine_refused_request),
	    RIG_TEST(machine_no_memory),
	    RIG_TEST(machine_no_memory_at_all),
	    RIG_TEST(machine_fifo),
	    RIG_TEST(machine_lock_and_unlock),
	    RIG_TEST(machine_lock_fails),
	    RIG_TEST(machine_xmote_bh_fails),
	    RIG_TEST(machine_callback_tells),
	    RIG_TEST(machine_lifetime),
	};

	return RUN_TESTS(tests);
}
