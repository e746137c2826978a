/* SPDX-License-Identifier: MIT */
/*
 * test_ops.c - tests the rules that a type's operations must keep, and the results of breaches.
 *
 * glock.h has the rules.
 */
#include "glock/state/busy.h"

#include "rig.h"

#include <poll.h>
#include <unistd.h>

static struct glock_holder a;
static struct glock *rgrp;

/* ---- each operation, called once in its normal use ---- */

static const char *const spinlocked[] = {"dump", "demote_ok", "callback", "lost"};
static const char *const bit_locked[] = {"xmote_th", "xmote_bh", "inval", "lock", "unlock"};

static struct {
	const char *op;
	void (*fn)(struct glock *gl); /* the body of the operation */
	unsigned int runs;
	bool bit_lock, spinlock; /* held on entry */
} breach;

static void do_breach(const char *op, struct glock *gl, struct glock_holder *gh)
{
	(void)gh;
	if (strcmp(op, breach.op) || breach.runs)
		return;
	breach.runs++;
	breach.spinlock = gl_held(gl);
	if (!breach.spinlock)
		gl_lock(gl);
	breach.bit_lock = gl->flags & GLOCK__F_LOCK;
	if (!breach.spinlock)
		gl_unlock(gl);
	if (breach.fn)
		breach.fn(gl);
}

static void discard(void *to, const char *text, size_t len)
{
	(void)to, (void)text, (void)len;
}

/* Calls each operation in one life: the glock is asked for, dumped, demanded, kept and lost. */
static void live(const char *op, void (*fn)(struct glock *gl))
{
	breach.op = op;
	breach.fn = fn;
	breach.runs = 0;
	rig.in_op = do_breach;
	*rig.messages = '\0';
	rig_hold(&a, rgrp, GLOCK_EX, 0);
	glock_dump(rig.space, GLOCK_FILE_GLOCKS, GLOCK_FORMAT_LINUX_7_0, discard, NULL);
	rig_pass(201 * RIG_MS);
	rig_bast(rgrp, GLOCK__EX);
	rig_dq(&a);
	rig_answer(0);
	rig_hold(&a, rgrp, GLOCK_SH, 0);
	rig_dq(&a);
	glock_put(rgrp);
	glock_shrink(rig.space, 1);
	rig_run();
	if (rig.open)
		rig_answer(0);
	rgrp = rig_glock(GLOCK_RGRP, 3);
	if (!strcmp(op, "lost")) {
		rig_hold(&a, rgrp, GLOCK_EX, 0);
		glock_withdraw(rig.space);
		rig_dq(&a);
	}
	rig.in_op = NULL;
	assert_int_equal(breach.runs, 1);
}

static int setup(void **state)
{
	(void)state;
	rig_open(GLOCK_SPACE_CHECK_OPS);
	rgrp = rig_glock(GLOCK_RGRP, 3);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	glock_put(rgrp);
	rig_close();
	return 0;
}

/* "lost" needs a withdrawn space, so each operation has a space of its own. */
static void again(void)
{
	teardown(NULL);
	setup(NULL);
}

static void expect(const char *op, const char *what)
{
	char message[200];

	snprintf(message, sizeof(message), "glock 3:3 (rgrp): operation %s %s", op, what);
	rig_expect_message(message);
}

/* ---- tests ---- */

/* Checks glock.h's table of held locks. An operation that obeys the rules causes no message. */
/*
 * Promises: Callbacks: "callback, demote_ok, dump, pages and lost run under"; glock_ops: "The bit
 * lock", "Under the spinlock", "xmote_th yes no", "xmote_bh yes no", "inval yes no", "demote_ok
 * sometimes yes", "lock yes no yes work", "unlock yes no", "dump sometimes yes", "callback
 * sometimes yes", "lost sometimes yes", "pages sometimes yes"; pages: "Called as dump"; glock_dump:
 * "The function calls the".
 */
