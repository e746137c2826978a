/* SPDX-License-Identifier: MIT */
/*
 * test_table.c - tests the table of Locks and its trails against a plain list.
 *
 * Locks are taken, found and forgotten.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "o2top/model/table.h"

static struct lock_id id_of(uint32_t i)
{
	return (struct lock_id){
	    .number = 0x1000 + i / 3, .low = i % 3 == 2 ? i : 0, .type = (uint8_t) "MWN"[i % 3]};
}

/* A sample lists the Locks [from, to). The Locks that `every` divides are active. */
static void sample(struct table *t, uint32_t n, uint32_t from, uint32_t to, uint32_t every)
{
	table_begin(t);
	for (uint32_t i = from; i < to; i++) {
		struct lock_id id = id_of(i);
		struct lock *lock = table_take(t, &id);

		assert_non_null(lock);
		lock->now.sample = n;
		if (every && i % every == 0) {
			struct change *c = table_change(t, lock);

			assert_non_null(c);
			c->lost_s += 1;
			assert_ptr_equal(table_change(t, lock), c);
		}
	}
	table_end(t, n, 2.0);
}

static void what_was_taken_is_found(void **state)
{
	struct table t = {0};

	(void)state;
	sample(&t, 1, 0, 20000, 0);
	assert_int_equal(t.n_used, 20000);
	for (uint32_t i = 0; i < 20000; i++) {
		struct lock_id id = id_of(i);
		struct lock *lock = table_find(&t, &id);

		assert_non_null(lock);
		assert_int_equal(lock->id.number, id.number);
		assert_ptr_equal(table_lock(&t, table_index(&t, lock)), lock);
	}
	struct lock_id none = id_of(20000);

	assert_null(table_find(&t, &none));
	sample(&t, 2, 0, 20000, 0);
	assert_int_equal(t.n_used, 20000);
	table_free(&t);
}

/* The Lock that followed last time is only a guess. Lines may come in any order. */
static void order_does_not_matter(void **state)
{
	struct table t = {0};

	(void)state;
	sample(&t, 1, 0, 999, 0);
	table_begin(&t);
	for (uint32_t i = 0; i < 999; i++) {
		struct lock_id id = id_of((i * 7919) % 999);
		struct lock *lock = table_take(&t, &id);

		assert_int_equal(lock->id.number, id.number);
		assert_int_equal(lock->id.type, id.type);
		assert_int_equal(lock->now.sample, 1);
	}
	assert_int_equal(t.n_used, 999);
	table_free(&t);
}

static void active_locks_have_a_trail(void **state)
{
	struct table t = {0};
	struct lock_id active = id_of(10), idle = id_of(11);
	const struct trail *trail;

	(void)state;
	for (uint32_t n = 1; n <= 40; n++)
		sample(&t, n, 0, 100, 10);
	assert_int_equal(t.n_warm, 10);
	trail = table_trail_of(&t, table_find(&t, &active));
	assert_non_null(trail);
	assert_int_equal(trail->count, TRAIL_SHOTS);
	assert_int_equal(trail->newest, 40);
	for (uint32_t i = 0; i < TRAIL_SHOTS; i++)
		assert_true(trail->lost[i] == 0.5f);
	assert_null(table_trail_of(&t, table_find(&t, &idle)));
	/* a Lock that is idle for the length of a trail loses its trail */
	for (uint32_t n = 41; n <= 41 + TRAIL_SHOTS; n++)
		sample(&t, n, 0, 100, 0);
	assert_int_equal(t.n_warm, 0);
	assert_null(table_trail_of(&t, table_find(&t, &active)));
	table_free(&t);
}

static void locks_that_are_gone_are_forgotten(void **state)
{
	struct table t = {0};
	struct lock_id gone = id_of(100), here = id_of(99);
	uint32_t n = 1;
	size_t bytes;

	(void)state;
	sample(&t, n++, 0, 5000, 100);
	while (n <= 3 * FORGET_AFTER)
		sample(&t, n++, 0, 100, 0);
	assert_int_equal(t.n_used, 100);
	assert_null(table_find(&t, &gone));
	assert_non_null(table_find(&t, &here));
	/* new Locks use their place */
	bytes = table_bytes(&t);
	sample(&t, n++, 10000, 14900, 0);
	assert_int_equal(t.n_used, 5000);
	assert_int_equal(table_bytes(&t), bytes);
	table_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_was_taken_is_found),
	    cmocka_unit_test(order_does_not_matter),
	    cmocka_unit_test(active_locks_have_a_trail),
	    cmocka_unit_test(locks_that_are_gone_are_forgotten),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
