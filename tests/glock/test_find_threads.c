/* SPDX-License-Identifier: MIT */
/*
 * test_find_threads.c - tests look-ups by many threads, while glocks come and go.
 *
 * A number has one glock at a time, however many threads look for it and however often the table
 * grows. Two glocks of a number would let two holders in.
 */
#include "glock/core/hash.h"
#include "glock/core/internal.h"
#include "glock/state/find.h"

#include "check.h"
#include "guarded.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

enum { THREADS = 4, NUMBERS = 3000, FEW = 40, STEPS = 15000, MANY = 40000 };
enum { PLAIN = GLOCK_INODE, VALUED = GLOCK_TYPE_OWN };

static struct glock_space *space;
static struct glock *found[THREADS][NUMBERS];
static struct guarded guarded[FEW];
static pthread_barrier_t barrier;
static unsigned int wrong; /* the threads found different glocks */

static void open_it(size_t cached_max)
{
	static const struct glock_type_options type = {
	    .size = sizeof(type), .type = VALUED, .flags = GLOCK_OPS_LVB};
	const struct glock_space_options o = {
	    .size = sizeof(o), .cached_max = cached_max, .types = &type, .n_types = 1};

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
	const time_t begun = time(NULL);
	struct glock_holder gh;
	struct glock *gl;

	for (int i = 0; i < STEPS && !enough_after(begun); i++) {
		unsigned int number = (unsigned int)rand_r(&seed) % FEW;
		enum glock_mode mode = rand_r(&seed) % 2 ? GLOCK_EX : GLOCK_SH;

		assert_int_equal(glock_get(space, GLOCK_INODE, number, &gl), 0);
		assert_int_equal(glock_number(gl), number);
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

/* The memory of a freed glock goes to the next one. A look-up that is late must not take that. */
static void a_late_look_up_is_refused(void **state)
{
	struct glock *gl, *next;

	(void)state;
	open_it(0);
	assert_int_equal(glock_get(space, PLAIN, 1, &gl), 0);
	assert_ptr_equal(glock__hash_find(space, PLAIN, 1), gl);
	assert_true(glock__hash_has(space, gl, PLAIN, 1));
	glock_put(gl);
	assert_null(glock__hash_find(space, PLAIN, 1));
	assert_false(glock__hash_has(space, gl, PLAIN, 1));
	assert_int_equal(glock_get(space, PLAIN, 2, &next), 0);
	assert_ptr_equal(next, gl);
	assert_false(glock__hash_has(space, gl, PLAIN, 1));
	glock_put(next);
	assert_int_equal(glock_get(space, GLOCK_RGRP, 1, &next), 0);
	assert_ptr_equal(next, gl);
	assert_false(glock__hash_has(space, gl, PLAIN, 1));
	/* While the space is being closed, the lock of the part decides. */
	space->look_locked = true;
	assert_false(glock__hash_has(space, gl, GLOCK_RGRP, 1));
	assert_int_equal(glock_get(space, GLOCK_RGRP, 1, &next), 0);
	assert_int_equal(gl->users, 2);
	space->look_locked = false;
	glock_put(next);
	glock_put(next);
	assert_int_equal(glock_space_close(space), 0);
}

static void a_look_up_needs_no_lock_of_the_table(void **state)
{
	struct glock *gl, *found;

	(void)state;
	open_it(0);
	assert_int_equal(glock_get(space, PLAIN, 1, &gl), 0);
	glock__lock_take(&space->lock);
	glock__lock_parts(space);
	assert_int_equal(glock_get(space, PLAIN, 1, &found), 0);
	glock_put(found);
	glock__unlock_parts(space);
	glock__lock_drop(&space->lock);
	glock_put(gl);
	assert_int_equal(glock_space_close(space), 0);
}

/* A close that is refused leaves look-ups as they were. */
static void a_refused_close_is_forgotten(void **state)
{
	struct glock *gl;

	(void)state;
	open_it(0);
	assert_int_equal(glock_get(space, PLAIN, 1, &gl), 0);
	assert_int_equal(glock_space_close(space), -EBUSY);
	assert_true(glock__hash_has(space, gl, PLAIN, 1));
	glock_put(gl);
	assert_int_equal(glock_space_close(space), 0);
}

/* Every third is put at once, so that chains and lines have gaps when the table grows. */
static void many_glocks_are_found(void **state)
{
	static struct glock *all[MANY];
	struct glock *gl;
	unsigned int chained = 0;

	(void)state;
	open_it(0);
	for (unsigned int i = 0; i < MANY; i++) {
		assert_int_equal(glock_get(space, i % 2 ? PLAIN : VALUED, i / 2, &all[i]), 0);
		if (i % 3 == 2)
			glock_put(all[i - 1]);
		if (i % 3 == 2)
			all[i - 1] = NULL;
	}
	for (uint32_t line = 0; line < GLOCK__PARTS; line++)
		chained += space->hash[0][line].chain != 0;
	assert_true(chained); /* the test has such glocks */
	for (unsigned int i = 0; i < MANY; i++)
		assert_ptr_equal(glock__hash_find(space, i % 2 ? PLAIN : VALUED, i / 2), all[i]);
	for (unsigned int i = MANY; i--;) {
		if (!all[i])
			continue;
		assert_int_equal(glock_get(space, i % 2 ? PLAIN : VALUED, i / 2, &gl), 0);
		assert_ptr_equal(gl, all[i]);
		glock_put(gl);
		glock_put(gl);
	}
	assert_int_equal(space->n_glocks, 0);
	assert_int_equal(glock_space_close(space), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_late_look_up_is_refused),
	    cmocka_unit_test(a_look_up_needs_no_lock_of_the_table),
	    cmocka_unit_test(a_refused_close_is_forgotten),
	    cmocka_unit_test(many_glocks_are_found),
	    cmocka_unit_test(threads_find_one_glock),
	    cmocka_unit_test(threads_meet_in_one_glock),
	};

	return RUN_TESTS(tests);
}
