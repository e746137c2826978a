/* SPDX-License-Identifier: MIT */
/*
 * test_hold_policy.c - tests each rule of the hold time's policy (docs/libglock.md, "Hold time").
 *
 * A test writes the policy of a glock, instead of teaching it by many uses. Then a demand shows the
 * decision, or the policy shows what one sample changed. A hand-over takes H.
 */
#include "glock/core/lent.h"
#include "glock/state/busy.h"
#include "glock/state/demote.h"
#include "rig.h"

#define H (1 * RIG_MS)

enum { TYPE = 20, ANY = GLOCK__USES_ANY, EX = GLOCK__USES_EX };
enum { SURE = 65536 / 16 * 15 }; /* as in hold.c */

static struct glock *gl;
static struct glock_holder gh, other;

static bool demand_at_reading_in;

static int read_in(struct glock_holder *reader)
{
	(void)reader;
	if (demand_at_reading_in) {
		demand_at_reading_in = false;
		rig.lm.events->bast(&gl->lk, GLOCK__EX);
	}
	return 0;
}

static int setup(void **state)
{
	static const struct glock_ops ops = {.size = sizeof(ops), .instantiate = read_in};
	static const struct glock_type_options type = {
	    .size = sizeof(type), .type = TYPE, .name = "own", .ops = &ops};
	struct glock_space_options o = {.types = &type, .n_types = 1};

	(void)state;
	rig_open_with(&o);
	gl = rig_glock(TYPE, 1);
	return 0;
}

/* Gives the lock up, so that no record is left. */
static int teardown(void **state)
{
	(void)state;
	rig_pass(300 * RIG_MS);
	if (rig.open)
		rig_answer(0);
	glock_put(gl);
	rig_close();
	return 0;
}

/* Writes what is known of the glock. The cost of a hand-over is H if `p` names none. */
static void know(struct glock__hold_policy p)
{
	gl_lock(gl);
	if (!p.release)
		p.release = H;
	glock__policy_edit(glock__lend(gl))->hold = p;
	gl_unlock(gl);
}

static struct glock__hold_policy known(void)
{
	struct glock__hold_policy p;

	gl_lock(gl);
	p = glock__lent_of(gl)->policy.hold;
	gl_unlock(gl);
	return p;
}

/* Tells whether the glock stays after a short use and a demand that allows `dlm_mode` here. */
static bool stays_for(int dlm_mode)
{
	rig_hold(&gh, gl, GLOCK_EX, 0);
	rig_dq(&gh);
	rig_bast(gl, dlm_mode);
	return !rig.open;
}

/* Two uses in EX, and `gap` between them. The glock is given up meanwhile, which takes H. */
static void two_uses(int64_t gap)
{
	assert_false(stays_for(GLOCK__EX));
	rig_pass(H);
	rig_answer(0);
	rig_pass(gap - H);
	rig_hold(&gh, gl, GLOCK_EX, 0);
	rig_dq(&gh);
}

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

#define POLICY_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

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
	    POLICY_TEST(policy_a_waiter_comes_first),
	    POLICY_TEST(policy_a_waiter_has_a_bound),
	    POLICY_TEST(policy_a_reader_in_comes_first),
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
