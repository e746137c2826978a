/* SPDX-License-Identifier: MIT */
/*
 * test_threads.c - tests real threads and the real clock, on the lock manager of a single process.
 *
 * The tests cover mutual exclusion, both ways of running the work, and cancels from other threads.
 * They also cover deadlines, signals, and waits for several glocks.
 */
#include "check.h"
#include "glock.h"
#include "guarded.h"
#include "inside.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 4, ROUNDS = 2000, GLOCKS = 3 };

static struct glock_space *space;
static struct glock *gls[GLOCKS];
static struct guarded guarded[GLOCKS];

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static void open_space(unsigned int flags)
{
	const struct glock_space_options o = {.size = sizeof(o), .flags = flags};

	assert_int_equal(glock_space_open("threads", &o, &space), 0);
	assert_int_equal(trace_begin(space, 10), 0);
	for (uint64_t i = 0; i < GLOCKS; i++)
		assert_int_equal(glock_get(space, GLOCK_INODE, i, &gls[i]), 0);
}

static void close_space(void)
{
	for (int i = 0; i < GLOCKS; i++)
		glock_put(gls[i]);
	assert_int_equal(glock_space_close(space), 0);
}

static void *worker(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg;
	long wrote = 0;

	for (int n = 0; n < ROUNDS; n++) {
		struct glock_holder gh;
		int i = rand_r(&seed) % GLOCKS;
		enum glock_mode mode = rand_r(&seed) % 3 ? GLOCK_SH : GLOCK_EX;
		unsigned int flags = rand_r(&seed) % 16 ? 0 : GLOCK_NOCACHE;
		int err;

		if (rand_r(&seed) % 8 == 0)
			flags |= GLOCK__TRY_NOQUEUE;
		glock__holder_init(&gh, gls[i], mode, flags);
		err = glock_nq(&gh);
		assert_true(!err || (err == -EAGAIN && flags & GLOCK__TRY_NOQUEUE));
		if (err)
			continue;
		wrote += mode == GLOCK_EX;
		guarded_use(&guarded[i], mode);
		assert_int_equal(glock_dq(&gh), 0);
	}
	return (void *)wrote;
}

static void exclude(unsigned int flags)
{
	pthread_t t[THREADS];
	long wrote = 0, counted = 0;
	void *ret;

	memset(guarded, 0, sizeof(guarded));
	open_space(flags);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, worker, (void *)(i + 1)), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], &ret);
		wrote += (long)ret;
	}
	for (int i = 0; i < GLOCKS; i++)
		counted += guarded[i].counter;
	assert_int_equal(counted, wrote);
	close_space();
}

/* Promises: Threads: "Any thread may". */
static void threads_exclude_with_the_librarys_thread(void **state)
{
	(void)state;
	exclude(0);
}

/* Promises: glock_space_fd: "Functions that wait", "Any number of". */
static void threads_exclude_with_dispatch(void **state)
{
	(void)state;
	exclude(GLOCK_SPACE_DISPATCH);
}

static void threads_exclude_with_order_check(void **state)
{
	(void)state;
	exclude(GLOCK_SPACE_CHECK_ORDER);
}

/* The fd tells when work is due. dispatch runs the work. */
/*
 * Promises: GLOCK_SPACE_DISPATCH: "the program runs"; glock_space_fd: "With GLOCK_SPACE_DISPATCH
 * glock_space_fd()", "glock_dispatch() does the".
 */
static void threads_fd_and_dispatch(void **state)
{
	struct glock_holder gh;
	struct pollfd pfd;

	(void)state;
	open_space(GLOCK_SPACE_DISPATCH);
	pfd = (struct pollfd){.fd = glock_space_fd(space), .events = POLLIN};
	assert_true(pfd.fd >= 0);
	assert_int_equal(poll(&pfd, 1, 0), 0);
	glock_holder_init(&gh, gls[0], GLOCK_EX, GLOCK_ASYNC);
	assert_int_equal(glock_nq(&gh), 0);
	for (int i = 0; i < 10 && !glock_poll(&gh); i++) {
		assert_int_equal(poll(&pfd, 1, 1000), 1);
		assert_true(glock_dispatch(space) > 0);
	}
	assert_int_equal(glock_wait(&gh, 0, 0), 0);
	assert_int_equal(poll(&pfd, 1, 0), 0);
	assert_int_equal(glock_dq(&gh), 0);
	close_space();
}

static void *cancel_soon(void *arg)
{
	nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	assert_int_equal(glock_cancel(arg), 0);
	return NULL;
}

/* A thread holds the lock. Another thread cancels the waiter's request. */
/*
 * Promises: glock_nq: "A signal does", "-ECANCELED glock_cancel() took"; glock_cancel: "Takes a
 * request", "A thread that".
 */
