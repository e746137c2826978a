/* SPDX-License-Identifier: MIT */
/*
 * test_demand.c - tests basts, sequence by sequence: when a glock gives way, and to which mode.
 *
 * The tests also cover hold times, and basts that come early or late.
 */
#include "glock/state/busy.h"
#include "glock/state/work.h"

#include "rig.h"

static struct glock_holder a, b;

/* A demand comes before the waiters of this node, but not before its holders. */
/*
 * Promises: Holders are never revoked: "Holders are never", "A demand of", "A holder that";
 * glock_set_object: "Then xmote_th, xmote_bh".
 */
static void demand_before_waiters(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig_hold(&a, gl, GLOCK_SH, 0);
	rig_pass(201 * RIG_MS);
	*rig.log = '\0';
	rig_bast(gl, GLOCK__EX);
	rig_expect("");
	assert_true(gl->flags & GLOCK__F_DEMOTE);
	rig_nq(&b, gl, GLOCK_SH, 0);
	assert_false(glock_poll(&b));
	rig_dq(&a);
	rig_expect("th:UN:0 inval:3 convert:NL");
	rig_answer(0);
	rig_expect("th:SH:0 convert:PR:quecvt");
	rig_answer(0);
	assert_int_equal(glock_wait(&b, 0, 0), 0);
	rig_dq(&b);
	glock_put(gl);
}

/* A try does not wait for the holders that keep a demand waiting. */
static void demand_before_a_try(void **state)
{
	struct glock *gl = rig_glock(10, 1);

	(void)state;
	rig_hold(&a, gl, GLOCK_SH, 0);
	rig_bast(gl, GLOCK__EX);
	assert_true(gl->flags & GLOCK__F_DEMOTE);
	glock__holder_init(&b, gl, GLOCK_SH, GLOCK_TRY | GLOCK_ASYNC);
	glock_holder_owner(&b, 1000000);
	assert_int_equal(glock_nq(&b), -EBUSY);
	rig_dq(&a);
	rig_answer(0);
	glock_put(gl);
}

/* No holder hears of the death that came with this grant. So the next node is told. */
static void demand_after_an_unheard_death(void **state)
{
	struct glock *gl = rig_glock(10, 1);
	struct glock__lm_lock *lk;

	(void)state;
	rig_nq(&a, gl, GLOCK_EX, 0);
	assert_int_equal(glock_dq(&a), 0);
	lk = rig.open;
	assert_non_null(lk);
	rig.open = NULL;
	lk->id = 1;
	rig.lm.events->reply(lk, 0, GLOCK__SBF_OWNER_DIED);
	rig_run();
	*rig.log = '\0';
	rig_bast(gl, GLOCK__EX);
	rig_expect("convert:NL:death");
	rig_answer(0);
	glock_put(gl);
}

/* A fixed hold time begins with the grant, also if the demand comes between the two. */
static void demand_before_the_grant_is_applied(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);
	struct glock__lm_lock *lk;

	(void)state;
	rig_nq(&a, gl, GLOCK_EX, 0);
	lk = rig.open;
	rig.open = NULL;
	lk->id = 1;
	rig.lm.events->reply(lk, 0, 0);
	rig.lm.events->bast(lk, GLOCK__EX);
	rig_run();
	rig_dq(&a);
	assert_null(rig.open);
	rig_pass(201 * RIG_MS);
	rig_answer(0);
	glock_put(gl);
}

/* A glock with holders is not given up, and not weakened either. */
/* Promises: glock_downgrade: "Other nodes wait". */
static void demand_after_a_downgrade(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig_hold(&a, gl, GLOCK_EX, 0);
	rig_expect("th:EX:0 ask:EX");
	rig_pass(201 * RIG_MS);
	assert_int_equal(glock_downgrade(&a, GLOCK_SH), 0);
	rig_bast(gl, GLOCK__PR);
	rig_expect("");
	rig_pass(1000 * RIG_MS);
	rig_expect("");
	rig_dq(&a);
	rig_expect("th:SH:3 convert:PR");
	rig_answer(0);
	glock_put(gl);
}

