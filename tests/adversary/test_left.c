/* SPDX-License-Identifier: MIT */
/*
 * test_left.c - tests operations that do not return: the thread ends there, or jumps out. A call
 * does not end with the thread.
 */
#include "watched.h"

#include <setjmp.h>

enum where { NOWHERE, IN_INSTANTIATE, IN_TH, IN_INVAL, IN_UNLOCK };

static _Atomic int where, runs, named;
static void (*leaves)(void);
static jmp_buf outside;

static void note(void *arg, const char *message)
{
	(void)arg;
	named += strstr(message, "was left by") != NULL;
}

static void leave_in(enum where here)
{
	if (where != (int)here)
		return;
	where = NOWHERE;
	leaves();
}

static int instantiate(struct glock_holder *gh)
{
	(void)gh;
	leave_in(IN_INSTANTIATE);
	return 0;
}

static int th(struct glock *of, enum glock_mode to, unsigned int sync)
{
	(void)of, (void)to;
	if (sync)
		leave_in(IN_TH);
	return 0;
}

static void inval(struct glock *of, unsigned int what)
{
	(void)of, (void)what;
	leave_in(IN_INVAL);
}

static void unlock(struct glock_holder *gh)
{
	(void)gh;
	leave_in(IN_UNLOCK);
}

static void begin_leaving(enum where here, void (*how)(void))
{
	static const struct glock_ops ops = {.size = sizeof(ops),
					     .instantiate = instantiate,
					     .xmote_th = th,
					     .inval = inval,
					     .unlock = unlock};
	static const struct glock_type_options type = {
	    .size = sizeof(type), .type = GLOCK_INODE, .ops = &ops, .hold = GLOCK_HOLD_NONE};

	space = open_space_with(
	    (struct glock_space_options){.types = &type, .n_types = 1, .log = note});
	gl = get(space, GLOCK_INODE, 1);
	where = here;
	leaves = how;
}

static void exits(void)
{
	pthread_exit(NULL);
}

/* The holder fails, the thread goes on, and the next holder runs the operation again. */
/* Promises: glock_ops: "An operation must return", "If pthread_exit() or". */
static void exit_in_instantiate(void)
{
	struct glock_holder gh;

	begin_leaving(IN_INSTANTIATE, exits);
	SAME(glock_lock(gl, GLOCK_EX, &gh), -ENOTRECOVERABLE);
	SAME(named, 1);
	SAME(glock_lock(gl, GLOCK_EX, &gh), 0);
	SAME(glock_unlock(&gh), 0);
	end();
}

static void exit_in_unlock(void)
{
	struct glock_holder gh;

	begin_leaving(IN_UNLOCK, exits);
	SAME(glock_lock(gl, GLOCK_EX, &gh), 0);
	SAME(glock_unlock(&gh), 0);
	SAME(named, 1);
	SAME(glock_lock(gl, GLOCK_EX, &gh), 0);
	SAME(glock_unlock(&gh), 0);
	end();
}

/* The data stays dirty, as after any error of glock_sync(). */
/* Promises: glock_ops: "If pthread_exit() or". */
static void exit_in_sync(void)
{
	struct glock_holder gh;

	begin_leaving(IN_TH, exits);
	SAME(glock_lock(gl, GLOCK_EX, &gh), 0);
	SAME(glock_sync(gl), -ENOTRECOVERABLE);
	SAME(named, 1);
	SAME(glock_sync(gl), 0);
	SAME(glock_unlock(&gh), 0);
	end();
}

/* A thread of the library runs the operation, and still runs the work afterwards. */
static void withdraws_after(enum where here)
{
	struct glock_holder gh;

	begin_leaving(here, exits);
	SAME(glock_lock(gl, GLOCK_EX, &gh), 0);
	SAME(glock_unlock(&gh), 0);
	glock_holder_init(&gh, gl, GLOCK_SH, GLOCK_EXACT);
	if (here == IN_INVAL)
		glock_holder_init(&gh, gl, GLOCK_EX, GLOCK_NOCACHE);
	if (!glock_nq(&gh))
		SAME(glock_dq_wait(&gh), 0);
	UNTIL(named);
	while (!glock_lock(gl, GLOCK_EX, &gh))
		SAME(glock_unlock(&gh), 0);
	SAME(glock_lock(gl, GLOCK_EX, &gh), -EIO);
	glock_put(gl);
	SAME(glock_space_close(space), here == IN_TH ? -EIO : 0);
}

/* Promises: glock_ops: "xmote_th and inval". */
static void exit_in_xmote_th(void)
{
	withdraws_after(IN_TH);
}

/* Promises: glock_ops: "xmote_th and inval". */
static void exit_in_inval(void)
{
	withdraws_after(IN_INVAL);
}

static void sleeps(void)
{
	runs = 1;
	nap(50 * MS); /* a cancellation point */
}

static void *locks(void *arg)
{
	SAME(glock_lock(gl, GLOCK_EX, arg), 0);
	SAME(glock_unlock(arg), 0);
	runs = 2;
	for (;;)
		pause();
}

