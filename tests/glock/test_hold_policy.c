/* SPDX-License-Identifier: MIT */
/*
 * test_hold_policy.c - tests each rule by which a demand waits (docs/libglock.md, "Hold time").
 */
#include "hold_policy.h"

/*
 * The hold time is 19.2 times the gain of a use that follows soon: 19.2 (H - z). The chance is 1
 * but for a part in 65536, which costs less than 0.1 % here.
 */
static void policy_less_the_gap(void **state)
{
	(void)state;
	know((struct glock__hold_policy){.mean = {H / 5 * 4}, .likely = {65535}});
	assert_true(stays_for(GLOCK__EX));
	assert_in_range(look(gl).hold, 192 * H / 50 - H / 1000, 192 * H / 50);
}

/* Three of four gaps are short. So three uses that come pay for one wait of 1.5 H in vain. */
static void policy_less_the_waits_in_vain(void **state)
{
	(void)state;
	know((struct glock__hold_policy){.mean = {H / 10}, .likely = {49152}});
	assert_true(stays_for(GLOCK__EX));
	assert_int_equal(look(gl).hold, 192 * (H - H / 10 - H / 2) / 10);
}

/* The cost of a hand-over has two parts. The second is over when the hold time begins. */
static void policy_adds_the_reading_in(void **state)
{
	(void)state;
	know((struct glock__hold_policy){.release = H, .enter = H, .mean = {H}, .likely = {65535}});
	assert_true(stays_for(GLOCK__EX));
	assert_in_range(look(gl).hold, 192 * H / 10 + H - H / 1000, 192 * H / 10 + H);
}

/* A turn that begins with a grant in SH, and goes on in EX, has two hand-overs. */
static void policy_two_hand_overs(void **state)
{
	(void)state;
	know((struct glock__hold_policy){.staged = 32768, .likely = {65535}});
	assert_true(stays_for(GLOCK__EX));
	assert_in_range(look(gl).hold, 192 * (H + H * (32768 - 4096) / 65536) / 10 - H / 1000,
			192 * (H + H * (32768 - 4096) / 65536) / 10);
}

static void policy_sees_two_hand_overs(void **state)
{
	(void)state;
	know((struct glock__hold_policy){.likely = {0}});
	rig_hold(&gh, gl, GLOCK_SH, 0);
	rig_dq(&gh);
	rig_hold(&gh, gl, GLOCK_EX, 0);
	assert_int_equal(known().staged, 65536 / 8);
	rig_dq(&gh);
}

/* 200 ms, if the program sets no bound. */
/* Promises: hold_max: "0: 200 ms". */
static void policy_has_a_bound(void **state)
{
	(void)state;
	know((struct glock__hold_policy){.release = 100 * H, .likely = {65535}});
	assert_true(stays_for(GLOCK__EX));
	assert_int_equal(look(gl).hold, 200 * RIG_MS);
}

static int64_t idle_wait(int64_t hand_over)
{
	int64_t ns;

	know((struct glock__hold_policy){.release = (uint32_t)hand_over});
	gl_lock(gl);
	ns = glock__hold_idle(gl);
	gl_unlock(gl);
	return ns;
}

/* TRY_IDLE waits for four hand-overs, for 50 ms at least and for 1 s at most. */
static void policy_try_idle_has_bounds(void **state)
{
	(void)state;
	assert_int_equal(idle_wait(100 * H), 400 * RIG_MS);
	assert_int_equal(idle_wait(300 * H), 1000 * RIG_MS);
	assert_int_equal(idle_wait(H), 50 * RIG_MS);
}

/* With z = H / 10 the chance must be above 0.625. */
static void policy_if_it_pays(void **state)
{
	(void)state;
	know((struct glock__hold_policy){.mean = {H / 10}, .likely = {65536 * 63 / 100}});
	assert_true(stays_for(GLOCK__EX));
}

static void policy_if_it_does_not_pay(void **state)
{
	(void)state;
	know((struct glock__hold_policy){.mean = {H / 10}, .likely = {65536 * 62 / 100}});
	assert_false(stays_for(GLOCK__EX));
	rig_answer(0);
}

/* An unused lock stays for c: 1.5 z, and 0.75 H at least. */
static void policy_patience(void **state)
{
	(void)state;
	know((struct glock__hold_policy){.mean = {H / 10 * 8}, .likely = {60000}});
	assert_true(stays_for(GLOCK__EX));
	rig_pass(H / 100 * 119);
	assert_null(rig.open);
	rig_pass(H / 100 * 2);
	assert_non_null(rig.open);
}

static void policy_least_patience(void **state)
{
	(void)state;
	know((struct glock__hold_policy){.mean = {H / 10}, .likely = {SURE - 1}});
	assert_true(stays_for(GLOCK__EX));
	rig_pass(H / 100 * 74);
	assert_null(rig.open);
	rig_pass(H / 100 * 2);
	assert_non_null(rig.open);
}

