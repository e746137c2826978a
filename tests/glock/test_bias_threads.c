/* SPDX-License-Identifier: MIT */
/*
 * test_bias_threads.c - tests threads with a bias that end: in a claim, by the thousand, in a fork.
 */
#include "fast_space.h"

#include "glock/fast/bias.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the end of a thread during a claim ---- */

static struct glock_holder there;
static enum glock_mode mode_there;

/* Ends with a holder, which another thread has claimed meanwhile. */
static void *is_claimed(void *arg)
{
	get_bias(gls[0], mode_there);
	assert_int_equal(nq(&there, gls[0], mode_there, 0), 0);
	assert_true(is_biased(&there));
	next_step(1);
	await_step(2);
	return arg;
}

/* The holder of the ended thread is in the way, and any thread lets it go. A waiter wakes up. */
static void bias_claimed_at_the_end(void **state)
{
	struct glock_holder a, waits;
	pthread_t t;

	(void)state;
	for (mode_there = GLOCK_EX; mode_there <= GLOCK_SH; mode_there += GLOCK_SH - GLOCK_EX) {
		cache(gls[0]);
		next_step(0);
		pthread_create(&t, NULL, is_claimed, NULL);
		await_step(1);
		assert_int_equal(nq(&a, gls[0], GLOCK_EX, GLOCK_TRY_CACHED), -EAGAIN);
		assert_int_equal(nq(&waits, gls[0], GLOCK_EX, GLOCK_ASYNC), 0);
		assert_int_equal(glock_dq(&there), -EPERM);
		next_step(2);
		pthread_join(t, NULL);
		assert_int_equal(glock_poll(&waits), 0);
		assert_int_equal(glock_dq(&there), 0);
		assert_int_equal(glock_wait(&waits, 0, 0), 0);
		assert_int_equal(glock_dq(&waits), 0);
		assert_null(space->threads->next); /* the thread's part went with its last holder */
	}
}

/* ---- readers that fill the word at the same time ---- */

enum { READERS = 8, READS = 100000 };
static int by_the_queue; /* an atom */

/* Only a request that joins the queue writes the number of its thread into the holder. */
static void *reads(void *arg)
{
	struct glock_holder a;

	for (int i = 0; i < READS; i++) {
		assert_int_equal(nq(&a, gls[0], GLOCK_SH, 0), 0);
		if (gh_of(&a)->pid)
			__atomic_add_fetch(&by_the_queue, 1, __ATOMIC_RELAXED);
		assert_int_equal(glock_dq(&a), 0);
	}
	return arg;
}

/* The queue would end the bias of all readers, though no request is in their way. */
static void bias_of_a_full_word(void **state)
{
	pthread_t t[READERS];

	(void)state;
	cache(gls[0]);
	atom_store64(&space->bias_not_before, INT64_MAX);
	for (int i = 0; i < READERS; i++)
		pthread_create(&t[i], NULL, reads, NULL);
	for (int i = 0; i < READERS; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(by_the_queue, 0);
}

/* ---- thousands of threads ---- */

enum { TOGETHER = 20, ROUNDS = 150 };
static int64_t pairs;

static void *uses_all(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg;
	struct glock_holder gh;
	int n = 4 + rand_r(&seed) % 8;

	for (int i = 0; i < n; i++) {
		struct glock *gl = gls[i % GLOCKS];
		bool writes = !(rand_r(&seed) % 16);

		assert_int_equal(nq(&gh, gl, writes ? GLOCK_EX : GLOCK_SH, 0), 0);
		assert_int_equal(glock_dq(&gh), 0);
	}
	__atomic_add_fetch(&pairs, n, __ATOMIC_RELAXED);
	return NULL;
}

static size_t mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	size_t n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		n++;
	fclose(f);
	return n;
}

