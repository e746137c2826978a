/* SPDX-License-Identifier: MIT */
/*
 * test_callbacks.c - tests ASTs and BASTs: their receivers, their number, their order, and the
 * wake-ups.
 */
#include "rig.h"

static struct rig rig;

static int open_rig(void **state)
{
	(void)state;
	rig_open(&rig, 64, 0);
	return 0;
}

static int close_rig(void **state)
{
	(void)state;
	rig_close(&rig);
	return 0;
}

static event_t lock(uint32_t node, int mode, uint32_t flags)
{
	return rig_lock(&rig, node, mode, flags, "r");
}

static event_t convert(event_t of, int mode, uint32_t flags)
{
	return rig_convert(&rig, of.lkid, mode, flags);
}

static void bast(uint32_t node, event_t of, int mode)
{
	rig_expect_bast(&rig, node, of.lkid, mode);
	rig_expect_none(&rig, node);
}

/* For every pair of modes: a waiting request sends a BAST to the holders that it conflicts with. */
static void of_every_pair(void **state)
{
	(void)state;
	for (int held = NL; held <= EX; held++)
		for (int wanted = NL; wanted <= EX; wanted++) {
			event_t holder = lock(0, held, 0);
			event_t waiter = lock(1, wanted, 0);

			if (glock__table_compat[held][wanted])
				rig_expect_none(&rig, 0);
			else
				bast(0, holder, wanted);
			assert_int_equal(holder.cookie, UINT64_C(0x100000000) + (unsigned)held);
			rig_expect_none(&rig, 1);
			rig_unlock(&rig, holder.lkid, 0, NULL);
			rig_unlock(&rig, waiter.lkid, F(FORCEUNLOCK), NULL);
		}
}

static void once_for_each_higher_mode(void **state)
{
	event_t holder = lock(0, EX, 0);

	(void)state;
	lock(1, PR, 0);
	bast(0, holder, PR);
	lock(2, PR, 0);
	lock(2, CR, 0);
	rig_expect_none(&rig, 0);
	lock(3, PW, 0);
	bast(0, holder, PW);
	lock(3, EX, 0);
	bast(0, holder, EX);
	lock(3, EX, 0);
	lock(2, PR, 0);
	rig_expect_none(&rig, 0);
}

/* Unread BASTs become one: the highest mode. */
static void coalesced(void **state)
{
	event_t holder = lock(0, EX, 0);

	(void)state;
	lock(1, CR, 0);
	lock(1, PR, 0);
	lock(1, PW, 0);
	bast(0, holder, PW);
	lock(1, EX, 0);
	bast(0, holder, EX);
}

/* Neither PR nor CW is the higher mode. A BAST for both asks for as much as PW does. */
static void coalesced_pr_and_cw(void **state)
{
	event_t holder = lock(0, EX, 0);

	(void)state;
	lock(1, CW, 0);
	lock(1, PR, 0);
	bast(0, holder, PW);
}

static void pr_and_cw_are_both_told(void **state)
{
	event_t holder = lock(0, PR, 0), a, b;

	(void)state;
	/* CW is lower than PR. A holder of PR must still hear of CW, each time that CW is new. */
	a = lock(1, CW, 0);
	bast(0, holder, CW);
	lock(2, CW, 0);
	rig_expect_none(&rig, 0);
	b = lock(3, EX, 0);
	bast(0, holder, EX);
	lock(2, CW, 0);
	rig_expect_none(&rig, 0);
	(void)a;
	(void)b;
}

static void cw_holder_hears_of_pr(void **state)
{
	event_t holder = lock(0, CW, 0);

	(void)state;
	lock(1, PR, 0);
	bast(0, holder, PR);
	lock(2, PR, 0);
	rig_expect_none(&rig, 0);
}

/*
 * PR is the highest waiting mode, and CW waits as well. After a grant, the holder of PR gets a BAST
 * for CW.
 */
static void cw_waits_behind_pr(void **state)
{
	event_t a = lock(0, EX, 0), reader = lock(1, PR, 0), writer = lock(2, CW, 0), again;

	(void)state;
	again = lock(3, PR, 0);
	rig_take_all(&rig);
	rig_unlock(&rig, a.lkid, 0, NULL);
	a = rig_take(&rig, 1);
	assert_int_equal(a.lkid, reader.lkid);
	assert_int_equal(a.what, GLOCK__EVENT_AST | GLOCK__EVENT_BAST);
	assert_int_equal(a.bast, CW);
	rig_unlock(&rig, reader.lkid, 0, NULL);
	rig_expect_ast(&rig, 2, writer.lkid, CW);
	(void)again;
}

static void reset_by_a_grant(void **state)
{
	event_t holder = lock(0, EX, 0);

	(void)state;
	lock(1, EX, 0);
	lock(2, EX, 0);
	bast(0, holder, EX);
	/* The holder still conflicts in its new mode, and gets another BAST. */
	convert(holder, PR, 0);
	bast(0, holder, EX);
	convert(holder, PR, 0);
	bast(0, holder, EX);
	/* A failed conversion changes nothing. */
	assert_int_equal(convert(holder, EX, F(NOQUEUE)).status, 0);
	bast(0, holder, EX);
}

