/* SPDX-License-Identifier: MIT */
/*
 * test_mode.c - tests modes against every cell of the published tables.
 *
 * The tables stand here once more as text, in the documents' own layout. The test compares them
 * cell by cell.
 */
#include "glock/base/flags.h"
#include "glock/base/mode.h"

#include "check.h"

static enum glock_mode mode_named(const char *name)
{
	for (unsigned int m = 0; m < GLOCK_MODE_MAX; m++)
		if (!strncmp(glock__modes[m].name, name, 2))
			return m;
	fail_msg("no mode %s", name);
	return GLOCK_UN;
}

static void mode_names_and_numbers(void **state)
{
	static const struct {
		unsigned int number;
		const char *name, *dlm;
		int dlm_number;
	} want[] = {{0, "UN", "NL", 0}, {1, "EX", "EX", 5}, {2, "DF", "CW", 2}, {3, "SH", "PR", 3}};

	(void)state;
	assert_int_equal(ARRAY_SIZE(want), GLOCK_MODE_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		const struct glock__mode_info *m = &glock__modes[want[i].number];

		assert_string_equal(m->name, want[i].name);
		assert_string_equal(m->dlm_name, want[i].dlm);
		assert_int_equal(m->dlm_mode, want[i].dlm_number);
		assert_int_equal(glock__mode_of_dlm(want[i].dlm_number), want[i].number);
		assert_string_equal(glock__mode_name(want[i].number), want[i].name);
	}
	assert_string_equal(glock__mode_name(4), "??");
	assert_int_equal(glock__mode_of_dlm(1), -1);
	assert_int_equal(glock__mode_of_dlm(4), -1);
	assert_int_equal(glock__mode_of_dlm(-1), -1);
	assert_int_equal(glock__mode_of_dlm(6), -1);
}

/* The DLM's matrix for NL, EX, CW, PR. Rows and columns have the order of glock's modes. */
/*
 * Promises: glock_mode: "GLOCK_UN unlocked anything", "GLOCK_EX exclusive only", "GLOCK_DF deferred
 * UN", "GLOCK_SH shared UN".
 */
static void mode_beside_is_the_dlms_matrix(void **state)
{
	static const char *const rows[GLOCK_MODE_MAX] = {
	    /*            UN EX DF SH */
	    [GLOCK_UN] = "1111",
	    [GLOCK_EX] = "1000",
	    [GLOCK_DF] = "1010",
	    [GLOCK_SH] = "1001",
	};

	(void)state;
	for (unsigned int a = 0; a < GLOCK_MODE_MAX; a++) {
		for (unsigned int b = 0; b < GLOCK_MODE_MAX; b++) {
			bool ok = glock__modes[a].beside & GLOCK__MODES(b);

			assert_int_equal(ok, rows[a][b] == '1');
			assert_int_equal(ok, !!(glock__modes[b].beside & GLOCK__MODES(a)));
		}
	}
}

/*
 * Promises: glock_mode: "GLOCK_UN unlocked anything", "GLOCK_EX exclusive only", "GLOCK_DF deferred
 * UN", "GLOCK_SH shared UN".
 */
static void mode_cache_rules(void **state)
{
	/* data, metadata, dirty data, dirty metadata, in the document's order */
	static const struct {
		const char *mode, *cells;
	} table[] = {{"UN", "no no no no"},
		     {"SH", "yes yes no no"},
		     {"DF", "no yes no no"},
		     {"EX", "yes yes yes yes"}};
	static const unsigned int columns[] = {GLOCK__DATA, GLOCK__METADATA, GLOCK__DIRTY_DATA,
					       GLOCK__DIRTY_METADATA};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		const char *cell = table[i].cells;

		for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
			bool may = glock__modes[mode_named(table[i].mode)].cache & columns[c];

			assert_int_equal(may, cell[0] == 'y');
			cell += strcspn(cell, " ");
			cell += strspn(cell, " ");
		}
	}
}

struct request {
	const char *name;
	enum glock_mode mode;
	unsigned int flags;
};

