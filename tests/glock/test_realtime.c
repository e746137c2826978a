/* SPDX-License-Identifier: MIT */
/*
 * test_realtime.c - tests that a realtime thread does not spin for an internal lock of a normal
 * thread of its CPU, and waits for no third thread. The test counts CPU time, which other load does
 * not change.
 */
#include "fast_space.h"
#include "glock/state/busy.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

/* A thread that spins gets CPU time until the kernel throttles it, after 950 ms by default. */
#define MOST_NS 100000000ll
#define SHORT_NS 2000000ll
#define LONG_NS 20000000ll

enum { BUSY = 4 };

static int64_t spent;   /* CPU time of the realtime thread in its call, or of others meanwhile */
static int64_t kept;    /* CPU time of the owner between that and the end of the call */
static int64_t lock_ns; /* CPU time for which the owner has the lock */

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
	end = cpu_time() + lock_ns;
	while (cpu_time() < end)
		;
	gl_unlock(gl);
	kept = cpu_time();
	while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) < 3 && cpu_time() < end + 2 * lock_ns)
		;
	kept = cpu_time() - kept;
	return NULL;
}

/* ---- the priority of the owner ---- */

/* Uses the CPU of the realtime thread. Its CPU time is a clock of its own. */
static void *is_busy(void *clock)
{
	on_one_cpu();
	assert_int_equal(pthread_getcpuclockid(pthread_self(), clock), 0);
	while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) < 3)
		;
	return NULL;
}

static int64_t busy_time(const clockid_t *clocks)
{
	struct timespec ts;
	int64_t sum = 0;

	for (int i = 0; i < BUSY; i++) {
		assert_int_equal(clock_gettime(clocks[i], &ts), 0);
		sum += (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
	}
	return sum;
}

static clockid_t busy[BUSY];

static void *waits_for_the_owner(void *gl)
{
	int64_t before;

	on_one_cpu();
	assert_true(be_realtime());
	next_step(1);
	await_step(2);
	before = busy_time(busy);
	gl_lock(gl);
	spent = busy_time(busy) - before;
	gl_unlock(gl);
	next_step(3);
	return NULL;
}

static void begin_busy(pthread_t *others)
{
	step = 0;
	lock_ns = LONG_NS;
	for (int i = 0; i < BUSY; i++) {
		busy[i] = 0;
		assert_int_equal(pthread_create(&others[i], NULL, is_busy, &busy[i]), 0);
	}
	for (int i = 0; i < BUSY; i++)
		while (!__atomic_load_n(&busy[i], __ATOMIC_ACQUIRE))
			usleep(100);
}

static void end_busy(const pthread_t *others)
{
	for (int i = 0; i < BUSY; i++)
		pthread_join(others[i], NULL);
	assert_true(spent < LONG_NS);
	assert_true(kept < LONG_NS);
}

/* The owner has the realtime thread's CPU until it drops the lock, and other threads have not. */
static void realtime_lends_its_priority(void **state)
{
	pthread_t low, high, others[BUSY];

	(void)state;
	begin_busy(others);
	assert_int_equal(pthread_create(&low, NULL, has_lock, gls[0]), 0);
	assert_int_equal(pthread_create(&high, NULL, waits_for_the_owner, gls[0]), 0);
	pthread_join(high, NULL);
	pthread_join(low, NULL);
	end_busy(others);
}

/* Has the lock of one glock, and waits for that of another one. */
static void *has_one_of_two(void *unused)
{
	(void)unused;
	on_one_cpu();
	glock__lock_take(&gls[1]->lock);
	next_step(1);
	await_step(2);
	glock__lock_take(&gls[0]->lock);
	glock__lock_drop(&gls[0]->lock);
	glock__lock_drop(&gls[1]->lock);
	return NULL;
}

static void *waits_for_both(void *unused)
{
	int64_t before;

	(void)unused;
	on_one_cpu();
	assert_true(be_realtime());
	await_step(2);
	while (!(atom_load32(&gls[0]->lock.word) & GLOCK__LOCK_SLEEPERS))
		usleep(100);
	before = busy_time(busy);
	glock__lock_take(&gls[1]->lock);
	spent = busy_time(busy) - before;
	glock__lock_drop(&gls[1]->lock);
	next_step(3);
	return NULL;
}

/* The owner of the second lock has the CPU of the realtime thread, which waits for the first. */
static void realtime_lends_along_a_chain(void **state)
{
	pthread_t low, middle, high, others[BUSY];

	(void)state;
	begin_busy(others);
	assert_int_equal(pthread_create(&middle, NULL, has_one_of_two, NULL), 0);
	assert_int_equal(pthread_create(&low, NULL, has_lock, gls[0]), 0);
	assert_int_equal(pthread_create(&high, NULL, waits_for_both, NULL), 0);
	pthread_join(high, NULL);
	pthread_join(low, NULL);
	pthread_join(middle, NULL);
	end_busy(others);
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
	next_step(3);
	return NULL;
}

static void realtime_gives_up_a_bias(void **state)
{
	pthread_t low, high;

	(void)state;
	step = 0;
	lock_ns = SHORT_NS;
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
	    FAST_TEST(realtime_lends_its_priority),
	    FAST_TEST(realtime_lends_along_a_chain),
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