static void round_of_threads(int round)
{
	pthread_t t[TOGETHER];

	atom_store64(&space->bias_not_before, 0);
	for (int i = 0; i < TOGETHER; i++)
		assert_int_equal(pthread_create(&t[i], NULL, uses_all,
						(void *)(uintptr_t)(round * TOGETHER + i + 1)),
				 0);
	for (int i = 0; i < TOGETHER; i++)
		pthread_join(t[i], NULL);
}

/* Each thread that ends gives its bias, its record and its memory back. */
static void bias_of_thousands(void **state)
{
	size_t before;

	(void)state;
	for (int i = 0; i < GLOCKS; i++)
		cache(gls[i]);
	pairs = 0;
	for (int i = 0; i < 10; i++)
		round_of_threads(i);
	before = mappings();
	for (int i = 10; i < ROUNDS; i++) {
		round_of_threads(i);
		assert_null(space->threads->next);
	}
	assert_true(space->thread_records.used <= 4 * TOGETHER);
	assert_in_range(mappings(), 0, before + 10 * TOGETHER); /* a sanitizer maps a few more */
	for (int i = 0; i < GLOCKS; i++)
		pairs -= qcount(gls[i]) - 1;
	assert_int_equal(pairs, 0);
}

/* ---- fork ---- */

static void *keeps_it(void *arg)
{
	get_bias(gls[1], GLOCK_SH);
	assert_int_equal(nq(&there, gls[1], GLOCK_SH, 0), 0);
	assert_true(is_biased(&there));
	next_step(1);
	await_step(2);
	assert_int_equal(glock_dq(&there), 0);
	return arg;
}

/* Uses a space of its own as any process does: its threads get a bias there, and lose it. */
static bool child_works(void)
{
	struct glock_holder gh;
	pthread_t t;

	if (fast_setup(NULL))
		return false;
	cache(gls[1]);
	next_step(0);
	pthread_create(&t, NULL, keeps_it, NULL);
	await_step(1);
	if (nq(&gh, gls[1], GLOCK_EX, GLOCK_TRY_CACHED) != -EAGAIN)
		return false;
	next_step(2);
	pthread_join(t, NULL);
	return !fast_teardown(NULL);
}

/*
 * The child has the memory of two holders by a bias. Neither call reaches a glock of the parent,
 * and the parent's bias goes on.
 */
static void bias_after_a_fork(void **state)
{
	struct glock_holder mine, again;
	int status;
	pthread_t t;
	pid_t pid;

	(void)state;
	cache(gls[0]);
	cache(gls[1]);
	next_step(0);
	pthread_create(&t, NULL, keeps_it, NULL);
	await_step(1);
	get_bias(gls[0], GLOCK_EX);
	assert_int_equal(nq(&mine, gls[0], GLOCK_EX, 0), 0);
	assert_true(is_biased(&mine));
	pid = fork();
	if (!pid) {
		signal(SIGSEGV, SIG_DFL); /* not cmocka's handler */
		if (glock_dq(&mine) != -ECHILD || glock_dq(&there) != -ECHILD)
			_exit(1);
		if (glock_valid(&mine) || nq(&again, gls[0], GLOCK_EX, 0) != -ECHILD ||
		    nq(&again, gls[1], GLOCK_SH, 0) != -ECHILD)
			_exit(2);
		_exit(child_works() ? 0 : 3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(glock_valid(&mine) && is_biased(&mine));
	assert_int_equal(glock_dq(&mine), 0);
	assert_int_equal(bias_of(gls[0]), GLOCK_EX);
	assert_int_equal(bias_of(gls[1]), GLOCK_SH);
	next_step(2);
	pthread_join(t, NULL);
	assert_int_equal(revocations(gls[1]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    FAST_TEST(bias_claimed_at_the_end),
	    FAST_TEST(bias_of_a_full_word),
	    FAST_TEST(bias_of_thousands),
	    FAST_TEST(bias_after_a_fork),
	};

	return with_bias() ? RUN_TESTS(tests) : 0;
}
