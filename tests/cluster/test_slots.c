/* SPDX-License-Identifier: MIT */
/*
 * test_slots.c - tests the parts of the lock manager dlm that need no cluster.
 *
 * A late reply finds nothing. The test also checks the contents of a value block.
 */
#include "lockman/dlm/dlm_impl.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

struct lock {
	struct glock__lm_lock lk;
	unsigned char value[GLOCK__LVB_LEN];
};

static void late_finds_nothing(void **state)
{
	struct dlm d = {.free = 0};
	struct glock__lm_lock one = {0}, other = {0};
	struct slot *s;
	uintptr_t tag;

	(void)state;
	s = glock__dlm_slot_new(&d, &one);
	tag = glock__dlm_slot_tag(&d, s);
	assert_ptr_equal(glock__dlm_slot_by_tag(&d, tag), s);
	glock__dlm_slot_free(&d, s);
	assert_null(glock__dlm_slot_by_tag(&d, tag));
	/* The same slot in a new use is not the same lock. */
	assert_ptr_equal(glock__dlm_slot_new(&d, &other), s);
	assert_null(glock__dlm_slot_by_tag(&d, tag));
	assert_null(glock__dlm_slot_by_tag(&d, tag + 1000));
	/* Nor is a slot that is freed while the teller has it in its queue. */
	glock__dlm_slot_queue(&d, s);
	glock__dlm_slot_free(&d, s);
	assert_ptr_not_equal(glock__dlm_slot_new(&d, &one), s);
	assert_null(glock__dlm_slot_unqueue(&d));
	for (int i = 0; i < 200; i++) /* more than the first allocation holds */
		assert_non_null(glock__dlm_slot_new(&d, &other));
	free(d.slots);
}

/* Converts the slot's lock to EX, as a grant with this block does. */
static uint64_t granted_ex(struct dlm *d, struct slot *s, const unsigned char *wire, bool lost)
{
	struct glock__dlm_result r = {.has_lvb = wire != NULL,
				      .sbflags = lost ? GLOCK__SBF_VALNOTVALID : 0};

	if (wire)
		memcpy(r.lvb, wire, sizeof(r.lvb));
	s->mode = GLOCK__NL;
	s->asked = GLOCK__EX;
	glock__dlm_value_unpack(d, s, &r);
	s->mode = GLOCK__EX;
	return s->token;
}

static void values_and_tokens(void **state)
{
	struct dlm here = {.free = 0}, there = {.free = 0};
	struct lock a = {.lk.has_lvb = 1}, b = {.lk.has_lvb = 1};
	unsigned char wire[GLOCK__LVB_LEN] = {0}, never[GLOCK__LVB_LEN] = {0};
	struct slot *sa = glock__dlm_slot_new(&here, &a.lk);
	struct slot *sb = glock__dlm_slot_new(&there, &b.lk);
	uint64_t first, second, third;

	(void)state;
	/* Not written: zeros, and no value. */
	first = granted_ex(&here, sa, never, false);
	assert_false(a.lk.lvb_valid);
	/* Not written by this process either. */
	glock__dlm_value_pack(sa, wire);
	second = granted_ex(&there, sb, wire, false);
	assert_true(second > first);
	assert_false(b.lk.lvb_valid);
	/* Written. */
	memcpy(b.value, "value", 6);
	b.lk.lvb_valid = true;
	glock__dlm_value_pack(sb, wire);
	third = granted_ex(&here, sa, wire, false);
	assert_true(third > second && a.lk.lvb_valid);
	assert_string_equal((const char *)a.value, "value");
	/* A token from a clock that is ahead still counts. */
	sa->token = third + 3600000000000;
	glock__dlm_value_pack(sa, wire);
	assert_true(granted_ex(&there, sb, wire, false) == sa->token + 1);
	/* Lost with its holder: no value, and a token above all that this process knows. */
	assert_true(granted_ex(&there, sb, never, true) > sa->token + 1);
	assert_false(b.lk.lvb_valid);
	free(here.slots);
	free(there.slots);
}

/* Two nodes that have a lock in turn, and the value block between them. */
enum { MS = 1000000, HAND_OVER = 12 * MS };

