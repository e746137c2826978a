/* SPDX-License-Identifier: MIT */
/*
 * test_hold.c - tests the policy of the hold time: one node, other nodes that demand its glock.
 *
 * A hand-over takes H here: the lock manager needs so long to take a grant back.
 */
#include "glock/core/lent.h"
#include "glock/state/busy.h"
#include "glock/state/work.h"
#include "rig.h"

#define H (1 * RIG_MS)

enum { TYPE = 20, BOUNDED = 21 };

static struct glock_holder gh, other;

/* Asks for the glock. Giving it up may be under way, which takes H. */
static void get_it(struct glock *gl, enum glock_mode mode)
{
	bool leaves = rig.open;

	rig_nq(&gh, gl, mode, 0);
	if (leaves) {
		rig_pass(H);
		rig_answer(0);
	}
	if (rig.open)
		rig_answer(0);
	assert_true(glock_poll(&gh));
}

/* Gives the glock up if that is due, which takes H. Returns whether it is gone. */
static bool given_up(struct glock *gl)
{
	if (rig.open) {
		rig_pass(H);
		rig_answer(0);
	}
	return gl->state == GLOCK_UN;
}

/* Uses the glock for `use`, with a demand that waits, and lets it go. */
static void use_it(struct glock *gl, int64_t use)
{
	get_it(gl, GLOCK_EX);
	if (!(gl->flags & (GLOCK__F_PENDING_DEMOTE | GLOCK__F_DEMOTE)))
		rig_bast(gl, GLOCK__EX);
	rig_pass(use);
	rig_dq(&gh);
}

/* As many turns as a policy may take to learn: each use follows the last one after `gap`. */
static void ten_turns(struct glock *gl, int64_t gap)
{
	for (int i = 0; i < 10; i++) {
		use_it(gl, H / 100);
		if (gap > H)
			given_up(gl);
		rig_pass(gap);
	}
}

/* Teaches that uses follow soon, so well that one long gap does not matter. */
static void twenty_turns(struct glock *gl)
{
	ten_turns(gl, H / 10);
	ten_turns(gl, H / 10);
}

/* Lets the lock go at last, so that no record is left. */
static void finish(struct glock *gl)
{
	rig_pass(300 * RIG_MS);
	given_up(gl);
	assert_int_equal(gl->state, GLOCK_UN);
	glock_put(gl);
}

static enum glock__hold_why why(struct glock *gl)
{
	enum glock__hold_why why;

	gl_lock(gl);
	why = (enum glock__hold_why)glock__lent_of(gl)->policy.hold.why;
	gl_unlock(gl);
	return why;
}

static int setup(void **state)
{
	static const struct glock_type_options types[] = {
	    {.size = sizeof(types[0]), .type = TYPE, .name = "own"},
	    {.size = sizeof(types[0]), .type = BOUNDED, .name = "bounded", .hold_max = 5 * H}};
	struct glock_space_options o = {.types = types, .n_types = ARRAY_SIZE(types)};

	(void)state;
	rig_open_with(&o);
	return 0;
}

/* Nothing is known of the glock: it is given up at once. */
static void hold_nothing_known(void **state)
{
	struct glock *gl = rig_glock(TYPE, 1);

	(void)state;
	rig_hold(&gh, gl, GLOCK_EX, 0);
	rig_dq(&gh);
	rig_pass(20 * RIG_MS);
	rig_bast(gl, GLOCK__EX);
	assert_non_null(rig.open);
	assert_int_equal(why(gl), GLOCK__HOLD_UNKNOWN);
	finish(gl);
}

/* Ten hand-overs teach that uses follow soon. Then an unused lock stays, for 1.5 H at most. */
/*
 * Promises: hold: "0 the library sets", "It also measures", "An unused lock", "The library learns".
 */