/* Without a holder: which requests does the state grant, and which go to the lock manager? */
static void mode_grant_table_without_holders(void **state)
{
	static const struct request columns[] = {
	    {"SH", GLOCK_SH, 0},
	    {"DF", GLOCK_DF, 0},
	    {"EX", GLOCK_EX, 0},
	    {"SH+EXACT", GLOCK_SH, GLOCK_EXACT},
	    {"DF+EXACT", GLOCK_DF, GLOCK_EXACT},
	    {"SH+ANY", GLOCK_SH, GLOCK_ANY},
	    /* not in the published table: follows from its rules */
	    {"EX+EXACT", GLOCK_EX, GLOCK_EXACT},
	    {"DF+ANY", GLOCK_DF, GLOCK_ANY},
	    {"SH+EXACT+ANY", GLOCK_SH, GLOCK_EXACT | GLOCK_ANY},
	    {"DF+EXACT+ANY", GLOCK_DF, GLOCK_EXACT | GLOCK_ANY},
	    {"EX+NODE_SCOPE", GLOCK_EX, GLOCK_NODE_SCOPE},
	};
	static const struct {
		const char *state, *cells; /* g: granted, m: lock manager */
	} table[] = {
	    {"UN", "mmm mmm mmmmm"},
	    {"SH", "gmm gmg mggmm"},
	    {"DF", "mgm mgg mgmgm"},
	    {"EX", "ggg mmg ggmmg"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		const char *cell = table[i].cells;

		for (size_t c = 0; c < ARRAY_SIZE(columns); c++, cell++) {
			cell += strspn(cell, " ");
			if (glock__state_serves(mode_named(table[i].state), columns[c].mode,
						columns[c].flags) != (*cell == 'g'))
				fail_msg("state %s, request %s", table[i].state, columns[c].name);
		}
	}
}

/* For every combination of flags, only EXACT and ANY matter here, and EXACT wins. */
static void mode_grant_depends_on_two_flags_only(void **state)
{
	(void)state;
	for (unsigned int s = 0; s < GLOCK_MODE_MAX; s++) {
		for (unsigned int m = 1; m < GLOCK_MODE_MAX; m++) {
			for (unsigned int f = 0; f <= GLOCK_FLAGS_ALL; f++) {
				unsigned int matter = f & GLOCK_EXACT ? GLOCK_EXACT : f & GLOCK_ANY;
				bool got = glock__state_serves(s, m, f);

				assert_int_equal(got, glock__state_serves(s, m, matter));
				if (m == s)
					assert_true(got);
				else if (f & GLOCK_EXACT || s == GLOCK_UN)
					assert_false(got);
				/* a weaker mode never serves EX, whatever the flags */
				if (m == GLOCK_EX && s != GLOCK_EX)
					assert_false(got);
			}
		}
	}
}

/* Promises: GLOCK_NODE_SCOPE: "EX for several". */
static void mode_grant_table_with_a_holder(void **state)
{
	static const struct request columns[] = {{"SH", GLOCK_SH, 0},
						 {"DF", GLOCK_DF, 0},
						 {"EX", GLOCK_EX, 0},
						 {"EX+NODE_SCOPE", GLOCK_EX, GLOCK_NODE_SCOPE}};
	static const char *const rows[] = {
	    /* g: granted, w: waits */
	    "gwww",
	    "wgww",
	    "wwww",
	    "wwwg",
	};

	(void)state;
	for (size_t h = 0; h < ARRAY_SIZE(columns); h++) {
		for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
			bool got = glock__holder_admits(columns[h].mode, columns[h].flags,
							columns[c].mode, columns[c].flags);

			if (got != (rows[h][c] == 'g'))
				fail_msg("holder %s, request %s", columns[h].name, columns[c].name);
		}
	}
}

/* With a holder, EXACT and ANY do not matter. NODE_SCOPE matters only if both holders have it. */
static void mode_holder_ignores_other_flags(void **state)
{
	static const unsigned int flags[] = {
	    0, GLOCK_EXACT, GLOCK_ANY, GLOCK__TRY_NOQUEUE, GLOCK_SKIP, GLOCK_NODE_SCOPE};

	(void)state;
	for (unsigned int h = 1; h < GLOCK_MODE_MAX; h++)
		for (unsigned int m = 1; m < GLOCK_MODE_MAX; m++)
			for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
				for (size_t j = 0; j < ARRAY_SIZE(flags); j++) {
					bool scope = flags[i] & flags[j] & GLOCK_NODE_SCOPE;
					bool want = h == m && (h != GLOCK_EX || scope);

					assert_int_equal(
					    glock__holder_admits(h, flags[i], m, flags[j]), want);
				}
}

/* A request is non-blocking if the state is EX, if the target is UN, or if it is a try. */
static void mode_blocking_requests(void **state)
{
	(void)state;
	for (unsigned int s = 0; s < GLOCK_MODE_MAX; s++) {
		for (unsigned int t = 0; t < GLOCK_MODE_MAX; t++) {
			bool right_away = s == GLOCK_EX || t == GLOCK_UN;

			if (s == t)
				continue;
			assert_int_equal(glock__mode_is_down(s, t), right_away);
			assert_int_equal(glock__request_blocks(s, t, 0), !right_away);
			assert_false(glock__request_blocks(s, t, GLOCK__TRY_NOQUEUE));
			assert_false(glock__request_blocks(s, t, GLOCK_TRY_1CB));
		}
	}
}

static void mode_given_way_to(void **state)
{
	static const int want[] = {-1, -1, GLOCK_DF, GLOCK_SH, GLOCK_UN, GLOCK_UN};

	(void)state;
	for (int m = 0; m < (int)ARRAY_SIZE(want); m++)
		assert_int_equal(glock__mode_for_bast(m), want[m]);
	assert_int_equal(glock__mode_for_bast(-1), -1);
	assert_int_equal(glock__mode_for_bast(6), -1);
}

/* The first demand counts. Two different demands become UN, and UN stays. */
static void mode_demotes_merge(void **state)
{
	static const enum glock_mode wishes[] = {GLOCK_UN, GLOCK_DF, GLOCK_SH};

	(void)state;
	for (size_t w = 0; w < ARRAY_SIZE(wishes); w++) {
		assert_int_equal(glock__demote_merge(GLOCK_EX, wishes[w]), wishes[w]);
		for (size_t p = 0; p < ARRAY_SIZE(wishes); p++) {
			enum glock_mode both = p == w ? wishes[p] : GLOCK_UN;

			assert_int_equal(glock__demote_merge(wishes[p], wishes[w]), both);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(mode_names_and_numbers),
	    cmocka_unit_test(mode_beside_is_the_dlms_matrix),
	    cmocka_unit_test(mode_cache_rules),
	    cmocka_unit_test(mode_grant_table_without_holders),
	    cmocka_unit_test(mode_grant_depends_on_two_flags_only),
	    cmocka_unit_test(mode_grant_table_with_a_holder),
	    cmocka_unit_test(mode_holder_ignores_other_flags),
	    cmocka_unit_test(mode_blocking_requests),
	    cmocka_unit_test(mode_given_way_to),
	    cmocka_unit_test(mode_demotes_merge),
	};

	return RUN_TESTS(tests);
}
