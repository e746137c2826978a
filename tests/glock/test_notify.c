/* SPDX-License-Identifier: MIT */
/*
 * test_notify.c - tests notifiers: each end of a request, each way to lose interest, deadlines.
 */
#include "rig.h"

#include "glock/state/busy.h"

#include "../fork_quietly.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

static struct glock_notifier *notifier;
static struct glock_holder a, b, c;
static struct glock *gl;

static int setup(void **state)
{
	(void)state;
	rig_open(0);
	gl = rig_glock(10, 100);
	assert_int_equal(glock_notifier_open(&notifier), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(glock_notifier_close(notifier), 0);
	glock_put(gl);
	rig_close();
	return 0;
}

static bool readable(void)
{
	struct pollfd pfd = {.fd = glock_notifier_fd(notifier), .events = POLLIN};

	return poll(&pfd, 1, 0) == 1;
}

/* Returns the next holder, or NULL. Then the fd must not be readable. */
static struct glock_holder *next(void)
{
	struct glock_holder *gh = NULL;
	bool there = readable();

	assert_int_equal(glock_notifier_next(notifier, &gh), there);
	return gh;
}

static int ask(struct glock_holder *gh, enum glock_mode mode, unsigned int flags, int64_t deadline)
{
	static uint64_t owners = 1000; /* rig_nq() counts its owners from 1 on */

	glock__holder_init(gh, gl, mode, flags | GLOCK_ASYNC);
	glock_holder_owner(gh, owners++);
	glock_holder_notify(gh, notifier, deadline);
	return glock_nq(gh);
}

/* A grant that came later, and a grant at once. Each comes once, in the order of finishing. */
/*
 * Promises: glock_notifier: "A notifier tells", "A request finishes"; glock_notifier_fd: "Returns
 * an fd"; glock_notifier_next: "Stores a holder", "1 a holder", "0 no holder"; glock_holder_notify:
 * "If glock_nq() returns".
 */
static void notify_grants(void **state)
{
	(void)state;
	assert_int_equal(ask(&a, GLOCK_SH, 0, 0), 0);
	rig_run();
	assert_null(next());
	rig_answer(0);
	assert_true(readable());
	assert_int_equal(ask(&b, GLOCK_SH, 0, 0), 0);
	assert_int_equal(ask(&c, GLOCK_SH, GLOCK_NOBLOCK, 0), 0);
	assert_ptr_equal(next(), &a);
	assert_int_equal(glock_wait(&a, 1, 0), 0);
	assert_ptr_equal(next(), &b);
	assert_ptr_equal(next(), &c);
	assert_null(next());
	rig_dq(&a);
	rig_dq(&b);
	rig_dq(&c);
	assert_null(next());
}

/* A request that fails in glock_nq() does not come. A request that fails later comes. */
/*
 * Promises: glock_notifier: "A request finishes"; glock_holder_notify: "If glock_nq() fails", "0:
 * no deadline".
 */
static void notify_failures(void **state)
{
	(void)state;
	rig_hold(&a, gl, GLOCK_EX, 0);
	assert_int_equal(ask(&b, GLOCK_SH, GLOCK__TRY_NOQUEUE, 0), -EAGAIN);
	assert_int_equal(ask(&b, GLOCK_SH, GLOCK_NOBLOCK, 0), -ECHILD);
	assert_null(next());
	assert_int_equal(ask(&b, GLOCK_SH, 0, 0), 0);
	assert_int_equal(ask(&c, GLOCK_SH, 0, 0), 0);
	rig_pass(1000 * RIG_MS); /* neither has a deadline */
	assert_null(next());
	assert_int_equal(glock_cancel(&b), 0);
	assert_ptr_equal(next(), &b);
	assert_int_equal(glock_wait(&b, 1, 0), -ECANCELED);
	glock_withdraw(rig.space);
	assert_ptr_equal(next(), &c);
	assert_int_equal(glock_wait(&c, 1, 0), -EIO);
	assert_null(next());
	rig_dq(&a);
}

/* The holder may go before its notification is read, granted or not. */
/*
 * Promises: glock_notifier_fd: "Returns an fd"; glock_notifier_next: "After glock_dq() of";
 * glock_holder_notify: "glock_dq() ends the".
 */
static void notify_dropped(void **state)
{
	(void)state;
	assert_int_equal(ask(&a, GLOCK_EX, 0, 0), 0);
	rig_run();
	rig_answer(0);
	assert_int_equal(ask(&b, GLOCK_EX, 0, 0), 0);
	assert_int_equal(ask(&c, GLOCK_EX, 0, 0), 0);
	assert_true(readable());
	rig_dq(&b); /* it waits */
	rig_dq(&a); /* it holds, unread */
	memset(&a, 0xff, sizeof(a));
	memset(&b, 0xff, sizeof(b));
	assert_ptr_equal(next(), &c);
	assert_null(next());
	assert_int_equal(ask(&a, GLOCK_EX, 0, 0), 0);
	assert_int_equal(glock_cancel(&a), 0);
	assert_true(readable());
	assert_int_equal(glock_dq(&a), -EINVAL); /* it failed, unread */
	memset(&a, 0xff, sizeof(a));
	assert_null(next());
	rig_dq(&c);
}

/* A holder may be used again as it is, also if its failure was not read. */
/* Promises: glock_notifier_open: "-EBUSY a request". */
static void notify_again(void **state)
{
	(void)state;
	rig_hold(&c, gl, GLOCK_EX, 0);
	assert_int_equal(ask(&a, GLOCK_EX, 0, 0), 0);
	assert_int_equal(glock_cancel(&a), 0);
	assert_true(readable());
	assert_int_equal(glock_nq(&a), 0);
	assert_null(next());
	assert_int_equal(glock_notifier_close(notifier), -EBUSY);
	rig_dq(&c);
	assert_ptr_equal(next(), &a);
	rig_dq(&a);
	assert_int_equal(glock_nq(&a), 0);
	assert_ptr_equal(next(), &a);
	rig_dq(&a);
}

/* A close drops what was not read. The holder stays. */
/* Promises: glock_notifier: "A program may"; glock_notifier_open: "A close drops". */
static void notify_close(void **state)
{
	struct glock_notifier *second;

	(void)state;
	assert_int_equal(glock_notifier_open(&second), 0);
	rig_hold(&c, gl, GLOCK_SH, 0);
	glock_holder_init(&a, gl, GLOCK_SH, GLOCK_ASYNC);
	glock_holder_notify(&a, second, 0);
	assert_int_equal(glock_nq(&a), 0);
	assert_null(next()); /* of the other notifier */
	assert_int_equal(glock_notifier_close(second), 0);
	assert_true(glock_valid(&a));
	rig_dq(&a);
	rig_dq(&c);
}

static int next_in_op, in_ops;

static void in_callback(const char *op, struct glock *g, struct glock_holder *held)
{
	struct glock_holder *gh;

	(void)op, (void)g, (void)held;
	next_in_op = glock_notifier_next(notifier, &gh);
	in_ops++;
}

/* In a callback under the spinlock: the function reads the notification of another request. */
/* Promises: glock_notifier_next: "At once, in". */
static void notify_in_callbacks(void **state)
{
	(void)state;
	rig_hold(&c, rig_glock(RIG_READ_IN, 1), GLOCK_SH, 0);
	rig_hold(&b, gl, GLOCK_SH, 0);
	assert_int_equal(ask(&a, GLOCK_SH, 0, 0), 0);
	rig.in_op = in_callback;
	in_ops = 0;
	next_in_op = -1;
	glock_withdraw(rig.space); /* calls lost for c */
	rig.in_op = NULL;
	assert_int_equal(in_ops, 1);
	assert_int_equal(next_in_op, 1);
	assert_null(next());
	glock_put(glock_of(&c));
	rig_dq(&a);
	rig_dq(&b);
	rig_dq(&c);
}

/* Promises: glock_holder_notify: "Without ASYNC, glock_nq()", "notifier NULL: no". */
static void notify_needs_async(void **state)
{
	(void)state;
	glock_holder_init(&a, gl, GLOCK_SH, 0);
	glock_holder_notify(&a, notifier, 0);
	assert_int_equal(glock_nq(&a), -EINVAL);
	rig_expect_message("notifier");
	glock_holder_init(&b, gl, GLOCK_SH, GLOCK_ASYNC);
	glock_holder_notify(&b, notifier, 0);
	glock_holder_notify(&b, NULL, 0);
	assert_int_equal(glock_nq(&b), 0);
	rig_run();
	rig_answer(0);
	assert_null(next());
	rig_dq(&b);
	glock_holder_init(&a, gl, GLOCK_SH, 0x40000000u); /* the library's own bit is no flag */
	assert_int_equal(glock_nq(&a), -EINVAL);
}

/* ---- deadlines ---- */

/*
 * Promises: glock_wait: "After a deadline"; glock_notifier: "A request finishes";
 * glock_holder_notify: "At the deadline".
 */
static void notify_deadline(void **state)
{
	int64_t start = rig.now;

	(void)state;
	rig_hold(&c, gl, GLOCK_EX, 0);
	assert_int_equal(ask(&a, GLOCK_EX, 0, start + 20 * RIG_MS), 0);
	assert_int_equal(ask(&b, GLOCK_EX, 0, start + 10 * RIG_MS), 0);
	rig_pass(9 * RIG_MS);
	assert_null(next());
	assert_int_equal(glock_poll(&b), 0);
	assert_int_equal(glock_wait(&b, rig.now, 0), -ETIMEDOUT); /* still queued */
	rig_pass(RIG_MS);
	assert_ptr_equal(next(), &b);
	assert_int_equal(glock_poll(&b), 1);
	assert_int_equal(glock_wait(&b, 0, 0), -ETIMEDOUT);
	assert_null(next());
	rig_dq(&c);
	assert_ptr_equal(next(), &a); /* granted in time: no error comes later */
	rig_pass(100 * RIG_MS);
	assert_int_equal(glock_wait(&a, 0, 0), 0);
	assert_null(next());
	rig_dq(&a);
}

/* The request at the lock manager is canceled, and the next waiter goes on. */
/* Promises: glock_holder_notify: "At the deadline". */
static void notify_deadline_of_the_first(void **state)
{
	(void)state;
	assert_int_equal(ask(&a, GLOCK_EX, 0, rig.now + 10 * RIG_MS), 0);
	rig_run();
	assert_int_equal(ask(&b, GLOCK_SH, 0, 0), 0);
	rig_expect("ask:EX");
	rig_pass(10 * RIG_MS);
	rig_expect("cancel");
	assert_ptr_equal(next(), &a);
	assert_int_equal(glock_wait(&a, 0, 0), -ETIMEDOUT);
	rig_answer(-GLOCK__DLM_ECANCEL);
	rig_expect("ask:PR");
	rig_answer(0);
	assert_ptr_equal(next(), &b);
	rig_dq(&b);
}

/* A deadline far away does not keep the glock after its request has gone. */
static void notify_deadline_lets_go(void **state)
{
	(void)state;
	rig_hold(&a, gl, GLOCK_EX, 0);
	assert_int_equal(ask(&b, GLOCK_SH, 0, rig.now + 3600000 * RIG_MS), 0);
	rig_run();
	rig_dq(&b);
	rig_dq(&a);
	assert_false(glock__work_queued(gl));
}

static void in_instantiate(const char *op, struct glock *g, struct glock_holder *gh)
{
	(void)g, (void)gh;
	if (!strcmp(op, "instantiate"))
		rig.now += 100 * RIG_MS;
}

/* While an operation runs for the request, the deadline has no effect. */
/* Promises: glock_holder_notify: "While instantiate or". */
static void notify_deadline_in_an_operation(void **state)
{
	struct glock *own = gl;

	(void)state;
	gl = rig_glock(RIG_READ_IN, 1);
	assert_int_equal(ask(&a, GLOCK_EX, 0, rig.now + 10 * RIG_MS), 0);
	rig_run();
	rig.in_op = in_instantiate;
	rig_answer(0);
	rig.in_op = NULL;
	assert_ptr_equal(next(), &a);
	assert_int_equal(glock_wait(&a, 0, 0), 0);
	rig_dq(&a);
	glock_put(gl);
	gl = own;
}

/* ---- forks ---- */

/* This test is the first one: no space of this process was opened before. */
static void notify_before_a_space(void **state)
{
	(void)state;
	assert_int_equal(glock_notifier_open(&notifier), -ECHILD);
}

/* Promises: glock_notifier_open: "-ECHILD this process". */
static void notify_fork(void **state)
{
	struct glock_holder *gh;
	struct glock_notifier *other;
	int status;
	pid_t pid;

	(void)state;
	rig_hold(&c, gl, GLOCK_SH, 0);
	assert_int_equal(ask(&a, GLOCK_SH, 0, 0), 0);
	pid = fork_quietly();
	assert_true(pid >= 0);
	if (!pid) {
		bool right = glock_notifier_next(notifier, &gh) == -ECHILD &&
			     glock_notifier_fd(notifier) == -ECHILD &&
			     glock_notifier_close(notifier) == -ECHILD &&
			     glock_notifier_open(&other) == -ECHILD;

		_exit(!right);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_ptr_equal(next(), &a); /* the child took nothing */
	rig_dq(&a);
	rig_dq(&c);
}

/* A child with a space of its own does not make the fd of its parent readable. */
static void notify_of_the_parent(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	pid = fork_quietly();
	assert_true(pid >= 0);
	if (!pid) {
		const struct glock_space_options o = {.size = sizeof(o), .lockman = "none"};
		struct glock_space *space;

		_exit(glock_space_open("notify", &o, &space) ||
		      glock_get(space, GLOCK_NONDISK, 1, &gl) ||
		      ask(&a, GLOCK_SH, 0, 0) != -ECHILD);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_false(readable());
	assert_null(next());
}

#define NOTIFY_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(notify_before_a_space),
	    NOTIFY_TEST(notify_grants),
	    NOTIFY_TEST(notify_failures),
	    NOTIFY_TEST(notify_dropped),
	    NOTIFY_TEST(notify_again),
	    NOTIFY_TEST(notify_close),
	    NOTIFY_TEST(notify_in_callbacks),
	    NOTIFY_TEST(notify_needs_async),
	    NOTIFY_TEST(notify_deadline),
	    NOTIFY_TEST(notify_deadline_of_the_first),
	    NOTIFY_TEST(notify_deadline_lets_go),
	    NOTIFY_TEST(notify_deadline_in_an_operation),
	    NOTIFY_TEST(notify_fork),
	    NOTIFY_TEST(notify_of_the_parent),
	};

	return RUN_TESTS(tests);
}