static struct two {
	struct dlm of[2];
	struct slot *slot[2];
	struct lock lock[2];
	unsigned char wire[GLOCK__LVB_LEN];
	int64_t now;
} two;

static void two_begin(void)
{
	two = (struct two){.now = 5};
	for (unsigned int i = 0; i < 2; i++)
		two.slot[i] = glock__dlm_slot_new(&two.of[i], &two.lock[i].lk);
}

static void two_end(void)
{
	free(two.of[0].slots);
	free(two.of[1].slots);
}

/* The node has the lock for that time. The reply to its release comes after `late`. */
static void turn(unsigned int i, int64_t time, int64_t late, bool demanded)
{
	struct dlm *d = &two.of[i];
	struct slot *s = two.slot[i];

	granted_ex(d, s, two.wire, false);
	glock__dlm_turn_begins(d, s, two.wire, two.now);
	if (demanded)
		glock__dlm_turn_is_demanded(d, s);
	two.now += time;
	glock__dlm_value_pack(s, two.wire);
	glock__dlm_turn_ends(d, s, two.wire, two.now);
	glock__dlm_turn_ended(d, s, two.now + late);
}

/* The reply to a release comes at once, and the other node has the lock much later. */
static void turns_show_the_hand_over(void **state)
{
	(void)state;
	two_begin();
	for (unsigned int i = 0; i < 20; i++) {
		turn(i % 2, (int64_t)(i * i) * MS, MS, true);
		two.now += HAND_OVER;
	}
	assert_int_equal(two.of[0].lm.wake_up, HAND_OVER - MS);
	assert_int_equal(two.of[1].lm.wake_up, HAND_OVER - MS);
	two_end();
}

/* A lock that was released without a demand waits for its next use. */
static void turns_without_a_demand(void **state)
{
	(void)state;
	two_begin();
	for (unsigned int i = 0; i < 20; i++) {
		turn(i % 2, MS, 0, i % 2);
		two.now += HAND_OVER;
	}
	assert_int_equal(two.of[0].lm.wake_up, 0);
	assert_int_equal(two.of[1].lm.wake_up, 0);
	two_end();
}

/* The program's value, or a node of an older release, ends a chain. The next chain is another. */
static void turns_of_another_chain(void **state)
{
	(void)state;
	two_begin();
	turn(0, MS, 0, true);
	memset(two.wire, 0, GLOCK__DLM_VALUE_LEN);
	for (unsigned int i = 0; i < 2; i++) {
		two.now += HAND_OVER;
		turn(1, MS, 0, true);
	}
	two.now += HAND_OVER;
	turn(0, MS, 0, true);
	assert_int_equal(two.of[0].lm.wake_up, 0);
	two_end();
}

/* One long stop counts as eight times the mean. */
static void turns_and_one_long_stop(void **state)
{
	(void)state;
	two_begin();
	for (unsigned int i = 0; i < 4; i++) {
		turn(i % 2, MS, 0, true);
		two.now += i < 3 ? HAND_OVER : 900 * MS;
	}
	turn(0, MS, 0, true);
	assert_int_equal(two.of[0].lm.wake_up, HAND_OVER + (7 * HAND_OVER + 10000) / 8);
	two_end();
}

/* A lock with a value of the program reads nothing of the turns. */
static void turns_are_no_value(void **state)
{
	struct dlm d = {.free = 0};
	struct lock l = {.lk.has_lvb = 1};
	struct slot *s = glock__dlm_slot_new(&d, &l.lk);
	const unsigned char zeros[GLOCK__LVB_LEN] = {0};

	(void)state;
	two_begin();
	turn(0, MS, 0, true);
	assert_true(glock__dlm_turn_is_in(two.wire));
	granted_ex(&d, s, two.wire, false);
	assert_false(l.lk.lvb_valid);
	assert_memory_equal(l.value, zeros, sizeof(zeros));
	free(d.slots);
	two_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(late_finds_nothing),       cmocka_unit_test(values_and_tokens),
	    cmocka_unit_test(turns_show_the_hand_over), cmocka_unit_test(turns_without_a_demand),
	    cmocka_unit_test(turns_of_another_chain),   cmocka_unit_test(turns_and_one_long_stop),
	    cmocka_unit_test(turns_are_no_value)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
