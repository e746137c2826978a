/* SPDX-License-Identifier: MIT */
/*
 * test_realtime.c - tests that a realtime thread does not wait for a lock table. A normal thread
 * may have the table, and may not get its turn on the CPU.
 */
#include "../glock/check.h"
#include "glock/core/space.h"
#include "lockman/local/local_shard.h"

#include <sched.h>
#include <unistd.h>

static struct glock *gl;

static bool be_realtime(void)
{
	const struct sched_param p = {.sched_priority = 1};

	return !sched_setscheduler(0, SCHED_FIFO, &p);
}

static void *asks(void *can)
{
	struct glock_holder gh;

	*(bool *)can = be_realtime();
	if (!*(bool *)can)
		return NULL;
	glock_holder_init(&gh, gl, GLOCK_EX, GLOCK_TRY_1CB);
	assert_int_equal(glock_nq(&gh), -EAGAIN);
	glock_holder_init(&gh, gl, GLOCK_EX, GLOCK_ASYNC);
	assert_int_equal(glock_nq(&gh), 0);
	assert_int_equal(glock_poll(&gh), 0);
	assert_int_equal(glock_dq(&gh), 0);
	return NULL;
}

/* The table becomes free only after the thread has ended. */
static bool realtime_leaves_a_table_to_others(void)
{
	const struct glock_space_options o = {.size = sizeof(o), .lockman = "local"};
	struct glock_space *space;
	struct hold hold;
	bool can = false;
	pthread_t thread;

	assert_int_equal(glock_space_open("realtime", &o, &space), 0);
	assert_int_equal(glock_get(space, GLOCK_INODE, 1, &gl), 0);
	assert_int_equal(glock__local_take((struct local *)space->lm,
					   glock__local_shard(GLOCK_INODE, 1), WAIT_FOR_IT, &hold),
			 0);
	alarm(20); /* a call that waits ends the test */
	assert_int_equal(pthread_create(&thread, NULL, asks, &can), 0);
	pthread_join(thread, NULL);
	alarm(0);
	glock__local_drop_unchanged(&hold);
	glock_put(gl);
	assert_int_equal(glock_space_close(space), 0);
	return can;
}

int main(void)
{
	if (!realtime_leaves_a_table_to_others())
		puts("1..0 # SKIP needs realtime");
	else
		puts("1..1\nok 1 - realtime_leaves_a_table_to_others");
	return 0;
}