/* Two demands before the work runs make one transition. A demand during it makes a second one. */
static void demand_merges(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig_hold(&a, gl, GLOCK_EX, 0);
	rig_pass(201 * RIG_MS);
	rig_bast(gl, GLOCK__PR);
	rig_bast(gl, GLOCK__EX);
	*rig.log = '\0';
	rig_dq(&a);
	rig_expect("th:UN:3 inval:3 convert:NL");
	rig_answer(0);
	rig_expect("");
	rig_leave_cached(&a, gl);
	*rig.log = '\0';
	rig_bast(gl, GLOCK__PR);
	rig_bast(gl, GLOCK__EX);
	rig_expect("th:SH:3 convert:PR");
	rig_answer(0);
	rig_expect("th:UN:0 inval:3 convert:NL");
	rig_answer(0);
	glock_put(gl);
}

/* A trace of a demand tells the target of all demands together. */
static void demand_merged_demands_in_traces(void **state)
{
	static const char *const said[] = {" demote EX to PR ", " demote EX to NL "};
	struct glock *gl = rig_glock(GLOCK_INODE, 1);
	unsigned int n = 0;
	uint64_t cursor = 0;
	char line[256];

	(void)state;
	rig_hold(&a, gl, GLOCK_EX, 0);
	rig_bast(gl, GLOCK__PR);
	rig_bast(gl, GLOCK__CW);
	while (trace_next(rig.space, &cursor, line, sizeof(line)) == 1) {
		if (!strstr(line, "demote_rq"))
			continue;
		assert_in_range(n, 0, 1);
		assert_non_null(strstr(line, said[n++]));
	}
	assert_int_equal(n, 2);
	rig_pass(201 * RIG_MS);
	rig_dq(&a);
	rig_answer(0);
	glock_put(gl);
}

/* The hold time counts from the grant, with or without a holder. Then the demote is due. */
/* Promises: glock_holder_idle: "Does nothing with". */
static void demand_after_a_use_in_vain(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig_hold(&a, gl, GLOCK_EX, 0);
	rig_bast(gl, GLOCK__EX);
	glock_holder_idle(&a);
	rig_dq(&a);
	assert_null(rig.open); /* the hold time of the type is fixed */
	glock_holder_idle(&a); /* not held */
	rig_pass(201 * RIG_MS);
	rig_answer(0);
	glock_put(gl);
}

/* Promises: hold: "Demands of other"; held_off: "demands that had". */
static void demand_hold_time(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig_hold(&a, gl, GLOCK_EX, 0);
	*rig.log = '\0';
	rig_pass(50 * RIG_MS);
	rig_bast(gl, GLOCK__EX);
	assert_true(gl->flags & GLOCK__F_PENDING_DEMOTE);
	assert_false(gl->flags & GLOCK__F_DEMOTE);
	assert_int_equal(look(gl).counts.held_off, 1);
	rig_dq(&a);
	rig_expect("");
	/* this node may use the glock meanwhile */
	rig_nq(&b, gl, GLOCK_EX, 0);
	assert_true(glock_poll(&b));
	rig_dq(&b);
	rig_pass(149 * RIG_MS);
	rig_expect("");
	rig_pass(1 * RIG_MS);
	rig_expect("th:UN:3 inval:3 convert:NL");
	rig_answer(0);
	assert_int_equal(look(gl).demote_state, GLOCK_EX);
	assert_false(gl->flags & (GLOCK__F_DEMOTE | GLOCK__F_PENDING_DEMOTE));
	glock_put(gl);
}

/* A demote is no grant: no second hold time begins after EX to SH. */
static void demand_hold_time_after_grants_only(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig_hold(&a, gl, GLOCK_EX, 0);
	rig_dq(&a);
	rig_pass(200 * RIG_MS);
	rig_bast(gl, GLOCK__PR);
	rig_answer(0);
	*rig.log = '\0';
	rig_bast(gl, GLOCK__EX);
	rig_expect("th:UN:0 inval:3 convert:NL");
	rig_answer(0);
	glock_put(gl);
}

