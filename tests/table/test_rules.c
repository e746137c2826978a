/* SPDX-License-Identifier: MIT */
/*
 * test_rules.c - tests the tables of rules cell by cell, and each error of arguments.
 *
 * Each cell is compared with the library's table and with the behaviour of operations.
 */
#include "rig.h"

/* ---- compatibility ---- */

static const char *const compatible[] = {
    /*        wanted: NCCPPE
     *                LRWRWX */
    [GLOCK__NL] = "111111", [GLOCK__CR] = "111110", [GLOCK__CW] = "111000",
    [GLOCK__PR] = "110100", [GLOCK__PW] = "110000", [GLOCK__EX] = "100000",
};

static void compatibility_table(void **state)
{
	(void)state;
	for (int held = NL; held <= EX; held++)
		for (int wanted = NL; wanted <= EX; wanted++) {
			assert_int_equal(glock__table_compat[held][wanted],
					 compatible[held][wanted] == '1');
			assert_int_equal(glock__table_compat[held][wanted],
					 glock__table_compat[wanted][held]);
		}
}

static void compatibility_of_new_locks(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, 16, 0);
	for (int held = NL; held <= EX; held++)
		for (int wanted = NL; wanted <= EX; wanted++) {
			event_t first = rig_lock(&rig, 0, held, 0, "r");
			event_t second = rig_lock(&rig, 1, wanted, 0, "r");
			bool granted = compatible[held][wanted] == '1';

			assert_int_equal(first.status, 0);
			assert_int_equal(second.status, granted ? 0 : -EINPROGRESS);
			assert_int_equal(second.mode, granted ? wanted : GLOCK__IV);
			rig_unlock(&rig, first.lkid, 0, NULL);
			if (!granted)
				rig_expect_ast(&rig, 1, second.lkid, wanted);
			rig_unlock(&rig, second.lkid, 0, NULL);
			assert_null(rig_res(&rig, "r"));
		}
	rig_close(&rig);
}

/* A conversion meets the granted modes of other locks, and not its own. */
static void compatibility_of_conversions(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, 16, 0);
	for (int held = NL; held <= EX; held++)
		for (int from = NL; from <= EX; from++)
			for (int to = NL; to <= EX; to++) {
				event_t first, second;

				if (compatible[held][from] != '1')
					continue;
				first = rig_lock(&rig, 0, held, 0, "r");
				second = rig_lock(&rig, 1, from, 0, "r");
				second = rig_convert(&rig, second.lkid, to, 0);
				assert_int_equal(second.status,
						 compatible[held][to] == '1' ? 0 : -EINPROGRESS);
				assert_int_equal(second.mode, second.status ? from : to);
				rig_unlock(&rig, first.lkid, 0, NULL);
				rig_unlock(&rig, second.lkid, F(FORCEUNLOCK), NULL);
			}
	rig_close(&rig);
}

/*
 * The join of two BASTs: the lowest mode that conflicts with all modes with which one of them
 * conflicts.
 */
static void join_table(void **state)
{
	(void)state;
	for (int a = NL; a <= EX; a++)
		for (int b = NL; b <= EX; b++) {
			int best = -1;

			for (int c = EX; c >= NL; c--) {
				bool covers = true;

				for (int other = NL; other <= EX; other++)
					if ((compatible[a][other] == '0' ||
					     compatible[b][other] == '0') &&
					    compatible[c][other] == '1')
						covers = false;
				if (covers)
					best = c;
			}
			assert_int_equal(glock__table_join[a][b], best);
		}
	assert_int_equal(glock__table_join[PR][CW], PW);
}

/* ---- QUECVT ---- */

static const char *const quecvt[] = {
    [GLOCK__NL] = "011111", [GLOCK__CR] = "001111", [GLOCK__CW] = "000111",
    [GLOCK__PR] = "001011", [GLOCK__PW] = "000001", [GLOCK__EX] = "000000",
};

static void quecvt_pairs(void **state)
{
	struct rig rig;
	event_t event;

	(void)state;
	rig_open(&rig, 16, 0);
	for (int from = NL; from <= EX; from++)
		for (int to = NL; to <= EX; to++) {
			bool allowed = quecvt[from][to] == '1';
			event_t lock = rig_lock(&rig, 0, from, 0, "r");
			struct glock__table_request args = {
			    .mode = to, .flags = F(CONVERT) | F(QUECVT), .lkid = lock.lkid};

			assert_int_equal(glock__table_quecvt[from][to], allowed);
			assert_int_equal(glock__table_lock(rig.t, &args, &event),
					 allowed ? 0 : -EINVAL);
			assert_int_equal(rig_peek(&rig, lock.lkid)->gr, allowed ? to : from);
			rig_unlock(&rig, lock.lkid, 0, NULL);
		}
	rig_close(&rig);
}

/* ---- value block ---- */

static const char *const lvb_ops[] = {
    /* none */ "RRRRRR", /* NL */ "RRRRRR", /* CR */ "-RRRRR", /* CW */ "--RRRR",
    /* PR */ "---RRR",   /* PW */ "WWWWWR", /* EX */ "WWWWWW",
};

