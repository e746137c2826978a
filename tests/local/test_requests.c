/* SPDX-License-Identifier: MIT */
/*
 * test_requests.c - tests the array of open requests and its index against a plain list.
 *
 * Requests are added, found, and answered in any order. The list is searched from one end to the
 * other.
 */
#include "lockman/local/local_serve.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

enum { LOCKS = 3000, STEPS = 200000 };

static struct glock__lm_lock locks[LOCKS];
static uint32_t id[LOCKS]; /* of the open request; 0: none */
static uint32_t n_open;

static uint32_t dice(uint32_t sides)
{
	static uint64_t x = 88172645463325252;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (uint32_t)(x >> 16) % sides;
}

static void add(struct local *l, uint32_t i)
{
	struct request r = {.lk = &locks[i], .id = dice(1u << 30) + 1};

	assert_int_equal(glock__local_request_room(l), 0);
	glock__local_request_add(l, &r);
	id[i] = r.id;
	n_open++;
}

static void look(struct local *l, uint32_t i)
{
	const struct request *r = glock__local_request_of(l, &locks[i]);

	if (!id[i]) {
		assert_null(r);
		return;
	}
	assert_non_null(r);
	assert_ptr_equal(r->lk, &locks[i]);
	assert_int_equal(r->id, id[i]);
}

static void done(struct local *l, uint32_t i)
{
	assert_int_equal(glock__local_request_done(l, &locks[i], id[i]), id[i] != 0);
	n_open -= id[i] != 0;
	id[i] = 0;
}

/* Many requests are open for a while, then few, and so on. */
static void in_any_order(void **state)
{
	struct local l = {0};
	struct glock__lm_lock *lk;

	(void)state;
	look(&l, 0);
	done(&l, 0);
	for (uint32_t step = 0; step < STEPS; step++) {
		uint32_t i = dice(LOCKS);
		bool many = step / (4 * LOCKS) % 2 == 0;

		look(&l, dice(LOCKS));
		if (!id[i] && dice(8) < (many ? 7 : 1))
			add(&l, i);
		else
			done(&l, i);
		assert_int_equal(l.n_requests, n_open);
		assert_int_equal(l.waiting, n_open);
	}
	for (uint32_t i = 0; i < LOCKS; i++)
		look(&l, i);
	assert_true(n_open > 100);
	while ((lk = glock__local_request_any(&l))) {
		assert_int_not_equal(id[lk - locks], 0);
		id[lk - locks] = 0;
		n_open--;
	}
	assert_int_equal(n_open, 0);
	for (uint32_t i = 0; i < 2 * l.room; i++)
		assert_int_equal(l.index[i], 0);
	free(l.requests);
	free(l.index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(in_any_order)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