/* A running hold time delays nothing else: neither a reply nor a new request. */
static void demand_earliest_deadline_wins(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig_hold(&a, gl, GLOCK_SH, 0);
	rig_dq(&a);
	rig_nq(&a, gl, GLOCK_EX, 0);
	rig_bast(gl, GLOCK__EX);
	assert_int_equal(glock__work_next(rig.space), gl_record(gl)->granted_at + 200 * RIG_MS);
	*rig.log = '\0';
	/* the reply is handled on arrival, not at the end of the hold time */
	rig_answer(-EDEADLK);
	rig_expect("th:UN:0 inval:3 convert:NL");
	rig_answer(0);
	rig_answer(0);
	assert_int_equal(glock_wait(&a, 0, 0), 0);
	rig_dq(&a);
	/* UN on the way has met the demand */
	assert_false(gl->flags & (GLOCK__F_DEMOTE | GLOCK__F_PENDING_DEMOTE));
	rig_bast(gl, GLOCK__EX);
	rig_pass(200 * RIG_MS);
	rig_answer(0);
	rig_dq((rig_hold(&a, gl, GLOCK_SH, 0), &a));
	rig_bast(gl, GLOCK__EX);
	rig_nq(&b, gl, GLOCK_EX, 0);
	assert_true(rig.open); /* asked immediately */
	rig_answer(0);
	rig_dq(&b);
	rig_pass(200 * RIG_MS);
	rig_answer(0);
	glock_put(gl);
}

/* Promises: GLOCK_HOLD_NONE: "no hold time"; hold: "GLOCK_HOLD_NONE no hold". */
static void demand_no_hold_time_for_the_type(void **state)
{
	struct glock *gl = rig_glock(10, 1);

	(void)state;
	rig_hold(&a, gl, GLOCK_EX, 0);
	rig_dq(&a);
	*rig.log = '\0';
	rig_bast(gl, GLOCK__EX);
	rig_expect("convert:NL");
	rig_answer(0);
	glock_put(gl);
}

/* NOCACHE: the last holder's release gives the lock back immediately, without a hold time. */
/* Promises: GLOCK_NOCACHE: "a lock that". */
static void demand_nocache(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig_hold(&a, gl, GLOCK_SH, GLOCK_NOCACHE);
	rig_hold(&b, gl, GLOCK_SH, 0);
	*rig.log = '\0';
	rig_dq(&a);
	rig_expect("");
	rig_dq(&b);
	rig_expect("th:UN:0 inval:3 convert:NL");
	rig_answer(0);
	glock_put(gl);
}

/* A demand may arrive before its reply. The grant is used, then given back. */
static void demand_bast_before_the_reply(void **state)
{
	struct glock *gl = rig_glock(10, 1);

	(void)state;
	rig_nq(&a, gl, GLOCK_EX, 0);
	rig_bast(gl, GLOCK__EX);
	rig_answer(0);
	assert_int_equal(glock_wait(&a, 0, 0), 0);
	*rig.log = '\0';
	rig_dq(&a);
	rig_expect("convert:NL");
	rig_answer(0);
	glock_put(gl);
}

/* A demand may arrive after the demote. It means nothing and is not remembered. */
static void demand_bast_too_late(void **state)
{
	struct glock *gl = rig_glock(10, 1);

	(void)state;
	rig_hold(&a, gl, GLOCK_EX, GLOCK_NOCACHE);
	rig_dq(&a);
	rig_answer(0);
	assert_int_equal(gl->state, GLOCK_UN);
	*rig.log = '\0';
	rig_bast(gl, GLOCK__PR);
	rig_bast(gl, GLOCK__CR);
	assert_int_equal(look(gl).demote_state, GLOCK_EX);
	rig_expect("");
	glock_put(gl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    RIG_TEST(demand_before_waiters),
	    RIG_TEST(demand_before_a_try),
	    RIG_TEST(demand_after_an_unheard_death),
	    RIG_TEST(demand_before_the_grant_is_applied),
	    RIG_TEST(demand_after_a_downgrade),
	    RIG_TEST(demand_merges),
	    RIG_TEST(demand_after_a_use_in_vain),
	    RIG_TEST(demand_merged_demands_in_traces),
	    RIG_TEST(demand_hold_time),
	    RIG_TEST(demand_hold_time_after_grants_only),
	    RIG_TEST(demand_earliest_deadline_wins),
	    RIG_TEST(demand_no_hold_time_for_the_type),
	    RIG_TEST(demand_nocache),
	    RIG_TEST(demand_bast_before_the_reply),
	    RIG_TEST(demand_bast_too_late),
	};

	return RUN_TESTS(tests);
}
