/* SPDX-License-Identifier: MIT */
/*
 * test_linux.c - where Linux 6.1 differs from the documents, in a library that is built to follow
 * that kernel. The traces of the replay do not show each difference.
 */
#include "glock/state/busy.h"

#include "rig.h"

unsigned int glock__linux_hz;

static struct glock_holder a, b;

static struct glock *open_as_linux(unsigned int type)
{
	struct glock_space_options o = {.size = sizeof(o)};

	glock__linux_hz = 1000;
	rig_open_with(&o);
	return rig_glock(type, 1);
}

static void close_as_linux(struct glock *gl)
{
	glock_put(gl);
	rig_close();
	glock__linux_hz = 0;
}

/* Linux 6.1 differs from the documents in what a demote asks for, in tries, and in who runs the
 * queue. */
static void linux_differs(void **state)
{
	struct glock *gl = open_as_linux(GLOCK_INODE);

	(void)state;
	rig_hold(&a, gl, GLOCK_SH, 0);
	rig_dq(&a);
	*rig.log = '\0';
	/* A demote from SH to DF asks for DF. The documents' way is UN. */
	rig_bast(gl, GLOCK__CW);
	rig_expect("th:DF:0 inval:2 convert:CW:quecvt");
	rig_answer(0);
	assert_int_equal(gl->state, GLOCK_DF);
	/* A holder admits by its mode alone: b is granted in SH although the state is DF. */
	rig_nq(&a, gl, GLOCK_SH, GLOCK_ANY);
	rig_nq(&b, gl, GLOCK_SH, 0);
	assert_true(glock_poll(&a) && glock_poll(&b));
	rig_dq(&b);
	/* A try is queued, and then refused: it has its events. */
	rig_nq(&b, gl, GLOCK_EX, GLOCK__TRY_NOQUEUE);
	assert_int_equal(glock_wait(&b, 0, 0), -EAGAIN);
	/* A thread that lets a holder go leaves the queue to the work. */
	rig_nq(&b, gl, GLOCK_DF, 0);
	assert_false(glock_poll(&b));
	assert_int_equal(glock_dq(&a), 0);
	assert_false(glock_poll(&b));
	rig_run();
	assert_true(glock_poll(&b));
	rig_dq(&b);
	close_as_linux(gl);
}

/* Returns the time from a grant until a demand is due. The holder has gone by then. */
static int64_t hold_time(struct glock *gl)
{
	int64_t granted;

	rig_hold(&a, gl, GLOCK_EX, 0);
	granted = rig.now;
	rig_bast(gl, GLOCK__EX);
	rig_dq(&a);
	while (!rig.open)
		rig_pass(RIG_MS);
	rig_answer(0);
	return rig.now - granted;
}

/* A refused try ends in another state than its target. */
static void refuse_tries(struct glock *gl, int n)
{
	for (int i = 0; i < n; i++) {
		rig_nq(&b, gl, GLOCK_EX, GLOCK__TRY_NOQUEUE);
		rig_answer(-EAGAIN);
		assert_int_equal(glock_wait(&b, 0, 0), -EAGAIN);
	}
}

static void get_after_a_long_wait(struct glock *gl)
{
	rig_nq(&b, gl, GLOCK_EX, 0);
	rig_pass(1001 * RIG_MS);
	rig_answer(0);
	rig_bast(gl, GLOCK__EX);
	rig_dq(&b);
	rig_pass(201 * RIG_MS);
	rig_answer(0);
}

/* The bounds and steps of the hold time are ticks of 4 ms here: 10 to 50, 12 up and 6 down. */
static void linux_hold_times(void **state)
{
	static const struct glock_type_options inode = {.size = sizeof(inode), .type = GLOCK_INODE};
	struct glock_space_options o = {.size = sizeof(o), .types = &inode, .n_types = 1};
	struct glock *gl;

	(void)state;
	glock__linux_hz = 250;
	rig_open_with(&o);
	gl = rig_glock(GLOCK_INODE, 1);
	assert_int_equal(hold_time(gl), 50 * 4 * RIG_MS);
	refuse_tries(gl, 1);
	assert_int_equal(hold_time(gl), 44 * 4 * RIG_MS);
	refuse_tries(gl, 20);
	assert_int_equal(hold_time(gl), 10 * 4 * RIG_MS);
	get_after_a_long_wait(gl);
	assert_int_equal(hold_time(gl), 22 * 4 * RIG_MS);
	for (int i = 0; i < 5; i++)
		get_after_a_long_wait(gl);
	assert_int_equal(hold_time(gl), 50 * 4 * RIG_MS);
	close_as_linux(gl);
}

