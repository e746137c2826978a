/* SPDX-License-Identifier: MIT */
/* fake_node.c - see fake_node.h. */
#include "fake_node.h"

#include "../glock/inside.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

/* All messages since the last forget_messages(), one a line. */
static struct {
	pthread_mutex_t lock;
	char text[4096];
} messages = {.lock = PTHREAD_MUTEX_INITIALIZER};

void say(void *arg, const char *message)
{
	size_t len;

	(void)arg;
	fprintf(stderr, "%s\n", message);
	pthread_mutex_lock(&messages.lock);
	len = strlen(messages.text);
	snprintf(messages.text + len, sizeof(messages.text) - len, "%s\n", message);
	pthread_mutex_unlock(&messages.lock);
}

void forget_messages(void)
{
	pthread_mutex_lock(&messages.lock);
	messages.text[0] = '\0';
	pthread_mutex_unlock(&messages.lock);
}

bool was_said(const char *text)
{
	bool was;

	pthread_mutex_lock(&messages.lock);
	was = strstr(messages.text, text);
	pthread_mutex_unlock(&messages.lock);
	return was;
}

bool is_said(const char *text)
{
	const int64_t until = now() + 10000000000ll;

	while (!was_said(text) && now() < until)
		poll(NULL, 0, 5);
	return was_said(text);
}

/* ---- the linker leads these calls of the whole program here ---- */

static int64_t clock_ahead; /* of the node that works now, in ns; an atom */
static bool no_threads;     /* an atom */

int __real_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	int err = __real_clock_gettime(id, ts);

	if (id == CLOCK_REALTIME)
		ts->tv_sec += __atomic_load_n(&clock_ahead, __ATOMIC_RELAXED) / 1000000000;
	return err;
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg)
{
	if (__atomic_load_n(&no_threads, __ATOMIC_RELAXED))
		return EAGAIN;
	return __real_pthread_create(thread, attr, fn, arg);
}

void clock_is_ahead(int64_t seconds)
{
	__atomic_store_n(&clock_ahead, seconds * 1000000000, __ATOMIC_RELAXED);
}

void threads_can_start(bool can)
{
	__atomic_store_n(&no_threads, !can, __ATOMIC_RELAXED);
}

struct glock_space *node_that(unsigned int flags, const struct glock_ops *ops, recover_fn *recover,
			      void *arg)
{
	const struct glock_type_options type = {.size = sizeof(type),
						.type = TYPE,
						.hold = GLOCK_HOLD_NONE,
						.ops = ops,
						.caches = GLOCK_CACHES_DATA};
	const struct glock_space_options o = {.size = sizeof(o),
					      .lockman = "dlm",
					      .types = &type,
					      .n_types = 1,
					      .flags = flags,
					      .recover = recover,
					      .recover_arg = arg,
					      .log = say};
	struct glock_space *space;

	assert_int_equal(glock_space_open("fake", &o, &space), 0);
	assert_int_equal(trace_begin(space, 8), 0);
	return space;
}

struct glock_space *node_with(unsigned int flags, const struct glock_ops *ops)
{
	return node_that(flags, ops, NULL, NULL);
}

struct glock_space *node(unsigned int flags)
{
	return node_with(flags, NULL);
}

void leave(struct glock_space *space, struct glock *gl)
{
	glock_put(gl);
	assert_int_equal(glock_space_close(space), 0);
}

void take(struct glock *gl, enum glock_mode mode, unsigned int flags, int died)
{
	struct glock_holder gh;

	glock__holder_init(&gh, gl, mode, flags);
	assert_int_equal(glock_nq(&gh), 0);
	assert_int_equal(glock_owner_died(&gh), died);
	assert_int_equal(glock_dq(&gh), 0);
}
