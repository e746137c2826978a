/* SPDX-License-Identifier: MIT */
/* test_sync.c - tests glock_sync(): it writes back, keeps the lock, and runs beside no operation.
 */
#include "glock/state/busy.h"

#include "rig.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static struct glock_holder a, b;
static struct glock *gl;

static int setup(void **state)
{
	rig_setup(state);
	gl = rig_glock(GLOCK_INODE, 1);
	return 0;
}

static int teardown(void **state)
{
	glock_put(gl);
	return rig_teardown(state);
}

/* With a holder and without one, in EX. In other modes nothing is dirty. */
/*
 * Promises: xmote_th: "Also called to"; glock_withdraw: "The library withdraws"; glock_sync: "Calls
 * xmote_th(gl, mode", "Holders stay, and", "If nothing can", "Only EX may".
 */
static void sync_keeps_the_lock(void **state)
{
	struct glock *own = rig_glock(10, 1);

	(void)state;
	assert_int_equal(glock_sync(gl), 0);
	rig_expect("");
	rig_hold(&a, gl, GLOCK_EX, 0);
	*rig.log = '\0';
	assert_int_equal(glock_sync(gl), 0);
	rig_expect("th:EX:3");
	assert_int_equal(glock_valid(&a), 1);
	rig_dq(&a);
	assert_int_equal(glock_sync(gl), 0);
	rig_expect("th:EX:3");
	assert_int_equal(gl->state, GLOCK_EX);
	rig_hold(&a, gl, GLOCK_EX, 0); /* cached */
	assert_int_equal(glock_downgrade(&a, GLOCK_SH), 0);
	rig_dq(&a);
	rig_pass(201 * RIG_MS);
	rig_bast(gl, GLOCK__PR);
	rig_answer(0);
	*rig.log = '\0';
	assert_int_equal(glock_sync(gl), 0);
	rig_expect("");
	rig_hold(&a, own, GLOCK_EX, 0); /* a type without xmote_th */
	*rig.log = '\0';
	assert_int_equal(glock_sync(own), 0);
	rig_expect("");
	rig_dq(&a);
	glock_put(own);
}

/* The space goes on after an error. The data is dirty still, and a later sync may write it. */
/*
 * Promises: glock_ops: "xmote_th before each"; glock_sync: "An error of", "The space is",
 * "glock_space_sync() does this".
 */
static void sync_fails(void **state)
{
	(void)state;
	rig_hold(&a, gl, GLOCK_EX, 0);
	rig.th_error = -ENOSPC;
	assert_int_equal(glock_sync(gl), -ENOSPC);
	assert_int_equal(glock_space_sync(rig.space), -ENOSPC);
	assert_int_equal(glock_valid(&a), 1);
	rig.th_error = 0;
	assert_int_equal(glock_sync(gl), 0);
	rig_dq(&a);
}

static int nested, other_nested;
static struct glock *other;

static void sync_in_it(const char *op, struct glock *on, struct glock_holder *gh)
{
	(void)op, (void)gh;
	rig.in_op = NULL;
	nested = glock_sync(on);
	other_nested = glock_sync(other);
}

/* In an operation of the same glock: -EDEADLK. Another glock at rest is written. */
/* Promises: glock_sync: "-EDEADLK called from". */
static void sync_in_an_operation(void **state)
{
	(void)state;
	other = rig_glock(GLOCK_INODE, 2);
	rig_leave_cached(&a, other);
	rig_leave_cached(&a, gl);
	*rig.log = '\0';
	rig.in_op = sync_in_it;
	assert_int_equal(glock_sync(gl), 0);
	assert_int_equal(nested, -EDEADLK);
	assert_int_equal(other_nested, 0);
	rig_expect("th:EX:3 th:EX:3");
	glock_put(other);
}

static int dq_result;

static void dq_in_it(const char *op, struct glock *on, struct glock_holder *gh)
{
	(void)on, (void)gh;
	if (strcmp(op, "xmote_th"))
		return;
	rig.in_op = NULL;
	dq_result = glock_dq(&a);
}