static void lvb_table(void **state)
{
	const char name[] = {[LVB_NONE] = '-', [LVB_READ] = 'R', [LVB_WRITE] = 'W'};

	(void)state;
	for (int from = GLOCK__IV; from <= EX; from++)
		for (int to = NL; to <= EX; to++)
			assert_int_equal(name[glock__table_lvb_op[from + 1][to]],
					 lvb_ops[from + 1][to]);
}

/*
 * For every pair of modes: a conversion reads or writes the value block, as its result and the
 * block show.
 */
static void lvb_of_conversions(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, 16, 0);
	for (int from = NL; from <= EX; from++)
		for (int to = NL; to <= EX; to++) {
			char op = lvb_ops[from + 1][to];
			event_t keeper = rig_lock(&rig, 0, NL, 0, "r"), lock, event;

			/* The present value: "old". */
			lock = rig_lock(&rig, 1, EX, F(VALBLK), "r");
			rig_unlock(&rig, lock.lkid, F(VALBLK), "old");
			lock = rig_lock(&rig, 1, from, F(VALBLK), "r");
			assert_int_equal(lock.what, GLOCK__EVENT_AST | GLOCK__EVENT_LVB);
			assert_string_equal((const char *)lock.lvb, "old");

			event = rig_convert_lvb(&rig, lock.lkid, to, F(VALBLK), "new");
			assert_int_equal(event.status, 0);
			assert_int_equal((event.what & GLOCK__EVENT_LVB) != 0, op == 'R');
			assert_string_equal((const char *)event.lvb, op == 'R' ? "old" : "");
			assert_int_equal(event.lvb_seq, op == 'R' ? 1 : 0);

			rig_convert(&rig, lock.lkid, NL, 0);
			event = rig_convert_lvb(&rig, keeper.lkid, CR, F(VALBLK), "");
			assert_string_equal((const char *)event.lvb, op == 'W' ? "new" : "old");
			assert_int_equal(event.lvb_seq, op == 'W' ? 2 : 1);
			rig_unlock(&rig, lock.lkid, 0, NULL);
			rig_unlock(&rig, keeper.lkid, 0, NULL);
		}
	rig_close(&rig);
}

/* ---- arguments ---- */

static void lock_arguments(void **state)
{
	static const char value[GLOCK__LVB_LEN], name[GLOCK__RESNAME_MAX + 1];
	static const struct {
		struct glock__table_request args;
		int expected;
	} cases[] = {
	    {{.mode = -1}, -EINVAL},
	    {{.mode = 6}, -EINVAL},
	    {{.mode = EX, .node = RIG_NODES}, -EINVAL},
	    {{.mode = EX, .namelen = GLOCK__RESNAME_MAX + 1}, -EINVAL},
	    {{.mode = EX, .namelen = GLOCK__RESNAME_MAX}, 0},
	    {{.mode = EX, .flags = F(CANCEL)}, -EINVAL},
	    {{.mode = EX, .flags = F(QUECVT)}, -EINVAL},
	    {{.mode = EX, .flags = F(CONVDEADLK)}, -EINVAL},
	    {{.mode = NL, .flags = F(EXPEDITE) | F(NOQUEUE)}, -EINVAL},
	    {{.mode = NL, .flags = F(EXPEDITE) | F(QUECVT)}, -EINVAL},
	    {{.mode = CR, .flags = F(EXPEDITE)}, -EINVAL},
	    {{.mode = NL, .flags = F(EXPEDITE)}, 0},
	    {{.mode = EX, .flags = F(VALBLK)}, -EINVAL},
	    {{.mode = EX, .flags = F(VALBLK), .lvb = value}, 0},
	    {{.mode = EX, .flags = F(PERSISTENT)}, -EOPNOTSUPP},
	    {{.mode = EX, .flags = F(ORPHAN)}, -EOPNOTSUPP},
	    {{.mode = EX, .flags = F(NODLCKBLK) | 0x40000}, 0},
	    {{.mode = EX, .flags = F(CONVERT)}, -EINVAL},
	    {{.mode = EX, .flags = F(CONVERT), .lkid = 12345}, -ENOENT},
	    {{.mode = EX, .flags = F(CONVERT), .lkid = UINT64_MAX}, -ENOENT},
	};
	struct rig rig;

	(void)state;
	rig_open(&rig, 16, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct glock__table_request args = cases[i].args;
		event_t event;

		args.name = name;
		assert_int_equal(glock__table_lock(rig.t, &args, &event), cases[i].expected);
		assert_int_equal(event.what != 0, !cases[i].expected);
		assert_int_equal(rig.t->nlocks, !cases[i].expected);
		glock__table_purge(rig.t, 0, 1);
	}
	rig_close(&rig);
}