static void hold_learns_and_gives_up(void **state)
{
	struct glock *gl = rig_glock(TYPE, 1);

	(void)state;
	ten_turns(gl, H / 10);
	use_it(gl, H / 100);
	assert_null(rig.open);
	assert_true(gl->flags & GLOCK__F_PENDING_DEMOTE);
	assert_int_equal(why(gl), GLOCK__HOLD_IN_USE);
	rig_pass(H / 2);
	assert_null(rig.open);
	rig_pass(H);
	assert_non_null(rig.open);
	assert_int_equal(why(gl), GLOCK__HOLD_UNUSED);
	finish(gl);
}

/* Ten long gaps teach that no use will come: the lock is given up at once again. */
/* Promises: hold: "An unused lock", "The library learns". */
static void hold_forgets(void **state)
{
	struct glock *gl = rig_glock(TYPE, 1);

	(void)state;
	ten_turns(gl, H / 10);
	ten_turns(gl, 50 * H);
	use_it(gl, H / 100);
	assert_non_null(rig.open);
	assert_int_equal(why(gl), GLOCK__HOLD_SELDOM);
	finish(gl);
}

/* A lock in constant use is kept for some 19 hand-overs, less the gaps. */
/* Promises: hold: "With 0 the", "A lock in". */
static void hold_in_constant_use(void **state)
{
	struct glock *gl = rig_glock(TYPE, 1);
	int64_t began;

	(void)state;
	twenty_turns(gl);
	rig_pass(10 * H);
	given_up(gl);
	get_it(gl, GLOCK_EX);
	rig_bast(gl, GLOCK__EX);
	for (began = rig.now; !rig.open && rig.now < began + 100 * H;) {
		rig_pass(H / 10);
		rig_dq(&gh);
		if (rig.open)
			break;
		rig_pass(H / 10);
		if (!rig.open)
			get_it(gl, GLOCK_EX);
	}
	assert_in_range(rig.now - began, 16 * H, 20 * H);
	finish(gl);
}

/* The program's bound is shorter, and wins. */
/* Promises: hold: "A lock in"; hold_max: "With hold 0", "A use that". */
static void hold_bounded(void **state)
{
	struct glock *gl = rig_glock(BOUNDED, 1);
	int64_t began;

	(void)state;
	ten_turns(gl, H / 10);
	rig_pass(10 * H);
	given_up(gl);
	get_it(gl, GLOCK_EX);
	rig_bast(gl, GLOCK__EX);
	began = rig.now;
	rig_pass(4 * H);
	assert_false(gl->flags & GLOCK__F_DEMOTE);
	rig_pass(2 * H);
	assert_true(gl->flags & GLOCK__F_DEMOTE);
	assert_int_equal(look(gl).hold, 5 * H);
	assert_in_range(rig.now - began, 5 * H, 6 * H);
	rig_dq(&gh);
	finish(gl);
}

/* SH is given up at once, whatever is known. */
/* Promises: hold: "SH is given". */
static void hold_shared(void **state)
{
	struct glock *gl = rig_glock(TYPE, 1);

	(void)state;
	ten_turns(gl, H / 10);
	rig_pass(10 * H);
	given_up(gl);
	get_it(gl, GLOCK_SH);
	rig_dq(&gh);
	rig_bast(gl, GLOCK__EX);
	assert_non_null(rig.open);
	assert_int_equal(why(gl), GLOCK__HOLD_SHARED);
	finish(gl);
}

/* A demand that leaves SH to this node counts its uses in EX only. */
static void hold_reads_do_not_count(void **state)
{
	struct glock *gl = rig_glock(TYPE, 1);

	(void)state;
	for (int i = 0; i < 10; i++) {
		use_it(gl, H / 100);
		for (int r = 0; r < 20 && !rig.open; r++) {
			rig_pass(H / 10);
			if (gl->state == GLOCK_UN)
				break;
			rig_nq(&other, gl, GLOCK_SH, 0);
			if (glock_poll(&other))
				rig_dq(&other);
			else
				glock_cancel(&other);
		}
		rig_pass(20 * H);
		given_up(gl);
	}
	get_it(gl, GLOCK_EX);
	rig_bast(gl, GLOCK__PR);
	rig_dq(&gh);
	assert_non_null(rig.open);
	rig_answer(0);
	assert_int_equal(gl->state, GLOCK_SH);
	rig_bast(gl, GLOCK__EX);
	finish(gl);
}