/* The operation runs to its end, and the thread is cancelled afterwards. */
/* Promises: glock_ops: "During an operation". */
static void cancel_in_instantiate(void)
{
	struct glock_holder gh;
	pthread_t t;
	void *ret;

	begin_leaving(IN_INSTANTIATE, sleeps);
	t = thread(locks, &gh);
	UNTIL(runs);
	SAME(pthread_cancel(t), 0);
	SAME(pthread_join(t, &ret), 0);
	CHECK(ret == PTHREAD_CANCELED);
	SAME(runs, 2);
	SAME(named, 0);
	end();
}

static void jumps(void)
{
	longjmp(outside, 1);
}

/* glock.h forbids this. The next call of the thread names the operation. */
/* Promises: glock_ops: "A longjmp() must", "The log names". */
static void jump_out_of_sync(void)
{
	struct glock_holder gh;
	struct glock *found;

	begin_leaving(IN_TH, jumps);
	SAME(glock_lock(gl, GLOCK_EX, &gh), 0);
	if (!setjmp(outside))
		glock_sync(gl);
	SAME(named, 0);
	SAME(glock_get(space, GLOCK_INODE, 2, &found), 0);
	SAME(named, 1);
}

static void *jumps_and_ends(void *arg)
{
	if (!setjmp(outside))
		glock_sync(gl);
	return arg;
}

/* Promises: glock_ops: "The log names". */
static void jump_and_end(void)
{
	struct glock_holder gh;

	begin_leaving(IN_TH, jumps);
	SAME(glock_lock(gl, GLOCK_EX, &gh), 0);
	join_thread(thread(jumps_and_ends, NULL));
	SAME(named, 1);
}

/* ---- a thread that is to be cancelled ---- */

static _Atomic bool came_back;

static void says(void *arg, const char *message)
{
	(void)arg;
	(void)!write(-1, message, 1); /* a cancellation point */
}

/* Asks for a lock that another process keeps, and for many others. */
static void asks_for_locks(struct glock_space *in)
{
	struct glock_notifier *notifier;
	struct glock_holder gh, *none;
	struct glock *one;

	one = get(in, GLOCK_INODE, 1);
	glock_holder_init(&gh, one, GLOCK_EX, GLOCK_TRY);
	SAME(glock_nq(&gh), -EBUSY);
	glock_holder_init(&gh, one, GLOCK_EX, GLOCK_ASYNC);
	SAME(glock_notifier_open(&notifier), 0);
	glock_holder_notify(&gh, notifier, 0);
	SAME(glock_nq(&gh), 0);
	SAME(glock_wait(&gh, now() + 30 * MS, 0), -ETIMEDOUT);
	CHECK(glock_holders(one, NULL, 0) >= 1);
	SAME(glock_dq(&gh), 0);
	SAME(glock_notifier_next(notifier, &none), 0);
	SAME(glock_notifier_close(notifier), 0);
	glock_put(one);
	for (uint64_t i = 0; i < 3000; i++) {
		one = get(in, GLOCK_INODE, 10 + i);
		glock_holder_init(&gh, one, GLOCK_EX, i % 8 ? 0 : GLOCK_NOCACHE);
		SAME(glock_nq(&gh), 0);
		SAME(glock_dq_wait(&gh), 0);
		glock_put(one);
	}
}

static void *is_cancelled(void *others)
{
	struct glock_space *in;

	pthread_cancel(pthread_self());
	SAME(glock_dq(others), -EPERM);
	in = open_space_with((struct glock_space_options){.log = says});
	asks_for_locks(in);
	SAME(glock_nodes(in, NULL, 0), 3);
	SAME(glock_space_sync(in), 0);
	glock_shrink(in, 100);
	glock_withdraw(in);
	SAME(glock_space_close(in), 0);
	came_back = true;
	return NULL;
}

/* Promises: Threads: "pthread_cancel() never ends". */
static void no_call_is_left_by_a_cancel(void)
{
	pid_t pid = start(keeps, NULL);
	struct glock_holder gh;

	UNTIL(shared->cell[0]);
	begin();
	other = get(space, GLOCK_INODE, 2);
	SAME(glock_lock(other, GLOCK_EX, &gh), 0);
	join_thread(thread(is_cancelled, &gh));
	CHECK(came_back);
	SAME(glock_dq(&gh), 0);
	glock_put(other);
	end();
	shared->cell[1] = 1;
	join(pid);
}

int main(void)
{
	static const struct test tests[] = {
	    {"exit_in_instantiate", exit_in_instantiate, "local"},
	    {"exit_in_unlock", exit_in_unlock, "local"},
	    {"exit_in_sync", exit_in_sync, "local"},
	    {"exit_in_xmote_th", exit_in_xmote_th, "local"},
	    {"exit_in_inval", exit_in_inval, "local"},
	    {"cancel_in_instantiate", cancel_in_instantiate, "local"},
	    {"no_call_is_left_by_a_cancel", no_call_is_left_by_a_cancel, "local"},
	    {"jump_out_of_sync", jump_out_of_sync, "local"},
	    {"jump_and_end", jump_and_end, "local"},
	};

	return run_tests(tests, COUNT(tests));
}