/* A task of Linux that tries leaves a demote to the work. */
static void linux_leaves_a_demote_to_the_work(void **state)
{
	struct glock *gl = open_as_linux(GLOCK_FLOCK);

	(void)state;
	rig_hold(&a, gl, GLOCK_EX, 0);
	rig_bast(gl, GLOCK__EX);
	assert_int_equal(glock_dq(&a), 0);
	*rig.log = '\0';
	glock__holder_init(&b, gl, GLOCK_EX, GLOCK_ASYNC | GLOCK__TRY_NOQUEUE);
	assert_int_equal(glock_nq(&b), 0);
	rig_expect("");
	rig_run();
	rig_expect("convert:NL");
	rig_answer(0);
	rig_answer(-EAGAIN);
	assert_int_equal(glock_wait(&b, 0, 0), -EAGAIN);
	close_as_linux(gl);
}

/* The queue of Linux stops at a waiter that does not fit, also if it was a try and has left. */
static void linux_stops_at_a_try(void **state)
{
	struct glock *gl = open_as_linux(GLOCK_FLOCK);
	struct glock_holder c;

	(void)state;
	rig_nq(&a, gl, GLOCK_SH, GLOCK__TRY_NOQUEUE);
	rig_nq(&b, gl, GLOCK_EX, GLOCK__TRY_NOQUEUE);
	rig_nq(&c, gl, GLOCK_SH, 0);
	rig_bast(gl, GLOCK__EX);
	rig_answer(0);
	assert_int_equal(glock_wait(&a, 0, 0), 0);
	assert_int_equal(glock_wait(&b, 0, 0), -EAGAIN);
	assert_false(glock_poll(&c)); /* c fits, but the demand comes first now */
	*rig.log = '\0';
	rig_dq(&a);
	rig_expect("convert:NL");
	rig_answer(0);
	rig_answer(0);
	rig_dq(&c);
	close_as_linux(gl);
}

/* A demote of Linux that has to ask again is a try if the first waiter is one. */
static void linux_demotes_as_a_try(void **state)
{
	struct glock *gl = open_as_linux(GLOCK_INODE);

	(void)state;
	rig_hold(&a, gl, GLOCK_DF, 0);
	rig_dq(&a);
	rig_bast(gl, GLOCK__PR);
	rig_answer(-EDEADLK);
	*rig.log = '\0';
	rig_nq(&a, gl, GLOCK_SH, GLOCK__TRY_NOQUEUE | GLOCK_ANY);
	rig_answer(0);
	rig_expect("th:SH:0 convert:PR:quecvt:try");
	rig_answer(0);
	assert_int_equal(glock_wait(&a, 0, 0), 0);
	rig_dq(&a);
	close_as_linux(gl);
}

/* Linux asks at once for the next waiter if a request was cancelled. A demand goes on waiting. */
static void linux_asks_again_after_a_cancel(void **state)
{
	struct glock *gl = open_as_linux(GLOCK_FLOCK);

	(void)state;
	rig_nq(&a, gl, GLOCK_EX, 0);
	rig_bast(gl, GLOCK__EX);
	*rig.log = '\0';
	rig_answer(-GLOCK__DLM_ECANCEL);
	rig_expect("ask:EX");
	assert_true(gl->flags & GLOCK__F_DEMOTE);
	rig_answer(0);
	assert_int_equal(glock_wait(&a, 0, 0), 0);
	rig_dq(&a);
	rig_answer(0);
	close_as_linux(gl);
}

/* A waiter of Linux that gives up leaves the queue to the work. */
static void linux_gives_up_quietly(void **state)
{
	struct glock *gl = open_as_linux(GLOCK_INODE);
	struct glock_holder c;

	(void)state;
	rig_hold(&a, gl, GLOCK_SH, 0);
	rig_nq(&b, gl, GLOCK_EX, 0);
	rig_nq(&c, gl, GLOCK_SH, 0);
	assert_int_equal(glock_dq(&b), 0);
	assert_false(glock_poll(&c));
	rig_run();
	assert_true(glock_poll(&c));
	rig_dq(&c);
	rig_dq(&a);
	close_as_linux(gl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(linux_differs),
	    cmocka_unit_test(linux_hold_times),
	    cmocka_unit_test(linux_leaves_a_demote_to_the_work),
	    cmocka_unit_test(linux_stops_at_a_try),
	    cmocka_unit_test(linux_demotes_as_a_try),
	    cmocka_unit_test(linux_asks_again_after_a_cancel),
	    cmocka_unit_test(linux_gives_up_quietly),
	};

	return RUN_TESTS(tests);
}
