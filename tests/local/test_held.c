/* SPDX-License-Identifier: MIT */
/* test_held.c - tests operations on held locks, beside other threads and another process. */
#include "../glock/check.h"
#include "glock/state/busy.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NUMBER = 7, DOWNS = 400000, HAND_OVERS = 200 };

static void pause_ms(long ms)
{
	const struct timespec t = {.tv_nsec = ms * 1000000};

	nanosleep(&t, NULL);
}

static struct glock_space *open_held(void)
{
	const struct glock_type_options type = {
	    .size = sizeof(type), .type = GLOCK_INODE, .hold = GLOCK_HOLD_NONE};
	const struct glock_space_options o = {
	    .size = sizeof(o), .lockman = "local", .types = &type, .n_types = 1};
	struct glock_space *space;

	return glock_space_open("held", &o, &space) ? NULL : space;
}

static struct glock_space *space;
static struct glock *gl;

static int setup(void **state)
{
	(void)state;
	space = open_held();
	return !space || glock_get(space, GLOCK_INODE, NUMBER, &gl);
}

static int teardown(void **state)
{
	(void)state;
	glock_put(gl);
	return glock_space_close(space);
}

/* ---- giving way while the queue still must run ---- */

static const struct glock__lm_ops *real_ops;
static unsigned int idles; /* an atom: any thread that drops the lock counts it */
static bool to_be_run;

static void idle(struct glock__lockman *lm, struct glock__lm_lock *lk)
{
	struct glock *of = glock__entry(lk, struct glock, lk);

	/*
	 * The caller does not have the lock. Other threads may take and drop it meanwhile, and then
	 * check this.
	 */
	gl_lock(of);
	to_be_run |= gl_busy(of)->must_run;
	gl_busy(of)->must_run = false; /* so that the library's own check does not stop this */
	gl_unlock(of);
	__atomic_fetch_add(&idles, 1, __ATOMIC_RELAXED);
	real_ops->idle(lm, lk);
}

/* Runs in a process of its own. Asks for SH again and again. */
static void want_shared(const int *stop)
{
	struct glock_space *other = open_held();
	struct glock_holder gh;
	struct glock *its;

	if (!other || glock_get(other, GLOCK_INODE, NUMBER, &its))
		_exit(1);
	while (!__atomic_load_n(stop, __ATOMIC_ACQUIRE)) {
		glock_holder_init(&gh, its, GLOCK_SH, 0);
		if (glock_nq(&gh) || glock_dq(&gh))
			_exit(2);
	}
	glock_put(its);
	_exit(glock_space_close(other) ? 3 : 0);
}

static void idle_is_told_with_nothing_to_be_run(void **state)
{
	int *stop =
	    mmap(NULL, sizeof(*stop), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct glock__lm_ops ops; /* lives as long as the space */
	struct glock_holder gh;
	int status;
	pid_t pid;

	(void)state;
	assert_ptr_not_equal(stop, MAP_FAILED);
	pid = fork(); /* before this process opens the space */
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		want_shared(stop);
	}
	assert_int_equal(setup(NULL), 0);
	real_ops = space->lm->ops;
	ops = *real_ops;
	ops.idle = idle;
	space->lm->ops = &ops;
	for (int i = 0; i < HAND_OVERS; i++) {
		glock_holder_init(&gh, gl, GLOCK_EX, 0);
		assert_int_equal(glock_nq(&gh), 0);
		pause_ms(1); /* so that the other process asks for the lock */
		assert_int_equal(glock_dq(&gh), 0);
	}
	__atomic_store_n(stop, 1, __ATOMIC_RELEASE);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	munmap(stop, sizeof(*stop));
	assert_int_equal(teardown(NULL), 0);
	assert_true(__atomic_load_n(&idles, __ATOMIC_RELAXED) > 0);
	assert_false(to_be_run);
}

/* ---- downgrade ---- */

static bool stop_asking;

static void *ask(void *arg)
{
	struct glock_holder gh;

	(void)arg;
	while (!__atomic_load_n(&stop_asking, __ATOMIC_ACQUIRE)) {
		glock_holder_init(&gh, gl, GLOCK_EX, GLOCK_TRY_CACHED);
		if (!glock_nq(&gh))
			glock_dq(&gh);
		glock_holder_init(&gh, gl, GLOCK_EX, 0);
		if (!glock_nq(&gh))
			glock_dq(&gh);
	}
	return NULL;
}

/* No thread shares the lock. Threads that only ask for it do not prevent the downgrade. */
static void downgrade_beside_askers(void **state)
{
	struct glock_holder gh;
	pthread_t thread;
	int busy = 0;

	(void)state;
	stop_asking = false;
	assert_int_equal(pthread_create(&thread, NULL, ask, NULL), 0);
	for (int i = 0; i < DOWNS; i++) {
		glock_holder_init(&gh, gl, GLOCK_EX, 0);
		assert_int_equal(glock_nq(&gh), 0);
		busy += glock_downgrade(&gh, GLOCK_SH) == -EBUSY;
		assert_int_equal(glock_dq(&gh), 0);
	}
	__atomic_store_n(&stop_asking, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	assert_int_equal(busy, 0);
}

static int downgraded;

static void *downgrade(void *gh)
{
	downgraded = glock_downgrade(gh, GLOCK_SH);
	return NULL;
}

static int downgrade_elsewhere(struct glock_holder *gh)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, downgrade, gh), 0);
	pthread_join(thread, NULL);
	return downgraded;
}

/* The result does not depend on the path of the grant, with the queue or without. */
/* Promises: glock_dq: "-EPERM another thread"; glock_downgrade: "-EPERM another thread". */
static void downgrade_by_another_thread(void **state)
{
	static const unsigned int flags[] = {0, GLOCK_EXACT, GLOCK_NOBLOCK};
	struct glock_holder gh;

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(flags); i++) {
		glock_holder_init(&gh, gl, GLOCK_EX, flags[i / 2]);
		assert_int_equal(glock_nq(&gh), 0);
		assert_int_equal(downgrade_elsewhere(&gh), -EPERM);
		assert_int_equal(glock_dq(&gh), 0);
	}
	glock_holder_init(&gh, gl, GLOCK_EX, GLOCK_NOPID);
	assert_int_equal(glock_nq(&gh), 0);
	assert_int_equal(downgrade_elsewhere(&gh), 0);
	assert_int_equal(glock_dq(&gh), 0);
}

/* ---- several ---- */

/* One entry is no holder. As with any error, the call leaves none held. */
static void an_empty_one_of_several(void **state)
{
	(void)state;
	for (size_t empty = 0; empty < 2; empty++) {
		struct glock_holder gh[2] = {GLOCK_HOLDER_NONE, GLOCK_HOLDER_NONE};

		glock_holder_init(&gh[!empty], gl, GLOCK_EX, GLOCK_ASYNC);
		assert_int_equal(glock_nq(&gh[!empty]), 0);
		assert_int_equal(glock_async_wait(2, gh, 0), -EINVAL);
		assert_int_equal(glock_dq(&gh[!empty]), -EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(idle_is_told_with_nothing_to_be_run),
	    cmocka_unit_test_setup_teardown(downgrade_beside_askers, setup, teardown),
	    cmocka_unit_test_setup_teardown(downgrade_by_another_thread, setup, teardown),
	    cmocka_unit_test_setup_teardown(an_empty_one_of_several, setup, teardown),
	};

	return RUN_TESTS(tests);
}
