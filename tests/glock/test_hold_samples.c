/* SPDX-License-Identifier: MIT */
/*
 * test_hold_samples.c - tests what the policy of the hold time learns: gaps, bursts, uses in vain.
 */
#include "hold_policy.h"

/* A use in vain ends the turn of a lock that would stay. The next use is no sample of a gap. */
/* Promises: glock_holder_idle: "Says that this", "If another node", "The hold time". */
static void policy_a_use_in_vain_ends_the_turn(void **state)
{
	(void)state;
	know((struct glock__hold_policy){.mean = {H / 10, H / 10}, .likely = {60000, 60000}});
	rig_hold(&gh, gl, GLOCK_EX, 0);
	rig_bast(gl, GLOCK__EX);
	glock_holder_idle(&gh);
	rig_dq(&gh);
	assert_non_null(rig.open);
	rig_answer(0);
	rig_hold(&gh, gl, GLOCK_EX, 0);
	rig_dq(&gh);
	assert_int_equal(known().likely[ANY], 60000);
	assert_int_equal(known().likely[EX], 60000);
	assert_true(stays_for(GLOCK__EX)); /* the holder was not in vain again */
}

/* A thread of this node waits. It may find what the first one did not. */
/* Promises: glock_holder_idle: "If another node". */
static void policy_a_waiter_comes_after_a_use_in_vain(void **state)
{
	(void)state;
	know((struct glock__hold_policy){.likely = {0}});
	rig_hold(&gh, gl, GLOCK_EX, 0);
	rig_nq(&other, gl, GLOCK_EX, 0);
	rig_bast(gl, GLOCK__EX);
	glock_holder_idle(&gh);
	rig_dq(&gh);
	assert_null(rig.open);
	assert_true(glock_poll(&other));
	rig_dq(&other);
	assert_non_null(rig.open);
}

/* The word counts the uses. From the one in vain on, the queue sees them. */
/* Promises: glock_holder_idle: "If another node". */
static void policy_a_use_in_vain_is_seen(void **state)
{
	bool counting = true;

	(void)state;
	know((struct glock__hold_policy){.mean = {H / 10}, .likely = {65535}});
	rig_hold(&gh, gl, GLOCK_EX, 0);
	rig_bast(gl, GLOCK__EX);
	rig_dq(&gh);
	for (int k = 0; k < 3; k++) {
		rig_pass(10000);
		rig_hold(&gh, gl, GLOCK_EX, 0);
		if (k == 2) {
			glock_holder_idle(&gh);
			gl_lock(gl);
			counting = gl_busy(gl)->hold_state.counting;
			gl_unlock(gl);
		}
		rig_dq(&gh);
		assert_int_equal(!rig.open, k < 2);
	}
	assert_false(counting);
}

/*
 * Most gaps are at most 0.25 H, and a third of the others are long: the uses come in bursts. After
 * a burst the lock stays for three mean gaps.
 */
static void policy_bursts(void **state)
{
	(void)state;
	know((struct glock__hold_policy){.mean = {H / 10}, .likely = {SURE}, .lone = {65536 / 3}});
	assert_true(stays_for(GLOCK__EX));
	assert_int_equal(look(gl).hold, 192 * (H - H / 10 - H / 10) / 10);
	rig_pass(H / 100 * 29);
	assert_null(rig.open);
	rig_pass(H / 100 * 2);
	assert_non_null(rig.open);
}

/* Few of the gaps that are not quick are long: an unused lock stays as long as without bursts. */
static void policy_no_bursts(void **state)
{
	(void)state;
	know((struct glock__hold_policy){.mean = {H / 10}, .likely = {SURE}, .lone = {65536 / 5}});
	assert_true(stays_for(GLOCK__EX));
	rig_pass(H / 100 * 149);
	assert_null(rig.open);
}

/* Most gaps are not quick. Then it is nothing that long ones are among them. */
static void policy_no_bursts_without_quick_gaps(void **state)
{
	(void)state;
	know((struct glock__hold_policy){.mean = {H / 3}, .likely = {SURE}, .lone = {65536 / 3}});
	assert_true(stays_for(GLOCK__EX));
	rig_pass(H / 100 * 149);
	assert_null(rig.open);
}

/* After a hundred quick gaps in a row the uses have no end in sight. */
static void policy_no_bursts_without_end(void **state)
{
	(void)state;
	know((struct glock__hold_policy){.mean = {H / 10}, .likely = {64512}, .lone = {65535}});
	assert_true(stays_for(GLOCK__EX));
	rig_pass(H / 100 * 149);
	assert_null(rig.open);
}

/* A gap of at most 0.25 H tells nothing of those that are longer. */
static void policy_learns_of_bursts(void **state)
{
	(void)state;
	know((struct glock__hold_policy){.release = H, .lone = {32768}});
	two_uses(H / 10 * 16);
	assert_int_equal(known().lone[ANY], 32768 + 4096);
	know((struct glock__hold_policy){.release = H, .lone = {32768}});
	two_uses(H / 10 * 14);
	assert_int_equal(known().lone[ANY], 32768 - 4096);
	know((struct glock__hold_policy){.release = 5 * H, .lone = {32768}});
	two_uses(H);
	assert_int_equal(known().lone[ANY], 32768);
}

static void policy_short_gap(void **state)
{
	(void)state;
	know((struct glock__hold_policy){.mean = {H}});
	two_uses(H / 10 * 14);
	assert_int_equal(known().likely[ANY], 65536 / 8);
	assert_int_equal(known().mean[ANY], H + H / 10 * 4 / 8);
}

static void policy_long_gap(void **state)
{
	(void)state;
	know((struct glock__hold_policy){.mean = {H}});
	two_uses(H / 10 * 16);
	assert_int_equal(known().likely[ANY], 0);
	assert_int_equal(known().mean[ANY], H);
}

