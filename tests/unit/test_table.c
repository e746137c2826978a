/* SPDX-License-Identifier: MIT */
/*
 * test_table.c - tests the table of Locks with numbers that a hostile process chose.
 */
#include "unit.h"

#include "o2top/model/table.h"

#include <time.h>

/* With the multiplier of hash_number() known and without its seed, these lead to one slot. */
static uint64_t hostile_number(uint64_t i)
{
	const uint64_t multiplier = UINT64_C(0x9e3779b97f4a7c15);
	uint64_t inverse = multiplier;

	for (int round = 0; round < 6; round++)
		inverse *= 2 - multiplier * inverse;
	return (i << 32 | i) * inverse;
}

static double take_all(uint64_t (*number)(uint64_t i))
{
	enum { LOCKS = 50000 };
	struct table t = {0};
	clock_t start = clock();

	for (uint64_t i = 0; i < LOCKS; i++) {
		const struct lock_id id = {.number = number(i)};

		assert_non_null(table_take(&t, &id));
	}
	for (uint64_t i = 0; i < LOCKS; i++) {
		const struct lock_id id = {.number = number(i)};

		assert_non_null(table_find(&t, &id));
	}
	table_free(&t);
	return (double)(clock() - start) / CLOCKS_PER_SEC;
}

/* The search of a slot takes few steps, whichever numbers another user gives to locks. */
static void numbers_of_one_slot(void **state)
{
	(void)state;
	assert_true(take_all(hostile_number) < 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_of_one_slot)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