/* 15 of 16 gaps are short. So an unused lock stays as long as a gap may last that is short. */
static void policy_most_patience(void **state)
{
	(void)state;
	know((struct glock__hold_policy){.mean = {H / 10}, .likely = {SURE}});
	assert_true(stays_for(GLOCK__EX));
	rig_pass(H / 100 * 149);
	assert_null(rig.open);
	rig_pass(H / 100 * 2);
	assert_non_null(rig.open);
}

/* The first use of a turn took longer than the hold time. The demand comes after that use. */
static void policy_after_the_first_use(void **state)
{
	(void)state;
	know((struct glock__hold_policy){.mean = {H / 10}, .likely = {65535}});
	rig_hold(&gh, gl, GLOCK_EX, 0);
	rig_pass(30 * H);
	rig_dq(&gh);
	rig_bast(gl, GLOCK__EX);
	assert_null(rig.open);
	rig_pass(2 * H);
	assert_non_null(rig.open);
}

/* The demand waits during that use. Then the lock goes at the end of the use. */
static void policy_after_a_use_with_a_demand(void **state)
{
	(void)state;
	know((struct glock__hold_policy){.mean = {H / 10}, .likely = {65535}});
	rig_hold(&gh, gl, GLOCK_EX, 0);
	rig_bast(gl, GLOCK__EX);
	rig_pass(30 * H);
	assert_null(rig.open);
	rig_dq(&gh);
	assert_non_null(rig.open);
}

/* Uses in EX are seldom here, and reads are not. */
static const struct glock__hold_policy reads = {
    .mean = {H / 10, H / 10}, .likely = {65535, 0}, .n = {1600, 1600}};

static void policy_other_nodes_read(void **state)
{
	(void)state;
	know(reads);
	assert_false(stays_for(GLOCK__PR));
}

static void policy_other_nodes_write(void **state)
{
	(void)state;
	know(reads);
	assert_true(stays_for(GLOCK__EX));
}

/* Less than half of the uses are in EX. */
static void policy_few_writes(void **state)
{
	struct glock__hold_policy p = reads;

	(void)state;
	p.n[EX] = 600;
	know(p);
	assert_false(stays_for(GLOCK__EX));
}

/* Returns the uses that count for a demand, if few are in EX, with that chance of a short gap. */
static unsigned int uses_of_few(uint16_t likely, int dlm_mode)
{
	struct glock__hold_policy p = reads;

	p.n[EX] = 600;
	p.likely[EX] = likely;
	know(p);
	assert_true(stays_for(dlm_mode));
	return known().uses;
}

/* Few uses are in EX. But 15 of 16 gaps between them are short, so that reads count, too. */
static void policy_writes_come_soon(void **state)
{
	(void)state;
	assert_int_equal(uses_of_few(SURE, GLOCK__EX), ANY);
}

static void policy_writes_come_soon_beside_reads(void **state)
{
	(void)state;
	assert_int_equal(uses_of_few(SURE, GLOCK__PR), ANY);
}

static void policy_writes_come_later(void **state)
{
	(void)state;
	assert_int_equal(uses_of_few(SURE - 1, GLOCK__EX), EX);
}

/* Only uses in EX count, and half of the gaps are short. While the lock waits, reads go on. */
static void policy_reads_go_on(void **state)
{
	struct glock__hold_policy p = reads;

	(void)state;
	p.n[EX] = 600;
	p.likely[EX] = 32768;
	know(p);
	assert_true(stays_for(GLOCK__EX));
	assert_int_equal(look(gl).hold, 192 * (H - H / 10 - H / 4 * 3) / 10);
}

/* The demand comes during a read. The last use in EX ended before, and a gap goes on. */
static void policy_a_read_hides_no_gap(void **state)
{
	uint16_t likely;

	(void)state;
	know((struct glock__hold_policy){.likely = {0}});
	rig_hold(&gh, gl, GLOCK_EX, 0);
	rig_dq(&gh);
	rig_hold(&other, gl, GLOCK_SH, 0);
	rig_bast(gl, GLOCK__EX);
	rig_dq(&other);
	rig_answer(0);
	rig_nq(&gh, gl, GLOCK_EX, 0);
	likely = known().likely[EX];
	rig_answer(0);
	rig_dq(&gh);
	assert_int_equal(likely, 65536 / 8);
}

/* The word has counted a use in EX since the one that ended. So no gap began with that end. */
static void policy_a_counted_use_ends_a_gap(void **state)
{
	(void)state;
	know((struct glock__hold_policy){.mean = {H / 10}, .likely = {65535, 65535}});
	assert_true(stays_for(GLOCK__EX));
	rig.now += 10 * H;
	gl_lock(gl);
	glock__hold_count(gl, GLOCK_EX, 1);
	gl_unlock(gl);
	rig_hold(&gh, gl, GLOCK_EX, 0);
	rig_dq(&gh);
	assert_int_equal(known().likely[EX], 65535);
}