static void ops_locks_held(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bit_locked); i++) {
		live(bit_locked[i], NULL);
		assert_true(breach.bit_lock && !breach.spinlock);
		assert_string_equal(rig.messages, "");
		again();
	}
	for (size_t i = 0; i < ARRAY_SIZE(spinlocked); i++) {
		live(spinlocked[i], NULL);
		assert_true(breach.spinlock);
		assert_null(strstr(rig.messages, "glock "));
		again();
	}
}

static void drop_spinlock(struct glock *gl)
{
	glock__lock_drop(&gl->lock);
}

/* Promises: glock_ops: "If an operation", "The message names", "drop a lock". */
static void ops_dropping_the_spinlock(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(spinlocked); i++) {
		live(spinlocked[i], drop_spinlock);
		expect(spinlocked[i], "dropped the spinlock of its caller");
		again();
	}
}

static void drop_bit_lock(struct glock *gl)
{
	glock__lock_take(&gl->lock);
	gl->flags &= ~(uint32_t)GLOCK__F_LOCK;
	glock__lock_drop(&gl->lock);
}

/* Promises: glock_ops: "If an operation", "drop a lock". */
static void ops_dropping_the_bit_lock(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bit_locked); i++) {
		live(bit_locked[i], drop_bit_lock);
		expect(bit_locked[i], "dropped the bit lock of its caller");
		again();
	}
}

static void go_to_sleep(struct glock *gl)
{
	(void)gl;
	poll(NULL, 0, 2);
}

/*
 * Promises: glock_ops: "xmote_th yes no", "xmote_bh yes no", "inval yes no", "demote_ok sometimes
 * yes", "lock yes no yes work", "unlock yes no", "dump sometimes yes", "callback sometimes yes",
 * "lost sometimes yes", "The message names", "sleep under the"; GLOCK_SPACE_CHECK_OPS: "report
 * operations that".
 */
static void ops_blocking(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(spinlocked); i++) {
		live(spinlocked[i], go_to_sleep);
		expect(spinlocked[i], "slept ");
		again();
	}
	/* the others may */
	for (size_t i = 0; i < ARRAY_SIZE(bit_locked); i++) {
		live(bit_locked[i], go_to_sleep);
		assert_string_equal(rig.messages, "");
		again();
	}
}

/* Promises: glock_ops: "sleep under the"; GLOCK_SPACE_CHECK_OPS: "report operations that". */
static void ops_blocking_is_not_looked_for_unasked(void **state)
{
	(void)state;
	teardown(NULL);
	rig_open(0);
	rgrp = rig_glock(GLOCK_RGRP, 3);
	live("dump", go_to_sleep);
	assert_string_equal(rig.messages, "");
}

static void stay_long(struct glock *gl)
{
	(void)gl;
	rig.now += 20 * RIG_MS;
}

/* Promises: glock_ops: "take more than". */
static void ops_staying_long(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(spinlocked); i++) {
		live(spinlocked[i], stay_long);
		expect(spinlocked[i], "took 20000 us under the spinlock");
		again();
	}
}

static int result;

static void call_the_library(struct glock *gl)
{
	static struct glock_holder mine;

	glock_holder_init(&mine, gl, GLOCK_SH, GLOCK_ASYNC);
	glock_holder_owner(&mine, 99);
	result = glock_nq(&mine);
}

/*
 * Promises: Callbacks: "They must return", "A function that"; What to know before using it: "in the
 * operations"; glock_ops: "call the library".
 */
static void ops_calling_the_library(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(spinlocked); i++) {
		result = 0;
		live(spinlocked[i], call_the_library);
		assert_int_equal(result, -EDEADLK);
		expect(spinlocked[i], "called glock_nq");
		again();
	}
}

#define OPS_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    OPS_TEST(ops_locks_held),
	    OPS_TEST(ops_dropping_the_spinlock),
	    OPS_TEST(ops_dropping_the_bit_lock),
	    OPS_TEST(ops_blocking),
	    OPS_TEST(ops_blocking_is_not_looked_for_unasked),
	    OPS_TEST(ops_staying_long),
	    OPS_TEST(ops_calling_the_library),
	};

	return RUN_TESTS(tests);
}