/*
 * Uses that follow each other quickly are counted, not seen. An older timer may look just after a
 * count. The rig has no fast path, so the test begins to count by itself.
 */
static void hold_early_look_says_nothing(void **state)
{
	struct glock *gl = rig_glock(TYPE, 1);
	struct glock__hold_state *s;

	(void)state;
	twenty_turns(gl);
	rig_pass(10 * H);
	given_up(gl);
	use_it(gl, H / 1000);
	rig_pass(H / 1000);
	use_it(gl, H / 1000);
	gl_lock(gl);
	s = &gl_busy(gl)->hold_state;
	s->counting = true;
	s->looked = s->n[GLOCK__USES_ANY];
	glock__work_queue(gl, rig.now);
	gl_unlock(gl);
	rig_run();
	assert_null(rig.open);
	assert_int_equal(why(gl), GLOCK__HOLD_IN_USE);
	finish(gl);
}

/* Learns that uses follow soon, and asks for EX while SH is in the way of another node. */
static struct glock *asks_on_from_sh(void)
{
	struct glock *gl = rig_glock(TYPE, 1);

	twenty_turns(gl);
	rig_pass(10 * H);
	given_up(gl);
	get_it(gl, GLOCK_SH);
	rig_dq(&gh);
	rig_nq(&gh, gl, GLOCK_EX, 0);
	rig_bast(gl, GLOCK__EX);
	return gl;
}

/* EX is granted, used and let go. The hold time counts for this grant. */
static void is_kept_in_ex(struct glock *gl)
{
	assert_true(glock_poll(&gh));
	rig_pass(H / 100);
	rig_dq(&gh);
	if (!(gl->flags & GLOCK__F_PENDING_DEMOTE))
		rig_bast(gl, GLOCK__EX);
	assert_null(rig.open);
	assert_int_equal(gl->state, GLOCK_EX);
	assert_int_equal(why(gl), GLOCK__HOLD_IN_USE);
	finish(gl);
}

/* SH is given up on the way to EX, which meets the demand. */
static void hold_after_a_refused_conversion(void **state)
{
	struct glock *gl = asks_on_from_sh();

	(void)state;
	rig_answer(-EDEADLK);
	rig_answer(0);
	rig_answer(0);
	is_kept_in_ex(gl);
}

/* A look before the grant does not give up what comes. */
static void hold_looks_before_the_grant(void **state)
{
	struct glock *gl = asks_on_from_sh();

	(void)state;
	gl_lock(gl);
	glock__work_queue(gl, rig.now);
	gl_unlock(gl);
	rig_run();
	assert_true(gl->flags & GLOCK__F_PENDING_DEMOTE);
	rig_answer(0);
	is_kept_in_ex(gl);
}

/* A new glock begins with what its type knows. */
static void hold_begins_as_its_type(void **state)
{
	struct glock *gl = rig_glock(TYPE, 1);

	(void)state;
	ten_turns(gl, H / 10);
	finish(gl);
	gl = rig_glock(TYPE, 2);
	get_it(gl, GLOCK_EX);
	rig_bast(gl, GLOCK__EX);
	assert_int_equal(why(gl), GLOCK__HOLD_IN_USE);
	rig_pass(H / 100);
	rig_dq(&gh);
	assert_null(rig.open);
	finish(gl);
}

#define HOLD_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    HOLD_TEST(hold_nothing_known),
	    HOLD_TEST(hold_learns_and_gives_up),
	    HOLD_TEST(hold_forgets),
	    HOLD_TEST(hold_in_constant_use),
	    HOLD_TEST(hold_bounded),
	    HOLD_TEST(hold_shared),
	    HOLD_TEST(hold_reads_do_not_count),
	    HOLD_TEST(hold_early_look_says_nothing),
	    HOLD_TEST(hold_after_a_refused_conversion),
	    HOLD_TEST(hold_looks_before_the_grant),
	    HOLD_TEST(hold_begins_as_its_type),
	};

	return RUN_TESTS(tests);
}
