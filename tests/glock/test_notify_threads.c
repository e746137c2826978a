/* SPDX-License-Identifier: MIT */
/*
 * test_notify_threads.c - many threads ask, many threads read one notifier through epoll. A job is
 * freed as soon as its notification was read, perhaps before glock_nq() has returned.
 */
#include "check.h"
#include "glock.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { ASKERS = 3, READERS = 3, JOBS = 1500, GLOCKS = 3 };

struct job {
	struct glock_holder gh;
	int g;
};

static struct glock_space *space;
static struct glock *gls[GLOCKS];
static struct glock_notifier *notifier;
static int writers[GLOCKS]; /* holders in EX now; an atom */
static int left;            /* jobs whose notification was not read; an atom */
static int timeouts, grants;

static int64_t soon(unsigned int *seed)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec + rand_r(seed) % 300000;
}

static void *ask(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg;

	for (int i = 0; i < JOBS; i++) {
		struct job *job = malloc(sizeof(*job));

		assert_non_null(job);
		job->g = rand_r(&seed) % GLOCKS;
		glock_holder_init(&job->gh, gls[job->g], GLOCK_EX, GLOCK_ASYNC);
		glock_holder_owner(&job->gh, (uint64_t)(uintptr_t)job);
		glock_holder_notify(&job->gh, notifier, i % 3 ? 0 : soon(&seed));
		assert_int_equal(glock_nq(&job->gh), 0);
		/* The job may be gone. */
		if (i % 32 == 0)
			sched_yield();
	}
	return NULL;
}

static void finish(struct glock_holder *gh)
{
	struct job *job = (struct job *)gh;
	int err = glock_wait(gh, 0, 0);

	if (!err) {
		assert_int_equal(__atomic_add_fetch(&writers[job->g], 1, __ATOMIC_SEQ_CST), 1);
		__atomic_sub_fetch(&writers[job->g], 1, __ATOMIC_SEQ_CST);
		assert_int_equal(glock_dq(gh), 0);
		__atomic_add_fetch(&grants, 1, __ATOMIC_RELAXED);
	} else {
		assert_int_equal(err, -ETIMEDOUT);
		assert_int_equal(glock_dq(gh), -EINVAL);
		__atomic_add_fetch(&timeouts, 1, __ATOMIC_RELAXED);
	}
	free(job);
}

/* The fd is level-triggered: a reader may take one holder only and poll again. */
static void *read_all(void *arg)
{
	struct epoll_event event = {.events = EPOLLIN};
	int ep = epoll_create1(EPOLL_CLOEXEC);
	struct glock_holder *gh;

	(void)arg;
	assert_int_equal(epoll_ctl(ep, EPOLL_CTL_ADD, glock_notifier_fd(notifier), &event), 0);
	while (__atomic_load_n(&left, __ATOMIC_SEQ_CST)) {
		int n = epoll_wait(ep, &event, 1, 10) < 1 ? 0 : glock_notifier_next(notifier, &gh);

		assert_true(n >= 0);
		if (!n)
			continue;
		finish(gh);
		__atomic_sub_fetch(&left, 1, __ATOMIC_SEQ_CST);
	}
	close(ep);
	return NULL;
}

static void run(unsigned int flags)
{
	const struct glock_space_options o = {.size = sizeof(o), .flags = flags};
	pthread_t t[ASKERS + READERS];
	struct pollfd pfd;

	left = ASKERS * JOBS;
	grants = timeouts = 0;
	assert_int_equal(glock_space_open("notify", &o, &space), 0);
	for (uint64_t i = 0; i < GLOCKS; i++)
		assert_int_equal(glock_get(space, GLOCK_INODE, i, &gls[i]), 0);
	assert_int_equal(glock_notifier_open(&notifier), 0);
	for (uintptr_t i = 0; i < ASKERS + READERS; i++)
		assert_int_equal(
		    pthread_create(&t[i], NULL, i < ASKERS ? ask : read_all, (void *)(i + 1)), 0);
	while (flags && __atomic_load_n(&left, __ATOMIC_SEQ_CST)) {
		pfd = (struct pollfd){.fd = glock_space_fd(space), .events = POLLIN};
		if (poll(&pfd, 1, 10) == 1)
			assert_true(glock_dispatch(space) >= 0);
	}
	for (int i = 0; i < ASKERS + READERS; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(grants + timeouts, ASKERS * JOBS);
	assert_true(grants > 0);
	pfd = (struct pollfd){.fd = glock_notifier_fd(notifier), .events = POLLIN};
	assert_int_equal(poll(&pfd, 1, 0), 0);
	assert_int_equal(glock_notifier_close(notifier), 0);
	for (int i = 0; i < GLOCKS; i++)
		glock_put(gls[i]);
	assert_int_equal(glock_space_close(space), 0);
}

/*
 * Promises: glock_notifier: "A notifier tells"; glock_notifier_next: "Any number of", "One of
 * them"; glock_holder_notify: "If glock_nq() returns", "At the deadline".
 */
static void notify_threads(void **state)
{
	(void)state;
	run(0);
}

/* Promises: glock_notifier_next: "Any number of". */
static void notify_threads_with_dispatch(void **state)
{
	(void)state;
	run(GLOCK_SPACE_DISPATCH);
}

/* One notifier serves two spaces. An edge-triggered epoll tells once of what came meanwhile. */
/* Promises: glock_notifier: "A notifier serves"; glock_notifier_fd: "With an edge-triggered". */
static void notify_two_spaces(void **state)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	int ep = epoll_create1(EPOLL_CLOEXEC), n = 0;
	struct glock_space *spaces[2];
	struct glock_holder gh[2], *done;
	struct glock *gl[2];

	(void)state;
	assert_int_equal(glock_space_open("first", NULL, &spaces[0]), 0);
	assert_int_equal(glock_space_open("second", NULL, &spaces[1]), 0);
	assert_int_equal(glock_notifier_open(&notifier), 0);
	assert_int_equal(epoll_ctl(ep, EPOLL_CTL_ADD, glock_notifier_fd(notifier), &event), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(glock_get(spaces[i], GLOCK_INODE, 1, &gl[i]), 0);
		glock_holder_init(&gh[i], gl[i], GLOCK_EX, GLOCK_ASYNC);
		glock_holder_notify(&gh[i], notifier, 0);
		assert_int_equal(glock_nq(&gh[i]), 0);
		while (!glock_poll(&gh[i]))
			sched_yield();
	}
	while (n < 2) {
		assert_int_equal(epoll_wait(ep, &event, 1, 3000), 1);
		while (glock_notifier_next(notifier, &done) == 1)
			n++;
	}
	assert_int_equal(epoll_wait(ep, &event, 1, 0), 0);
	assert_int_equal(glock_notifier_close(notifier), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(glock_dq(&gh[i]), 0); /* the notifier is gone */
		glock_put(gl[i]);
		assert_int_equal(glock_space_close(spaces[i]), 0);
	}
	close(ep);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(notify_threads),
	    cmocka_unit_test(notify_threads_with_dispatch),
	    cmocka_unit_test(notify_two_spaces),
	};

	return RUN_TESTS(tests);
}