static void threads_cancel(void **state)
{
	struct glock_holder held, waits;
	pthread_t t;

	(void)state;
	open_space(0);
	glock_holder_init(&held, gls[0], GLOCK_EX, 0);
	glock_holder_owner(&held, 1);
	assert_int_equal(glock_nq(&held), 0);
	glock_holder_init(&waits, gls[0], GLOCK_SH, GLOCK_ASYNC);
	assert_int_equal(glock_nq(&waits), 0);
	assert_int_equal(pthread_create(&t, NULL, cancel_soon, &waits), 0);
	assert_int_equal(glock_wait(&waits, 0, 0), -ECANCELED);
	pthread_join(t, NULL);
	assert_int_equal(glock_dq(&held), 0);
	close_space();
}

static void on_signal(int sig)
{
	(void)sig;
}

static void *signal_soon(void *arg)
{
	for (int i = 0; i < 5; i++) {
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
		pthread_kill(*(pthread_t *)arg, SIGUSR1);
	}
	return NULL;
}

/* A deadline ends the wait, not the request. A signal does so only on demand. */
static void deadlines(unsigned int flags)
{
	struct glock_holder held, waits;
	pthread_t t, me = pthread_self();
	int64_t began;

	open_space(flags);
	sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_signal}, NULL);
	glock_holder_init(&held, gls[0], GLOCK_EX, 0);
	glock_holder_owner(&held, 1);
	assert_int_equal(glock_nq(&held), 0);
	glock_holder_init(&waits, gls[0], GLOCK_SH, GLOCK_ASYNC);
	assert_int_equal(glock_nq(&waits), 0);
	assert_int_equal(pthread_create(&t, NULL, signal_soon, &me), 0);
	began = now();
	assert_int_equal(glock_wait(&waits, began + 100000000, 0), -ETIMEDOUT);
	assert_true(now() - began >= 100000000);
	pthread_join(t, NULL);
	assert_int_equal(pthread_create(&t, NULL, signal_soon, &me), 0);
	assert_int_equal(glock_wait(&waits, began + 5000000000, GLOCK_WAIT_INTR), -EINTR);
	pthread_join(t, NULL);
	assert_false(glock_poll(&waits));
	assert_int_equal(glock_dq(&held), 0);
	assert_int_equal(glock_wait(&waits, 0, 0), 0);
	assert_int_equal(glock_dq(&waits), 0);
	close_space();
}

/*
 * Promises: glock_space_fd: "Functions that wait"; GLOCK_WAIT_INTR: "return -EINTR when";
 * glock_wait: "Waits until the".
 */
static void threads_deadlines_and_signals(void **state)
{
	(void)state;
	deadlines(0);
	deadlines(GLOCK_SPACE_DISPATCH);
}

/*
 * Two threads take two locks in opposite order, asynchronously. No thread hangs, and both finish.
 */
static void *both(void *arg)
{
	int first = (int)(intptr_t)arg;

	for (int n = 0; n < 10; n++) {
		struct glock_holder gh[2];
		unsigned int retries = 0;
		int err;

		do {
			for (int i = 0; i < 2; i++) {
				glock_holder_init(&gh[i], gls[(first + i) % 2], GLOCK_EX,
						  GLOCK_ASYNC);
				assert_int_equal(glock_nq(&gh[i]), 0);
			}
			err = glock_async_wait(2, gh, retries++);
		} while (err == -ESTALE);
		assert_int_equal(err, 0);
		guarded_use(&guarded[0], GLOCK_EX);
		guarded_use(&guarded[1], GLOCK_EX);
		glock_dq_m(2, gh);
	}
	return NULL;
}

/* Promises: glock_async_wait: "Waits for several". */
static void threads_several_in_any_order(void **state)
{
	pthread_t t[2];

	(void)state;
	open_space(0);
	for (intptr_t i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&t[i], NULL, both, (void *)i), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	close_space();
}

/* dq_wait with NOCACHE returns after the lock was given back. */
/* Promises: GLOCK_NOCACHE: "a lock that"; glock_dq_wait: "Then waits until". */
static void threads_dq_wait(void **state)
{
	struct glock_statistics s = {.size = sizeof(s)};

	(void)state;
	for (unsigned int flags = 0; flags <= GLOCK_SPACE_DISPATCH; flags += GLOCK_SPACE_DISPATCH) {
		struct glock_holder gh;

		open_space(flags);
		glock_holder_init(&gh, gls[0], GLOCK_EX, GLOCK_NOCACHE);
		assert_int_equal(glock_nq(&gh), 0);
		assert_int_equal(glock_dq_wait(&gh), 0);
		assert_int_equal(glock_statistics(gls[0], &s), 0);
		assert_int_equal(s.demotes, 1);
		close_space();
	}
}