static void conversion_arguments(void **state)
{
	static const struct {
		int mode;
		uint32_t flags;
		int expected;
	} cases[] = {
	    {-1, 0, -EINVAL},
	    {6, 0, -EINVAL},
	    {PR, F(CANCEL), -EINVAL},
	    {PR, F(CONVDEADLK) | F(NOQUEUE), -EINVAL},
	    {NL, F(EXPEDITE), -EINVAL},
	    {PR, F(VALBLK), -EINVAL},
	    {PR, F(PERSISTENT), -EOPNOTSUPP},
	    {PR, F(QUECVT), 0},
	    {PR, F(CONVDEADLK), 0},
	};
	struct rig rig;

	(void)state;
	rig_open(&rig, 16, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		event_t lock = rig_lock(&rig, 0, CR, 0, "r"), event;
		struct glock__table_request args = {
		    .mode = cases[i].mode, .flags = cases[i].flags | F(CONVERT), .lkid = lock.lkid};

		assert_int_equal(glock__table_lock(rig.t, &args, &event), cases[i].expected);
		assert_int_equal(rig_peek(&rig, lock.lkid)->gr, cases[i].expected ? CR : PR);
		rig_unlock(&rig, lock.lkid, 0, NULL);
	}
	rig_close(&rig);
}

static void unlock_arguments(void **state)
{
	struct rig rig;
	event_t lock, event;

	(void)state;
	rig_open(&rig, 16, 0);
	lock = rig_lock(&rig, 0, EX, 0, "r");
	for (uint32_t bit = 1; bit; bit <<= 1) {
		uint32_t allowed =
		    F(CANCEL) | F(VALBLK) | F(IVVALBLK) | F(DEATH_UNREPORTED) | F(FORCEUNLOCK);

		if (!(bit & allowed))
			assert_int_equal(glock__table_unlock(rig.t, lock.lkid, bit, NULL, &event),
					 -EINVAL);
	}
	assert_int_equal(
	    glock__table_unlock(rig.t, lock.lkid, F(CANCEL) | F(FORCEUNLOCK), NULL, &event),
	    -EINVAL);
	assert_int_equal(glock__table_unlock(rig.t, 0, 0, NULL, &event), -ENOENT);
	assert_int_equal(glock__table_unlock(rig.t, lock.lkid + 1, 0, NULL, &event), -ENOENT);
	assert_int_equal(glock__table_unlock(rig.t, lock.lkid ^ 1ull << 32, 0, NULL, &event),
			 -ENOENT);
	/* The resource's cell is a cell, but no lock. */
	assert_int_equal(
	    glock__table_unlock(rig.t, ref_of(rig.t, rig_res(&rig, "r")), 0, NULL, &event),
	    -ENOENT);
	event = rig_unlock(&rig, lock.lkid, 0, NULL);
	assert_int_equal(event.status, -GLOCK__DLM_EUNLOCK);
	assert_int_equal(event.mode, GLOCK__IV);
	assert_int_equal(glock__table_unlock(rig.t, lock.lkid, 0, NULL, &event), -ENOENT);
	assert_int_equal(glock__table_take(rig.t, RIG_NODES, &event), -EINVAL);
	assert_int_equal(glock__table_purge(rig.t, RIG_NODES, 1), -EINVAL);
	rig_close(&rig);
}

/* Flags, modes and statuses equal the kernel's, bit for bit. */
static void numbers(void **state)
{
	(void)state;
	assert_int_equal(NL | CR << 4 | CW << 8 | PR << 12 | PW << 16 | EX << 20, 0x543210);
	assert_int_equal(F(NOQUEUE) | F(CANCEL) | F(CONVERT) | F(VALBLK), 0xf);
	assert_int_equal(F(QUECVT) | F(IVVALBLK) | F(CONVDEADLK) | F(PERSISTENT), 0xf0);
	assert_int_equal(F(NODLCKWT) | F(NODLCKBLK) | F(EXPEDITE) | F(NOQUEUEBAST), 0xf00);
	assert_int_equal(F(HEADQUE) | F(NOORDER) | F(ORPHAN) | F(ALTPR), 0xf000);
	assert_int_equal(F(ALTCW) | F(FORCEUNLOCK), 0x30000);
	assert_int_equal(GLOCK__SBF_DEMOTED | GLOCK__SBF_VALNOTVALID << 4 | GLOCK__SBF_ALTMODE << 8,
			 0x421);
	assert_int_equal(GLOCK__DLM_ECANCEL, 0x10001);
	assert_int_equal(GLOCK__DLM_EUNLOCK, 0x10002);
}

int test_rules(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(compatibility_table),
	    cmocka_unit_test(compatibility_of_new_locks),
	    cmocka_unit_test(compatibility_of_conversions),
	    cmocka_unit_test(join_table),
	    cmocka_unit_test(quecvt_pairs),
	    cmocka_unit_test(lvb_table),
	    cmocka_unit_test(lvb_of_conversions),
	    cmocka_unit_test(lock_arguments),
	    cmocka_unit_test(conversion_arguments),
	    cmocka_unit_test(unlock_arguments),
	    cmocka_unit_test(numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
