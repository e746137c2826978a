/* SPDX-License-Identifier: MIT */
/*
 * test_bias_signals.c - tests signal handlers in the middle of a biased glock_nq() or glock_dq().
 * Meanwhile another thread ends the bias.
 *
 * A handler may run between any two instructions. On x86 the CPU stops after each instruction by
 * itself, and sends SIGTRAP. So the tests try all places, one after the other. In each place the
 * thread stands in its handler while another thread asks for the lock and ends the bias. A
 * sanitizer makes a pair some ten times as long, and each place costs all signals before it. Then
 * the tests try about PLACES of the places.
 */
#include "fast_space.h"

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

static int in_lock, held_there; /* atoms: the thread here has the lock; the other thread has it */

static int look(const int *atom)
{
	return __atomic_load_n(atom, __ATOMIC_SEQ_CST);
}

static void set(int *atom, int value)
{
	__atomic_store_n(atom, value, __ATOMIC_SEQ_CST);
}

static void pair(enum glock_mode mode)
{
	struct glock_holder gh;

	assert_int_equal(nq(&gh, gls[0], mode, 0), 0);
	set(&in_lock, 1);
	assert_false(look(&held_there));
	set(&in_lock, 0);
	assert_int_equal(glock_dq(&gh), 0);
}

/* ---- each instruction ---- */

#ifdef __x86_64__
enum { TRAP_FLAG = 0x100, MOST_STEPS = 20000, PLACES = 300 };
static int stop_at, steps;
static int stands, may_go; /* atoms */

static void await(const int *atom, int value)
{
	while (look(atom) != value)
		usleep(5);
}

static void on_step(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	(void)sig, (void)info;
	if (steps++ != stop_at)
		return;
	u->uc_mcontext.gregs[REG_EFL] &= ~(long long)TRAP_FLAG;
	set(&stands, 1);
	await(&may_go, 1);
}

/* Below the 128 bytes that the compiler uses under the stack pointer. */
static void step_on(void)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq;"
			 "lea 128(%%rsp), %%rsp"
			 :
			 :
			 : "memory", "cc");
}

static void step_off(void)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); popfq;"
			 "lea 128(%%rsp), %%rsp"
			 :
			 :
			 : "memory", "cc");
}

/* A try while the thread stands. Holds the lock until the thread has gone on for a moment. */
static void tries(void)
{
	struct glock_holder gh;
	int err = nq(&gh, gls[0], GLOCK_EX, GLOCK_TRY_CACHED);

	assert_int_equal(err, err ? -EAGAIN : 0);
	if (look(&in_lock))
		assert_int_equal(err, -EAGAIN);
	set(&held_there, !err);
	set(&may_go, 1);
	usleep(50);
	set(&held_there, 0);
	if (!err)
		assert_int_equal(glock_dq(&gh), 0);
}

/* A request that waits. The thread has to wake it up, in whichever step the thread stands. */
static void waits(void)
{
	struct glock_holder gh;

	assert_int_equal(nq(&gh, gls[0], GLOCK_EX, GLOCK_ASYNC), 0);
	set(&may_go, 1);
	assert_int_equal(glock_wait(&gh, glock__now(space) + 20 * 1000000000LL, 0), 0);
	set(&held_there, 1);
	assert_false(look(&in_lock));
	set(&held_there, 0);
	assert_int_equal(glock_dq(&gh), 0);
}

static int ended;

static void *other_thread(void *asks)
{
	for (;;) {
		while (!look(&stands) && !look(&ended))
			usleep(5);
		if (look(&ended))
			return NULL;
		set(&stands, 0);
		(*(void (**)(void))asks)();
	}
}

/* A biased pair that stops in that place. Returns the number of its steps. */
static int step_through(enum glock_mode mode, int place)
{
	atom_store64(&space->bias_not_before, 0);
	get_bias(gls[0], mode);
	set(&may_go, 0);
	stop_at = place;
	steps = 0;
	step_on();
	pair(mode);
	step_off();
	return steps;
}

/* Stops in the places of a pair. Returns their number. */
static int stop_everywhere(enum glock_mode mode, void (*asks)(void))
{
	const int length = step_through(mode, MOST_STEPS), stride = 1 + length / PLACES;
	int places = 0;
	pthread_t t;

	assert_in_range(length, 30, MOST_STEPS - 1);
	set(&ended, 0);
	assert_int_equal(pthread_create(&t, NULL, other_thread, &asks), 0);
	for (int place = 0; place < length; place += stride) {
		step_through(mode, place);
		places += look(&may_go); /* a pair may become shorter by a few steps */
	}
	set(&ended, 1);
	pthread_join(t, NULL);
	return places;
}

static void bias_ends_in_each_step(void **state)
{
	const struct sigaction sa = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
	struct sigaction before;

	(void)state;
	sigaction(SIGTRAP, &sa, &before);
	for (int i = 0; i < 4; i++) {
		cache(gls[0]);
		assert_in_range(stop_everywhere(i & 1 ? GLOCK_EX : GLOCK_SH, i & 2 ? waits : tries),
				30, 2 * PLACES);
	}
	sigaction(SIGTRAP, &before, NULL);
}
#endif

/* ---- at any time ---- */

static int stop;

static void on_signal(int sig)
{
	(void)sig;
	for (volatile int i = 0; i < 200; i++)
		;
}

static void *reads(void *arg)
{
	while (!look(&stop))
		pair(GLOCK_SH);
	return arg;
}

/* Signals reach readers at random moments, and a writer ends the bias again and again. */
static void bias_under_signals(void **state)
{
	const struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct glock_holder gh;
	pthread_t t[THREADS];
	uint32_t ends;

	(void)state;
	sigaction(SIGUSR1, &sa, NULL);
	cache(gls[0]);
	set(&stop, 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, reads, NULL), 0);
	for (int n = 0; n < 300; n++) {
		for (int i = 0; i < THREADS; i++)
			pthread_kill(t[i], SIGUSR1);
		usleep(100);
		atom_store64(&space->bias_not_before, 0);
		assert_int_equal(nq(&gh, gls[0], GLOCK_EX, 0), 0);
		assert_int_equal(glock_dq(&gh), 0);
	}
	set(&stop, 1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	ends = revocations(gls[0]);
	assert_true(ends > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef __x86_64__
	    FAST_TEST(bias_ends_in_each_step),
#endif
	    FAST_TEST(bias_under_signals),
	};

	return with_bias() ? RUN_TESTS(tests) : 0;
}
