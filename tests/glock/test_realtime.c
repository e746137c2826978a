/* SPDX-License-Identifier: MIT */
/*
 * test_realtime.c - tests that a realtime thread does not spin for an internal lock of a normal
 * thread of its CPU. The test counts CPU time, which other load does not change.
 */
#include "fast_space.h"
#include "glock/state/busy.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

/* A thread that spins gets CPU time until the kernel throttles it, after 950 ms by default. */
#define MOST_NS 100000000ll
#define LONG_NS 2000000ll

static int64_t spent; /* CPU time of the realtime thread in its call */

static int64_t cpu_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void on_one_cpu(void)
{
	cpu_set_t all, one;
	int cpu = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
}

static bool be_realtime(void)
{
	const struct sched_param p = {.sched_priority = 1};

	return !sched_setscheduler(0, SCHED_FIFO, &p);
}

/* Has the lock of the glock for a while, on the CPU of the realtime thread. */
static void *has_lock(void *gl)
{
	int64_t end;

	on_one_cpu();
	await_step(1);
	gl_lock(gl);
	next_step(2);
	end = cpu_time() + LONG_NS;
	while (cpu_time() < end)
		;
	gl_unlock(gl);
	return NULL;
}

/* Gives its bias up, as at the end of the thread. */
static void *gives_up(void *gl)
{
	struct glock__thread *t;
	int64_t before;

	on_one_cpu();
	get_bias(gl, GLOCK_EX);
	t = glock__thread_in(space);
	assert_true(be_realtime());
	next_step(1);
	await_step(2);
	before = cpu_time();
	glock__slots_end(t);
	spent = cpu_time() - before;
	return NULL;
}

static void realtime_gives_up_a_bias(void **state)
{
	pthread_t low, high;

	(void)state;
	step = 0;
	cache(gls[0]);
	assert_int_equal(pthread_create(&low, NULL, has_lock, gls[0]), 0);
	assert_int_equal(pthread_create(&high, NULL, gives_up, gls[0]), 0);
	pthread_join(high, NULL);
	pthread_join(low, NULL);
	assert_true(spent < MOST_NS);
}

static void *asks_for_realtime(void *can)
{
	*(bool *)can = be_realtime();
	return NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    FAST_TEST(realtime_gives_up_a_bias),
	};
	bool can = false;
	pthread_t t;

	if (!pthread_create(&t, NULL, asks_for_realtime, &can))
		pthread_join(t, NULL);
	if (!can) {
		puts("1..0 # SKIP needs realtime");
		return 0;
	}
	return RUN_TESTS(tests);
}