/* The type has unlock, which needs the bit lock: the holder cannot go from inside the write-back.
 */
/* Promises: glock_dq: "-EDEADLK the type". */
static void sync_then_dq_in_it(void **state)
{
	struct glock *rgrp = rig_glock(GLOCK_RGRP, 1);

	(void)state;
	rig_hold(&a, rgrp, GLOCK_EX, 0);
	*rig.log = '\0';
	rig.in_op = dq_in_it;
	assert_int_equal(glock_sync(rgrp), 0);
	assert_int_equal(dq_result, -EDEADLK);
	assert_int_equal(glock_valid(&a), 1);
	rig_dq(&a);
	rig_expect("th:EX:1 unlock_op");
	glock_put(rgrp);
}

static unsigned int idle_calls;

static void count_idle(struct glock__lockman *lm, struct glock__lm_lock *lk)
{
	(void)lm, (void)lk;
	idle_calls++;
}

/* The last holder goes during the write-back. Then the lock manager learns of it. */
static void sync_and_the_last_holder_goes(void **state)
{
	const struct glock__lm_ops *ops = rig.lm.ops;
	struct glock__lm_ops with_idle = *ops;

	(void)state;
	with_idle.idle = count_idle;
	rig_hold(&a, gl, GLOCK_EX, 0);
	rig.lm.ops = &with_idle;
	atom_store8(&gl->lk.held, true);
	rig.in_op = dq_in_it;
	assert_int_equal(glock_sync(gl), 0);
	assert_int_equal(dq_result, 0);
	assert_int_equal(idle_calls, 1);
	rig.lm.ops = ops;
}

static void demand_in_it(const char *op, struct glock *on, struct glock_holder *gh)
{
	(void)op, (void)gh;
	rig.in_op = NULL;
	rig.lm.events->bast(&on->lk, GLOCK__EX);
	glock_holder_init(&b, on, GLOCK_EX, GLOCK_ASYNC);
	glock_holder_owner(&b, 7);
	assert_int_equal(glock_nq(&b), 0);
	assert_false(glock_poll(&b));
	assert_true(on->flags & GLOCK__F_LOCK);
}

/* A demand and a request that come meanwhile are served afterwards, in their order. */
/* Promises: glock_sync: "New requests of". */
static void sync_before_a_demand(void **state)
{
	(void)state;
	rig_leave_cached(&a, gl);
	*rig.log = '\0';
	rig.in_op = demand_in_it;
	assert_int_equal(glock_sync(gl), 0);
	rig_run();
	rig_expect("th:EX:3 th:UN:3 inval:3 convert:NL");
	rig_answer(0);
	rig_answer(0);
	assert_true(glock_poll(&b));
	rig_dq(&b);
}

/* Each glock of the space. A lost space has nothing to write. */
/*
 * Promises: glock_sync: "-EIO the space", "glock_space_sync() does this", "Waits as glock_sync()".
 */
static void sync_of_a_space(void **state)
{
	(void)state;
	other = rig_glock(GLOCK_INODE, 2);
	rig_leave_cached(&a, gl);
	rig_leave_cached(&a, other);
	*rig.log = '\0';
	assert_int_equal(glock_space_sync(rig.space), 0);
	rig_expect("th:EX:3 th:EX:3");
	glock_withdraw(rig.space);
	assert_int_equal(glock_sync(gl), -EIO);
	rig_run();
	assert_int_equal(glock_space_sync(rig.space), -EIO);
	glock_put(other);
}

/* Each call fails in another way. */
static void fails_otherwise(const char *op, struct glock *on, struct glock_holder *gh)
{
	(void)on, (void)gh;
	if (!strcmp(op, "xmote_th"))
		rig.th_error = rig.th_error == -EIO ? -ENOSPC : -EIO;
}

/* Promises: glock_sync: "glock_space_sync() does this". */
static void sync_returns_the_first_error(void **state)
{
	(void)state;
	other = rig_glock(GLOCK_INODE, 2);
	rig_leave_cached(&a, gl);
	rig_leave_cached(&a, other);
	*rig.log = '\0';
	rig.in_op = fails_otherwise;
	assert_int_equal(glock_space_sync(rig.space), -EIO);
	rig_expect("th:EX:3 th:EX:3");
	rig.in_op = NULL;
	rig.th_error = 0;
	glock_put(other);
}

