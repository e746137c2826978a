/* SPDX-License-Identifier: MIT */
/*
 * test_find_threads.c - tests look-ups by many threads, while glocks come and go.
 *
 * A number has one glock at a time, however many threads look for it and however often the table
 * grows. Two glocks of a number would let two holders in.
 */
#include "glock/core/internal.h"
#include "glock/state/lru.h"

#include "check.h"
#include "guarded.h"

#include <pthread.h>
#include <unistd.h>

enum { THREADS = 4, NUMBERS = 3000, FEW = 40, STEPS = 15000 };

static struct glock_space *space;
static struct glock *found[THREADS][NUMBERS];
static struct guarded guarded[FEW];
static pthread_barrier_t barrier;
static unsigned int wrong; /* the threads found different glocks */

static void open_it(size_t cached_max)
{
	const struct glock_space_options o = {.size = sizeof(o), .cached_max = cached_max};

	assert_int_equal(glock_space_open("find", &o, &space), 0);
}

static void run(void *(*fn)(void *))
{
	pthread_t t[THREADS];

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, fn, (void *)i), 0);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	pthread_barrier_destroy(&barrier);
}

/* All threads look for the same numbers in the same order, so that they meet while one adds. */
static void *get_all(void *arg)
{
	struct glock **mine = found[(uintptr_t)arg];

	pthread_barrier_wait(&barrier);
	for (unsigned int i = 0; i < NUMBERS; i++)
		assert_int_equal(glock_get(space, GLOCK_INODE, i, &mine[i]), 0);
	pthread_barrier_wait(&barrier);
	for (unsigned int i = 0; i < NUMBERS; i++)
		if (mine[i] != found[0][i] || glock_number(mine[i]) != i)
			__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
	pthread_barrier_wait(&barrier);
	for (unsigned int i = 0; i < NUMBERS; i++)
		glock_put(mine[i]);
	return NULL;
}

static void threads_find_one_glock(void **state)
{
	(void)state;
	open_it(0);
	run(get_all);
	assert_int_equal(wrong, 0);
	assert_int_equal(space->n_glocks, 0);
	assert_int_equal(glock_space_close(space), 0);
}

/* With NOCACHE a glock leaves the table at its last put. Without it, the glock is idle then. */
static void *come_and_go(void *arg)
{
	unsigned int seed = 1 + (unsigned int)(uintptr_t)arg;
	struct glock_holder gh;
	struct glock *gl;

	for (int i = 0; i < STEPS; i++) {
		unsigned int number = (unsigned int)rand_r(&seed) % FEW;
		enum glock_mode mode = rand_r(&seed) % 2 ? GLOCK_EX : GLOCK_SH;

		assert_int_equal(glock_get(space, GLOCK_INODE, number, &gl), 0);
		glock_holder_init(&gh, gl, mode, rand_r(&seed) % 2 ? GLOCK_NOCACHE : 0);
		assert_int_equal(glock_nq(&gh), 0);
		guarded_use(&guarded[number], mode);
		assert_int_equal(glock_dq(&gh), 0);
		glock_put(gl);
	}
	return NULL;
}

static void threads_meet_in_one_glock(void **state)
{
	for (size_t max = 0; max <= 8; max += 8) {
		(void)state;
		open_it(max);
		run(come_and_go);
		/* Work that still runs on a glock puts it on the list later. */
		for (int i = 0; i < 5000 && atom_load32(&space->alive); i++) {
			glock_shrink(space, SIZE_MAX);
			usleep(1000);
		}
		assert_int_equal(atom_load32(&space->alive), 0);
		assert_int_equal(glock__lru_count(space), 0);
		assert_int_equal(glock_space_close(space), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(threads_find_one_glock),
	    cmocka_unit_test(threads_meet_in_one_glock),
	};

	return RUN_TESTS(tests);
}