/* A process that stood still once does not spoil H: a sample is 8 H and 10 us at most. */
static void policy_one_long_hand_over(void **state)
{
	(void)state;
	know((struct glock__hold_policy){.likely = {0}});
	assert_false(stays_for(GLOCK__EX));
	rig_pass(1000 * H);
	rig_answer(0);
	rig_hold(&gh, gl, GLOCK_EX, 0);
	assert_int_equal(known().release, H + (7 * H + 10000) / 8);
	rig_dq(&gh);
}

/* The time of a wake-up on this machine is a part of giving up. */
static void policy_adds_the_wake_up(void **state)
{
	(void)state;
	know((struct glock__hold_policy){.likely = {0}});
	rig.lm.wake_up = 2 * H;
	assert_false(stays_for(GLOCK__EX));
	rig_pass(H);
	rig_answer(0);
	rig_hold(&gh, gl, GLOCK_EX, 0);
	assert_int_equal(known().release, H + 2 * H / 8);
	rig_dq(&gh);
}

/* The second part lasts from the grant to the return of the thread that waited. */
static void policy_measures_the_reading_in(void **state)
{
	(void)state;
	know((struct glock__hold_policy){.likely = {0}});
	rig_hold(&gh, gl, GLOCK_EX, 0);
	rig.now += 3 * H;
	gl_lock(gl);
	glock__hold_entered(gl);
	gl_unlock(gl);
	assert_int_equal(known().enter, 3 * H);
	rig_dq(&gh);
}

/* Uses that follow within 50 us are counted by the word. Slower ones go by the queue. */
static void policy_counts_quick_uses(void **state)
{
	static const int64_t gaps[] = {10000, 60000};
	bool counting = false;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(gaps); i++) {
		know((struct glock__hold_policy){.mean = {H / 10}, .likely = {65535}});
		rig_hold(&gh, gl, GLOCK_EX, 0);
		rig_bast(gl, GLOCK__EX);
		rig_dq(&gh);
		for (int k = 0; k < 2; k++) {
			rig_pass(gaps[i]);
			rig_hold(&gh, gl, GLOCK_EX, 0);
			gl_lock(gl);
			counting = gl_busy(gl)->hold_state.counting;
			gl_unlock(gl);
			rig_dq(&gh);
		}
		assert_int_equal(counting, i == 0);
		rig_pass(30 * H);
		rig_answer(0);
	}
}

/* Looks at the glock as its work does. */
static bool is_kept(void)
{
	int64_t until;

	gl_lock(gl);
	until = glock__hold_look(gl);
	gl_unlock(gl);
	return until != 0;
}

/* The work may run twice in a row. The second look finds no use since the first one, and waits. */
static void policy_two_looks_in_a_row(void **state)
{
	struct glock__hold_state *s;

	(void)state;
	know((struct glock__hold_policy){.mean = {H / 10}, .likely = {60000}});
	assert_true(stays_for(GLOCK__EX));
	rig.now += 60000;
	gl_lock(gl);
	s = &gl_busy(gl)->hold_state;
	s->counting = true;
	s->n[ANY]++; /* the word has counted a use */
	gl_unlock(gl);
	assert_true(is_kept());
	assert_int_equal(known().likely[ANY],
			 60000 + (65536 - 60000) / 8); /* the use is a sample */
	rig.now += 20000;
	assert_true(is_kept());
	rig.now += 40000;
	assert_false(is_kept());
}

/* A chance moves by an eighth: below a third in nine gaps, and above a third in four. */
static void policy_moves_by_an_eighth(void **state)
{
	uint16_t falls = 65535, rises = 0;

	(void)state;
	for (int i = 0; i < 9; i++)
		glock__hold_learn16(&falls, 0);
	for (int i = 0; i < 4; i++)
		glock__hold_learn16(&rises, 65536);
	assert_in_range(falls, 65536 / 4, 65536 / 3);
	assert_in_range(rises, 65536 / 3, 65536 / 2);
}

/* A release moves the record of the type halfway to that of the glock. */
static void policy_teaches_by_halves(void **state)
{
	struct glock__hold_policy type = {.release = H, .enter = 2 * H, .mean = {0, H}};
	const struct glock__hold_policy own = {.release = 3 * H, .enter = 4 * H, .mean = {H, H}};

	(void)state;
	glock__hold_teach(&type, &own);
	assert_int_equal(type.release, 2 * H);
	assert_int_equal(type.enter, 3 * H);
	assert_int_equal(type.mean[ANY], H / 2);
	assert_int_equal(type.mean[EX], H);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    POLICY_TEST(policy_a_use_in_vain_ends_the_turn),
	    POLICY_TEST(policy_a_waiter_comes_after_a_use_in_vain),
	    POLICY_TEST(policy_a_use_in_vain_is_seen),
	    POLICY_TEST(policy_bursts),
	    POLICY_TEST(policy_no_bursts),
	    POLICY_TEST(policy_no_bursts_without_quick_gaps),
	    POLICY_TEST(policy_no_bursts_without_end),
	    POLICY_TEST(policy_learns_of_bursts),
	    POLICY_TEST(policy_short_gap),
	    POLICY_TEST(policy_long_gap),
	    POLICY_TEST(policy_one_long_hand_over),
	    POLICY_TEST(policy_adds_the_wake_up),
	    POLICY_TEST(policy_measures_the_reading_in),
	    POLICY_TEST(policy_counts_quick_uses),
	    POLICY_TEST(policy_two_looks_in_a_row),
	    cmocka_unit_test(policy_moves_by_an_eighth),
	    cmocka_unit_test(policy_teaches_by_halves),
	};

	return RUN_TESTS(tests);
}