/* ---- threads ---- */

static atomic_int writing, may_end, overlaps, syncs, unlocks;

static int slow_write(struct glock *on, enum glock_mode to, unsigned int sync)
{
	(void)on, (void)sync;
	if (to != GLOCK_EX || !sync)
		return 0;
	overlaps += writing++ > 0;
	while (!may_end)
		usleep(100);
	usleep(100);
	writing--;
	syncs++;
	return 0;
}

static int read_in(struct glock_holder *gh)
{
	(void)gh;
	overlaps += writing > 0;
	return 0;
}

static void at_unlock(struct glock_holder *gh)
{
	(void)gh;
	overlaps += writing > 0;
	unlocks++;
}

static const struct glock_ops slow_ops = {
    .size = sizeof(slow_ops), .xmote_th = slow_write, .lock = read_in, .unlock = at_unlock};
static struct glock *slow;

static void *sync_thread(void *arg)
{
	return (void *)(intptr_t)glock_sync(arg);
}

static void *use_thread(void *arg)
{
	for (int i = 0; i < 200; i++) {
		struct glock_holder gh;

		glock_holder_init(&gh, arg, GLOCK_EX, 0);
		if (glock_nq(&gh) || glock_dq(&gh))
			return (void *)-1;
	}
	return NULL;
}

static void join_all(pthread_t *t, int n)
{
	void *result;

	for (int i = 0; i < n; i++) {
		pthread_join(t[i], &result);
		assert_null(result);
	}
}

/* The last holder lets go during a write-back: its unlock runs afterwards. Two syncs take turns. */
/* Promises: glock_sync: "Waits for an"; glock_dq: "If the type has unlock". */
static void sync_beside_no_operation(void **state)
{
	static const struct glock_type_options type = {.size = sizeof(type),
						       .type = GLOCK_TYPE_OWN,
						       .caches = GLOCK_CACHES_DATA,
						       .hold = GLOCK_HOLD_NONE,
						       .ops = &slow_ops};
	struct glock_space_options o = {
	    .size = sizeof(o), .lockman = "none", .types = &type, .n_types = 1};
	struct glock_space *space;
	struct glock_holder gh;
	pthread_t t[6];

	(void)state;
	assert_int_equal(glock_space_open("sync", &o, &space), 0);
	assert_int_equal(glock_get(space, GLOCK_TYPE_OWN, 1, &slow), 0);
	glock_holder_init(&gh, slow, GLOCK_EX, GLOCK_NOPID);
	assert_int_equal(glock_nq(&gh), 0);
	pthread_create(&t[0], NULL, sync_thread, slow);
	while (!writing)
		usleep(100);
	pthread_create(&t[1], NULL, sync_thread, slow);
	usleep(2000);
	may_end = 1;
	assert_int_equal(glock_dq(&gh), 0);
	join_all(t, 2);
	assert_int_equal(syncs, 2);
	assert_int_equal(unlocks, 1);
	for (int i = 0; i < 6; i++)
		pthread_create(&t[i], NULL, i % 2 ? sync_thread : use_thread, slow);
	join_all(t, 6);
	assert_int_equal(overlaps, 0);
	glock_put(slow);
	assert_int_equal(glock_space_close(space), 0);
}

#define SYNC_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    SYNC_TEST(sync_keeps_the_lock),
	    SYNC_TEST(sync_fails),
	    SYNC_TEST(sync_in_an_operation),
	    SYNC_TEST(sync_then_dq_in_it),
	    SYNC_TEST(sync_and_the_last_holder_goes),
	    SYNC_TEST(sync_before_a_demand),
	    SYNC_TEST(sync_of_a_space),
	    SYNC_TEST(sync_returns_the_first_error),
	    cmocka_unit_test(sync_beside_no_operation),
	};

	return RUN_TESTS(tests);
}