/* A thread of this node waits. Its use comes first, though none was expected. */
static void policy_a_waiter_comes_first(void **state)
{
	(void)state;
	know((struct glock__hold_policy){.likely = {0}});
	rig_hold(&gh, gl, GLOCK_EX, 0);
	rig_nq(&other, gl, GLOCK_EX, 0);
	rig_bast(gl, GLOCK__EX);
	rig_dq(&gh);
	assert_null(rig.open);
	assert_int_equal(look(gl).hold, 192 * H / 10); /* the use is sure to come */
	assert_true(glock_poll(&other));
	rig_dq(&other);
	assert_non_null(rig.open);
	assert_int_equal(known().likely[ANY], 0);
	assert_int_equal(known().likely[EX], 0);
}

/* A waiter does not keep the lock beyond the hold time. */
static void policy_a_waiter_has_a_bound(void **state)
{
	(void)state;
	know((struct glock__hold_policy){.likely = {65535}});
	rig_hold(&gh, gl, GLOCK_EX, 0);
	rig_nq(&other, gl, GLOCK_EX, 0);
	rig_bast(gl, GLOCK__EX);
	rig_pass(20 * H);
	rig_dq(&gh);
	assert_non_null(rig.open);
	rig_answer(0);
	rig_answer(0);
	rig_dq(&other);
}

/* The object is being read in when the demand comes. The thread that reads it in has its turn. */
static void policy_a_reader_in_comes_first(void **state)
{
	(void)state;
	know((struct glock__hold_policy){.likely = {0}});
	rig_nq(&gh, gl, GLOCK_EX, 0);
	demand_at_reading_in = true;
	rig_answer(0);
	assert_false(demand_at_reading_in);
	rig_nq(&other, gl, GLOCK_EX, 0);
	assert_int_equal(known().likely[EX], 0);
	rig_dq(&gh);
	assert_null(rig.open);
	assert_true(glock_poll(&other));
	rig_dq(&other);
	assert_non_null(rig.open);
}

/* The hold time of a grant that has not come does not end, and no work looks at it meanwhile. */
static void policy_waits_for_the_grant(void **state)
{
	(void)state;
	know((struct glock__hold_policy){.mean = {H / 10}, .likely = {65535}});
	rig_nq(&gh, gl, GLOCK_EX, 0);
	rig_bast(gl, GLOCK__EX);
	rig_pass(200 * RIG_MS);
	assert_int_equal(rig.space->work.n, 0);
	rig_answer(0);
	rig_dq(&gh);
	assert_null(rig.open);
}

/* Of the gaps between uses in EX, the wait for another node does not count. */
static void policy_waits_are_no_gaps(void **state)
{
	(void)state;
	know((struct glock__hold_policy){.likely = {0}});
	assert_false(stays_for(GLOCK__EX));
	rig_answer(0);
	rig_nq(&other, gl, GLOCK_SH, 0);
	rig_pass(10 * H);
	rig_answer(0);
	rig_dq(&other);
	rig_nq(&gh, gl, GLOCK_EX, 0);
	assert_int_equal(known().likely[EX], 65536 / 8);
	rig_answer(0);
	rig_dq(&gh);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    POLICY_TEST(policy_less_the_gap),
	    POLICY_TEST(policy_less_the_waits_in_vain),
	    POLICY_TEST(policy_adds_the_reading_in),
	    POLICY_TEST(policy_two_hand_overs),
	    POLICY_TEST(policy_sees_two_hand_overs),
	    POLICY_TEST(policy_has_a_bound),
	    POLICY_TEST(policy_try_idle_has_bounds),
	    POLICY_TEST(policy_if_it_pays),
	    POLICY_TEST(policy_if_it_does_not_pay),
	    POLICY_TEST(policy_patience),
	    POLICY_TEST(policy_least_patience),
	    POLICY_TEST(policy_most_patience),
	    POLICY_TEST(policy_after_the_first_use),
	    POLICY_TEST(policy_after_a_use_with_a_demand),
	    POLICY_TEST(policy_other_nodes_read),
	    POLICY_TEST(policy_other_nodes_write),
	    POLICY_TEST(policy_few_writes),
	    POLICY_TEST(policy_writes_come_soon),
	    POLICY_TEST(policy_writes_come_soon_beside_reads),
	    POLICY_TEST(policy_writes_come_later),
	    POLICY_TEST(policy_reads_go_on),
	    POLICY_TEST(policy_a_read_hides_no_gap),
	    POLICY_TEST(policy_a_counted_use_ends_a_gap),
	    POLICY_TEST(policy_waits_are_no_gaps),
	    POLICY_TEST(policy_waits_for_the_grant),
	    POLICY_TEST(policy_a_waiter_comes_first),
	    POLICY_TEST(policy_a_waiter_has_a_bound),
	    POLICY_TEST(policy_a_reader_in_comes_first),
	};

	return RUN_TESTS(tests);
}
