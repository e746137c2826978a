/* SPDX-License-Identifier: MIT */
/*
 * hold_policy.h - a glock whose policy of the hold time a test writes and reads.
 *
 * A test writes the policy of a glock, instead of teaching it by many uses. Then a demand shows the
 * decision, or the policy shows what one sample changed. A hand-over takes H.
 */
#ifndef TESTS_GLOCK_HOLD_POLICY_H
#define TESTS_GLOCK_HOLD_POLICY_H

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

static inline int read_in(struct glock_holder *reader)
{
	(void)reader;
	if (demand_at_reading_in) {
		demand_at_reading_in = false;
		rig.lm.events->bast(&gl->lk, GLOCK__EX);
	}
	return 0;
}

static inline int setup(void **state)
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
static inline int teardown(void **state)
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
static inline void know(struct glock__hold_policy p)
{
	gl_lock(gl);
	if (!p.release)
		p.release = H;
	glock__policy_edit(glock__lend(gl))->hold = p;
	gl_unlock(gl);
}

static inline struct glock__hold_policy known(void)
{
	struct glock__hold_policy p;

	gl_lock(gl);
	p = glock__lent_of(gl)->policy.hold;
	gl_unlock(gl);
	return p;
}

/* Tells whether the glock stays after a short use and a demand that allows `dlm_mode` here. */
static inline bool stays_for(int dlm_mode)
{
	rig_hold(&gh, gl, GLOCK_EX, 0);
	rig_dq(&gh);
	rig_bast(gl, dlm_mode);
	return !rig.open;
}

/* Two uses in EX, and `gap` between them. The glock is given up meanwhile, which takes H. */
static inline void two_uses(int64_t gap)
{
	assert_false(stays_for(GLOCK__EX));
	rig_pass(H);
	rig_answer(0);
	rig_pass(gap - H);
	rig_hold(&gh, gl, GLOCK_EX, 0);
	rig_dq(&gh);
}

#define POLICY_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

#endif
