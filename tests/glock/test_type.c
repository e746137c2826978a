/* SPDX-License-Identifier: MIT */
/*
 * test_type.c - tests types: names, numbers, caches, modes, lock order, and cache changes by mode.
 */
#include "glock/base/mode.h"

#include "check.h"

/* Promises: glock_type: "Types of glocks". */
static void type_names_and_caches(void **state)
{
	/* a number is a place; i: data and metadata, m: metadata, -: nothing */
	static const struct {
		const char *name;
		char caches;
	} want[] = {{"reserved", '-'}, {"nondisk", '-'}, {"inode", 'i'}, {"rgrp", 'm'},
		    {"meta", '-'},     {"iopen", '-'},   {"flock", '-'}, {"plock", '-'},
		    {"quota", '-'},    {"journal", '-'}};

	(void)state;
	assert_int_equal(ARRAY_SIZE(want), GLOCK_TYPE_OWN);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		const struct glock__type_info *t = &glock__types[i];

		assert_string_equal(t->name, want[i].name);
		assert_int_equal(!!(t->caches & GLOCK_CACHES_DATA), want[i].caches == 'i');
		assert_int_equal(!!(t->caches & GLOCK_CACHES_METADATA), want[i].caches != '-');
		assert_int_equal(t->may_recur, i == GLOCK_FLOCK);
		assert_int_equal(t->priority, i == GLOCK_JOURNAL);
	}
}

static void type_only_inode_has_df(void **state)
{
	(void)state;
	for (size_t i = 0; i < GLOCK_TYPE_OWN; i++) {
		unsigned int modes = glock__types[i].modes;

		assert_int_equal(!!(modes & GLOCK__DF_SET), i == GLOCK_INODE);
		assert_true(modes & GLOCK__SH_SET);
		assert_true(modes & GLOCK__EX_SET);
		assert_false(modes & GLOCK__UN_SET);
	}
}

static unsigned int place(unsigned int type, uint64_t number)
{
	return glock__type_order(&glock__types[type], type, number);
}

/* Promises: order: "GFS2's: 2 rename". */
static void type_lock_order(void **state)
{
	(void)state;
	assert_true(place(GLOCK_NONDISK, GLOCK__RENAME) < place(GLOCK_INODE, 1));
	assert_true(place(GLOCK_INODE, 1) < place(GLOCK_RGRP, 1));
	assert_true(place(GLOCK_RGRP, 1) < place(GLOCK_NONDISK, GLOCK__TRANS));
	assert_true(place(GLOCK_INODE, 1) < place(GLOCK_IOPEN, 1));
	assert_true(place(GLOCK_IOPEN, 1) < place(GLOCK_RGRP, 1));
	assert_true(place(GLOCK_FLOCK, 1) < place(GLOCK_NONDISK, GLOCK__RENAME));
	/* a number that is none of the four has its type's place */
	assert_int_equal(place(GLOCK_NONDISK, 77), glock__types[GLOCK_NONDISK].order);
	/* numbers do not order parents and children, but they order resource groups */
	assert_false(glock__types[GLOCK_INODE].by_number);
	assert_true(glock__types[GLOCK_RGRP].by_number);
}

/* From each mode to each other, for each kind of cache: the lost part goes, and no other. */
static void type_cache_changes(void **state)
{
	static const unsigned int caches[] = {0, GLOCK_CACHES_METADATA,
					      GLOCK_CACHES_METADATA | GLOCK_CACHES_DATA};

	(void)state;
	for (size_t c = 0; c < ARRAY_SIZE(caches); c++) {
		for (unsigned int from = 0; from < GLOCK_MODE_MAX; from++) {
			for (unsigned int to = 0; to < GLOCK_MODE_MAX; to++) {
				struct glock__cache_change ch =
				    glock__type_cache_change(caches[c], from, to);
				unsigned int left, may = glock__type_may_cache(caches[c], to);

				left = glock__type_may_cache(caches[c], from);
				left &= ~(ch.sync | ch.inval);
				assert_int_equal(left & ~may, 0);
				assert_int_equal((ch.sync | ch.inval) & may, 0);
			}
		}
	}
}

static void type_cache_changes_by_name(void **state)
{
	const unsigned int both = GLOCK_CACHES_METADATA | GLOCK_CACHES_DATA;
	const unsigned int dirty = GLOCK__DIRTY_METADATA | GLOCK__DIRTY_DATA;
	static const struct {
		enum glock_mode from, to;
		bool sync;
		unsigned int inval;
	} want[] = {
	    {GLOCK_EX, GLOCK_SH, true, 0},
	    {GLOCK_EX, GLOCK_DF, true, GLOCK__DATA},
	    {GLOCK_EX, GLOCK_UN, true, GLOCK__DATA | GLOCK__METADATA},
	    {GLOCK_SH, GLOCK_UN, false, GLOCK__DATA | GLOCK__METADATA},
	    {GLOCK_SH, GLOCK_DF, false, GLOCK__DATA},
	    {GLOCK_SH, GLOCK_EX, false, 0},
	    {GLOCK_DF, GLOCK_UN, false, GLOCK__METADATA},
	    {GLOCK_DF, GLOCK_SH, false, 0},
	    {GLOCK_UN, GLOCK_EX, false, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		struct glock__cache_change ch =
		    glock__type_cache_change(both, want[i].from, want[i].to);

		assert_int_equal(ch.sync, want[i].sync ? dirty : 0);
		assert_int_equal(ch.inval, want[i].inval);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(type_names_and_caches),
	    cmocka_unit_test(type_only_inode_has_df),
	    cmocka_unit_test(type_lock_order),
	    cmocka_unit_test(type_cache_changes),
	    cmocka_unit_test(type_cache_changes_by_name),
	};

	return RUN_TESTS(tests);
}