static int scoped(void)
{
	GLOCK_SCOPE struct glock_holder gh = GLOCK_HOLDER_NONE;

	glock_holder_init(&gh, gls[0], GLOCK_EX, 0);
	return glock_nq(&gh);
}

/* Promises: GLOCK_SCOPE: "Lets the holder"; glock_dq: "a holder that". */
static void threads_scope_guard(void **state)
{
	GLOCK_SCOPE struct glock_holder never = GLOCK_HOLDER_NONE;

	(void)state;
	(void)never;
	open_space(0);
	assert_int_equal(scoped(), 0);
	assert_int_equal(scoped(), 0);
	close_space();
}

/* ---- an object that is freed while a dump reads it ---- */

static _Atomic int dumping; /* 1: the dump reads the object; 2: it has read the object */

static void slow_dump(struct glock *gl, glock_print_fn *print, void *to)
{
	(void)print, (void)to;
	if (!glock_object(gl))
		return;
	dumping = 1;
	poll(NULL, 0, 50);
	dumping = 2;
}

static void discard(void *to, const char *text, size_t len)
{
	(void)to, (void)text, (void)len;
}

static void *dump_all(void *arg)
{
	glock_dump(space, GLOCK_FILE_GLOCKS, GLOCK_FORMAT_LINUX_7_0, discard, arg);
	return NULL;
}

/* Promises: glock_set_object: "When glock_set_object() returns". */
static void threads_object_is_nobodys_when_taken_off(void **state)
{
	static const struct glock_ops ops = {.size = sizeof(ops), .dump = slow_dump};
	const struct glock_type_options type = {
	    .size = sizeof(type), .type = GLOCK_TYPE_OWN, .ops = &ops};
	const struct glock_space_options o = {
	    .size = sizeof(o), .lockman = "none", .types = &type, .n_types = 1};
	struct glock_holder gh;
	struct glock *gl;
	pthread_t thread;

	(void)state;
	assert_int_equal(glock_space_open("objects", &o, &space), 0);
	assert_int_equal(glock_get(space, GLOCK_TYPE_OWN, 1, &gl), 0);
	glock_set_object(gl, &gh);
	glock_holder_init(&gh, gl, GLOCK_SH, 0);
	assert_int_equal(glock_nq(&gh), 0);
	dumping = 0;
	assert_int_equal(pthread_create(&thread, NULL, dump_all, NULL), 0);
	while (!dumping)
		sched_yield();
	glock_set_object(gl, NULL);
	assert_int_equal(dumping, 2);
	pthread_join(thread, NULL);
	assert_int_equal(glock_dq(&gh), 0);
	glock_put(gl);
	assert_int_equal(glock_space_close(space), 0);
}

/* Reads the value behind that word from the thread's status. */
static bool thread_status(const char *tid, const char *word, char *value, size_t size)
{
	char path[300], line[256];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%s/status", tid);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		found = !strncmp(line, word, strlen(word));
		if (found)
			snprintf(value, size, "%s", line + strlen(word));
	}
	if (f)
		fclose(f);
	return found;
}

/* The library's threads have names, and no signal of the program arrives in them. */
/* Promises: Callbacks: "threads of the". */
static void threads_named_and_without_signals(void **state)
{
	const unsigned long long all =
	    0x7fffffff & ~(1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1));
	struct dirent *e;
	bool work = false;
	DIR *dir;

	(void)state;
	open_space(0);
	dir = opendir("/proc/self/task");
	assert_non_null(dir);
	while ((e = readdir(dir))) {
		char name[64], blocked[64];

		if (!thread_status(e->d_name, "Name:\t", name, sizeof(name)) ||
		    strncmp(name, "glock-", 6))
			continue;
		work |= !strcmp(name, "glock-work\n");
		assert_true(thread_status(e->d_name, "SigBlk:\t", blocked, sizeof(blocked)));
		assert_true((strtoull(blocked, NULL, 16) & all) == all);
	}
	closedir(dir);
	assert_true(work);
	close_space();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(threads_exclude_with_the_librarys_thread),
	    cmocka_unit_test(threads_exclude_with_dispatch),
	    cmocka_unit_test(threads_exclude_with_order_check),
	    cmocka_unit_test(threads_fd_and_dispatch),
	    cmocka_unit_test(threads_cancel),
	    cmocka_unit_test(threads_deadlines_and_signals),
	    cmocka_unit_test(threads_several_in_any_order),
	    cmocka_unit_test(threads_dq_wait),
	    cmocka_unit_test(threads_scope_guard),
	    cmocka_unit_test(threads_named_and_without_signals),
	    cmocka_unit_test(threads_object_is_nobodys_when_taken_off),
	};

	return RUN_TESTS(tests);
}
