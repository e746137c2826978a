/* SPDX-License-Identifier: MIT */
/*
 * test_unload.c - tests dlopen() and dlclose() of libglock.so, as a program does that loads
 * plug-ins.
 *
 * Threads that used the library outlive the plug-in. They have slots, and biases with them. Each
 * case runs in a child process, because a library that is once loaded stays.
 */
#include "check.h"
#include "glock.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, PAIRS = 100 };

/* ---- the library, as the linker does not know it ---- */

static void *handle;
static int (*space_open)(const char *, const struct glock_space_options *, struct glock_space **);
static int (*space_close)(struct glock_space *);
static int (*get_at)(struct glock_space *, unsigned int, uint64_t, struct glock **, const char *);
static void (*put)(struct glock *);
static void (*holder_init)(struct glock_holder *, struct glock *, enum glock_mode, unsigned int);
static int (*nq_at)(struct glock_holder *, const char *);
static int (*dq)(struct glock_holder *);

static void find(void *to, const char *name)
{
	void *at = dlsym(handle, name);

	if (!at)
		_exit(3);
	memcpy(to, &at, sizeof(at));
}

static void load(void)
{
	handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		_exit(3);
	}
	find(&space_open, "glock_space_open");
	find(&space_close, "glock_space_close");
	find(&get_at, "glock_get_at");
	find(&put, "glock_put");
	find(&holder_init, "glock_holder_init");
	find(&nq_at, "glock_nq_at");
	find(&dq, "glock_dq");
}

/* ---- a program with threads of its own ---- */

static struct glock_space *space;
static struct glock *gl;
static sem_t used, may_end;
static int out;

static void tell(void *arg, const char *message)
{
	(void)arg;
	dprintf(out, "%s\n", message);
}

static int write_back(struct glock *of, enum glock_mode to, unsigned int sync)
{
	(void)of, (void)to, (void)sync;
	return 0;
}

static void open_space(void)
{
	static const struct glock_ops ops = {.size = sizeof(ops), .xmote_th = write_back};
	static const struct glock_type_options type = {
	    .size = sizeof(type), .type = GLOCK_INODE, .ops = &ops};
	const struct glock_space_options o = {
	    .size = sizeof(o), .types = &type, .n_types = 1, .lockman = "none", .log = tell};

	if (space_open("unload", &o, &space) || get_at(space, GLOCK_INODE, 1, &gl, GLOCK_HERE))
		_exit(4);
}

static void close_space(void)
{
	put(gl);
	if (space_close(space))
		_exit(5);
}

static void take(enum glock_mode mode)
{
	struct glock_holder gh;

	for (int i = 0; i < PAIRS; i++) {
		holder_init(&gh, gl, mode, 0);
		if (nq_at(&gh, "test_unload.c:1") || dq(&gh))
			_exit(6);
	}
}

/* Has slots of the space until it ends. */
static void *reads(void *arg)
{
	(void)arg;
	take(GLOCK_SH);
	sem_post(&used);
	sem_wait(&may_end);
	return NULL;
}

static void start_readers(pthread_t *t)
{
	sem_init(&used, 0, 0);
	sem_init(&may_end, 0, 0);
	take(GLOCK_EX);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, reads, NULL);
	for (int i = 0; i < THREADS; i++)
		sem_wait(&used);
}

static void end_readers(const pthread_t *t)
{
	for (int i = 0; i < THREADS; i++)
		sem_post(&may_end);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

/* ---- the cases ---- */

/* The program cleans up in order. Its threads live on, and each has a part in the closed space. */
static void threads_outlive(void)
{
	pthread_t t[THREADS];

	load();
	open_space();
	start_readers(t);
	close_space();
	dlclose(handle);
	end_readers(t);
}

/* The space stays open, and the threads end with a bias. A plug-in that comes back finds it. */
static void space_outlives(void)
{
	pthread_t t[THREADS];

	load();
	open_space();
	start_readers(t);
	dlclose(handle);
	end_readers(t);
	load();
	take(GLOCK_EX);
	close_space();
	dlclose(handle);
}

/* Loaded and unloaded again and again, with a thread that stays. */
static void many_times(void)
{
	pthread_t t[THREADS];

	for (int i = 0; i < 20; i++) {
		load();
		open_space();
		if (!i)
			start_readers(t);
		take(i % 2 ? GLOCK_EX : GLOCK_SH);
		close_space();
		dlclose(handle);
	}
	end_readers(t);
}

/* dlclose() is no exit: the message comes with the exit, once. */
static void never_closed(void)
{
	load();
	open_space();
	take(GLOCK_EX);
	dlclose(handle);
	dprintf(out, "unloaded\n");
}

/* Runs a case in a child, and compares what the child writes. */
static void expect(void (*fn)(void), const char *text)
{
	char written[1024];
	size_t len = 0;
	int ends[2], status;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	fflush(stdout);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(ends[0]);
		out = ends[1];
		alarm(60);
		fn();
		exit(0);
	}
	close(ends[1]);
	for (ssize_t n; (n = read(ends[0], written + len, sizeof(written) - 1 - len)) > 0;)
		len += (size_t)n;
	written[len] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_string_equal(written, text);
}

/* Promises: Unloading: "After dlclose() libglock.so". */
static void unload_before_threads_end(void **state)
{
	(void)state;
	expect(threads_outlive, "");
	expect(space_outlives, "");
}

/* Promises: Unloading: "After dlclose() libglock.so". */
static void unload_and_load_again(void **state)
{
	(void)state;
	expect(many_times, "");
}

/* Promises: glock_space_close: "dlclose() of the". */
static void unload_is_no_exit(void **state)
{
	(void)state;
	expect(never_closed,
	       "unloaded\n"
	       "space unload: the process exits without glock_space_close(): 1 lock in EX was not "
	       "written back; close the space before exit\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(unload_before_threads_end),
	    cmocka_unit_test(unload_and_load_again),
	    cmocka_unit_test(unload_is_no_exit),
	};

	return RUN_TESTS(tests);
}