/* A BAST that was not read before a conversion's grant is void. */
static void void_after_a_grant(void **state)
{
	event_t holder = lock(0, PR, 0), waiter = lock(1, EX, 0);

	(void)state;
	rig_unlock(&rig, waiter.lkid, F(CANCEL), NULL);
	convert(holder, CR, 0);
	rig_expect_none(&rig, 0);
	assert_int_equal(node_at(rig.t, 0)->callbacks, 0);
}

static void next_in_line_is_told(void **state)
{
	event_t holder = lock(0, EX, 0), a = lock(1, EX, 0), b = lock(2, PR, 0), event;

	(void)state;
	bast(0, holder, EX);
	rig_unlock(&rig, holder.lkid, 0, NULL);
	/* With its grant, a gets a BAST, because a conflicts with b. */
	event = rig_take(&rig, 1);
	assert_int_equal(event.lkid, a.lkid);
	assert_int_equal(event.what, GLOCK__EVENT_AST | GLOCK__EVENT_BAST);
	assert_int_equal(event.bast, PR);
	assert_int_equal(event.mode, EX);
	rig_unlock(&rig, a.lkid, 0, NULL);
	rig_expect_ast(&rig, 2, b.lkid, PR);
}

static void refused_with_basts(void **state)
{
	event_t holder = lock(0, PR, 0), converter = lock(1, PR, 0), granted = lock(2, CR, 0);

	(void)state;
	convert(converter, EX, 0);
	rig_take_all(&rig);
	assert_int_equal(lock(3, EX, F(NOQUEUE)).status, -EAGAIN);
	rig_expect_none(&rig, 1);
	/*
	 * All locks that conflict get a BAST: granted ones, and the old modes of converting ones.
	 */
	assert_int_equal(lock(3, EX, F(NOQUEUE) | F(NOQUEUEBAST)).status, -EAGAIN);
	bast(1, converter, EX);
	rig_expect_none(&rig, 0);
	assert_int_equal(convert(holder, EX, F(NOQUEUE) | F(NOQUEUEBAST)).status, -EAGAIN);
	rig_expect_none(&rig, 0);
	(void)granted;
}

static void refused_with_basts_to_converters_only(void **state)
{
	event_t a = lock(0, PR, 0), b = lock(1, PR, 0);

	(void)state;
	convert(a, EX, 0);
	rig_take_all(&rig);
	convert(b, EX, F(NODLCKWT));
	rig_take_all(&rig);
	assert_int_equal(first_of(rig_res(&rig, "r"), LK_GRANTED), 0);
	assert_int_equal(lock(3, CW, F(NOQUEUE) | F(NOQUEUEBAST)).status, -EAGAIN);
	bast(0, a, CW);
	rig_expect_none(&rig, 1);
}

static void unwanted(void **state)
{
	struct glock__table_request args = {.mode = EX, .name = "r", .namelen = 1, .no_bast = true};
	event_t event;

	(void)state;
	assert_int_equal(glock__table_lock(rig.t, &args, &event), 0);
	lock(1, EX, 0);
	rig_expect_none(&rig, 0);
}

/* A node's ASTs arrive in the order of the grants, whatever BASTs came before. */
static void asts_in_order(void **state)
{
	event_t holder = lock(1, PW, 0), a = lock(0, CR, 0), b = lock(0, NL, 0);

	(void)state;
	lock(2, EX, 0);
	/* a has an unread BAST, and is granted after b. */
	assert_int_equal(node_at(rig.t, 0)->callbacks, (uint32_t)a.lkid);
	convert(b, PR, 0);
	convert(a, PR, 0);
	rig_unlock(&rig, holder.lkid, 0, NULL);
	rig_expect_ast(&rig, 0, b.lkid, PR);
	rig_expect_ast(&rig, 0, a.lkid, PR);
	rig_expect_none(&rig, 0);
}

static void many_grants_in_order(void **state)
{
	event_t holder = lock(0, EX, 0), waiter[20];

	(void)state;
	for (int i = 0; i < 20; i++)
		waiter[i] = lock(1, i % 2 ? PR : CR, 0);
	rig_unlock(&rig, holder.lkid, 0, NULL);
	for (int i = 0; i < 20; i++)
		rig_expect_ast(&rig, 1, waiter[i].lkid, i % 2 ? PR : CR);
	rig_expect_none(&rig, 1);
}

/* However long a node reads nothing, each lock has one callback, and no memory is used. */
static void stopped_consumer(void **state)
{
	event_t holder = lock(0, PR, 0);
	struct glock__table_usage was, is;

	(void)state;
	lock(1, NL, 0);
	glock__table_usage(rig.t, &was);
	for (int i = 0; i < 1000; i++) {
		event_t event = lock(1, CW + i % 4, 0);

		rig_unlock(&rig, event.lkid, F(FORCEUNLOCK), NULL);
	}
	glock__table_usage(rig.t, &is);
	assert_int_equal(is.cells_used, was.cells_used);
	assert_int_equal(rig_take(&rig, 0).lkid, holder.lkid);
	rig_expect_none(&rig, 0);
}

/* ---- requests with IDLE ---- */

static void idle_asks_the_node(void **state)
{
	event_t a = lock(0, PR, 0), b = lock(1, NL, 0), event;

	(void)state;
	event = rig_convert(&rig, b.lkid, EX, F(IDLE));
	assert_int_equal(event.status, -EINPROGRESS);
	event = rig_take(&rig, 0);
	assert_int_equal(event.what, GLOCK__EVENT_BAST | GLOCK__EVENT_IDLE);
	assert_int_equal(event.bast, EX);
	glock__table_in_use(rig.t, a.lkid);
	event = rig_take(&rig, 1);
	assert_int_equal(event.status, -EBUSY);
	assert_int_equal(event.mode, NL);
}

/* The answer comes late: the request that asked is gone, and the node asks for more itself. */
static void idle_is_not_refused_by_its_own_node(void **state)
{
	event_t a = lock(0, PR, 0), b = lock(1, NL, 0), c = lock(2, PR, 0);

	(void)state;
	rig_convert(&rig, b.lkid, EX, F(IDLE));
	rig_take(&rig, 0);
	rig_unlock(&rig, b.lkid, F(CANCEL), NULL);
	assert_int_equal(rig_convert(&rig, a.lkid, EX, F(IDLE)).status, -EINPROGRESS);
	glock__table_in_use(rig.t, a.lkid);
	rig_expect_none(&rig, 0);
	glock__table_in_use(rig.t, c.lkid);
	assert_int_equal(rig_take(&rig, 0).status, -EBUSY);
}

static void idle_asks_no_lock_without_basts(void **state)
{
	const struct glock__table_request unwanted = {
	    .node = 0, .mode = PR, .name = "r", .namelen = 1, .no_bast = true};
	event_t b = lock(1, NL, 0), event;

	(void)state;
	assert_int_equal(glock__table_lock(rig.t, &unwanted, &event), 0);
	rig_convert(&rig, b.lkid, EX, F(IDLE));
	rig_expect_none(&rig, 0);
}

/* A demand after the grant is an ordinary one. */
static void idle_question_ends_with_a_grant(void **state)
{
	event_t a = lock(0, CR, 0), b = lock(1, NL, 0), c = lock(2, PR, 0), event;

	(void)state;
	rig_convert(&rig, b.lkid, EX, F(IDLE));
	rig_unlock(&rig, b.lkid, F(CANCEL), NULL);
	assert_int_equal(rig_convert(&rig, a.lkid, EX, 0).status, -EINPROGRESS);
	rig_unlock(&rig, c.lkid, 0, NULL);
	lock(3, EX, 0);
	event = rig_take(&rig, 0);
	assert_int_equal(event.what, GLOCK__EVENT_AST | GLOCK__EVENT_BAST);
	assert_int_equal(event.mode, EX);
}

/* ---- wake-ups ---- */

static void wake_list(void **state)
{
	event_t a = lock(0, EX, 0), b = lock(1, EX, 0), c = lock(2, EX, 0);

	(void)state;
	assert_int_equal(glock__table_wake(rig.t), 0);
	/* The node stays listed until it was woken. */
	assert_int_equal(glock__table_wake(rig.t), 0);
	glock__table_woken(rig.t);
	assert_int_equal(glock__table_wake(rig.t), -1);
	glock__table_woken(rig.t);
	/* A woken node is listed again only for a new callback. */
	rig_unlock(&rig, a.lkid, 0, NULL);
	assert_int_equal(glock__table_wake(rig.t), 1);
	rig_unlock(&rig, b.lkid, F(FORCEUNLOCK), NULL);
	assert_int_equal(glock__table_wake(rig.t), 2);
	glock__table_woken(rig.t);
	assert_int_equal(glock__table_wake(rig.t), 1);
	glock__table_woken(rig.t);
	assert_int_equal(glock__table_wake(rig.t), -1);
	rig_check(&rig);
	rig_expect_ast(&rig, 2, c.lkid, EX);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_rig, close_rig)

int test_callbacks(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(of_every_pair),
	    TEST(once_for_each_higher_mode),
	    TEST(coalesced),
	    TEST(coalesced_pr_and_cw),
	    TEST(pr_and_cw_are_both_told),
	    TEST(cw_holder_hears_of_pr),
	    TEST(cw_waits_behind_pr),
	    TEST(reset_by_a_grant),
	    TEST(void_after_a_grant),
	    TEST(next_in_line_is_told),
	    TEST(refused_with_basts),
	    TEST(refused_with_basts_to_converters_only),
	    TEST(unwanted),
	    TEST(asts_in_order),
	    TEST(many_grants_in_order),
	    TEST(stopped_consumer),
	    TEST(idle_asks_the_node),
	    TEST(idle_is_not_refused_by_its_own_node),
	    TEST(idle_asks_no_lock_without_basts),
	    TEST(idle_question_ends_with_a_grant),
	    TEST(wake_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
