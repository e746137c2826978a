/* SPDX-License-Identifier: MIT */
/*
 * test_record.c - tests a glock's published record: correct, short-lived, harmless to change.
 *
 * No write into the record makes the library do anything wrong.
 */
#include "glock/state/busy.h"

#include "rig.h"

enum { AREA = 1 << 20 };

static struct glock_holder a, b;
static _Alignas(128) char areas[GLOCK__AREA_MAX][AREA];
static size_t used[GLOCK__AREA_MAX];
static bool full;

static void *piece(struct glock__mem *mem, enum glock__area area, size_t size)
{
	void *p = areas[area] + used[area];

	(void)mem;
	if (full || size > AREA - used[area])
		return NULL;
	used[area] += size;
	return p;
}

static struct glock__mem mem = {.slab = piece};

static int setup(void **state)
{
	(void)state;
	memset(areas, 0, sizeof(areas));
	memset(used, 0, sizeof(used));
	full = false;
	rig_mem = &mem;
	rig_open(0);
	rig.answer_at_once = true;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rig_close();
	rig_mem = NULL;
	return 0;
}

/* Finds a record as another process does: by searching the area. */
static const struct glock__record *find(unsigned int type, uint64_t number)
{
	const struct glock__record *r = (const void *)areas[GLOCK__AREA_RECORDS];

	for (size_t i = 0; i < used[GLOCK__AREA_RECORDS] / sizeof(*r); i++)
		if (r[i].flags & GLOCK__R_LIVE && r[i].type == type && r[i].number == number)
			return &r[i];
	return NULL;
}

static const struct glock__busy_record *find_more(unsigned int type, uint64_t number)
{
	const struct glock__busy_record *m = (const void *)areas[GLOCK__AREA_BUSY_RECORDS];

	for (size_t i = 0; i < used[GLOCK__AREA_BUSY_RECORDS] / sizeof(*m); i++)
		if (m[i].flags & GLOCK__R_LIVE && m[i].type == type && m[i].number == number)
			return &m[i];
	return NULL;
}

static void check(struct glock *gl)
{
	struct glock_statistics s = {.size = sizeof(s)};
	const struct glock__record *r = find(gl->type, gl->number);

	assert_non_null(r);
	assert_int_equal(glock_statistics(gl, &s), 0);
	assert_int_equal(r->seq % 2, 0);
	assert_int_equal(r->state, gl->state);
	assert_int_equal(r->target, look(gl).target);
	assert_int_equal(r->demote, look(gl).demote_state);
	assert_int_equal(r->refs, gl_refs(gl));
	assert_int_equal(r->flags & 0xffffff, gl->flags & 0xffffff);
	assert_int_equal(!!(r->flags & GLOCK__F_QUEUED), look(gl).any_holders);
	assert_int_equal(r->stats.v[GLOCK__QCOUNT], s.qcount);
	assert_int_equal(r->stats.v[GLOCK__DCOUNT], s.dcount);
	assert_int_equal(glock__share_ns(r->usable, rig.now, r->flags & GLOCK__R_USABLE), s.usable);
	assert_int_equal(rig.now - r->born, s.age);
}

static void record_is_the_glock(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 7);

	(void)state;
	check(gl);
	rig_hold(&a, gl, GLOCK_SH, 0);
	check(gl);
	rig_pass(500 * RIG_MS);
	rig_bast(gl, GLOCK__EX);
	check(gl);
	assert_int_equal(find(GLOCK_INODE, 7)->demote, GLOCK_UN);
	assert_int_equal(find_more(GLOCK_INODE, 7)->counts.basts, 1);
	assert_int_equal(find_more(GLOCK_INODE, 7)->demote_time, rig.now);
	rig_dq(&a);
	check(gl);
	assert_int_equal(find(GLOCK_INODE, 7)->state, GLOCK_UN);
	glock_put(gl);
	rig_run();
	assert_null(find(GLOCK_INODE, 7));
	assert_null(find_more(GLOCK_INODE, 7));
}

/* An idle glock that was never asked for has only its record. */
static void record_of_an_idle_glock(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 8);

	(void)state;
	rig_hold(&a, gl, GLOCK_EX, 0);
	assert_non_null(find_more(GLOCK_INODE, 8));
	rig_dq(&a);
	assert_null(find_more(GLOCK_INODE, 8));
	assert_false(gl->flags & GLOCK__F_BUSY);
	check(gl);
	glock_put(gl);
	assert_int_equal(gl->flags & GLOCK__F_BUSY, 0);
}

/* Without room to publish in, locks still work. */
static void record_without_room(void **state)
{
	struct glock *gls[2000];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(gls); i++) {
		gls[i] = rig_glock(GLOCK_RGRP, i);
		full = true;
		rig_hold(&a, gls[i], GLOCK_EX, 0);
		rig_dq(&a);
	}
	assert_non_null(find(GLOCK_RGRP, 0));
	assert_null(find(GLOCK_RGRP, ARRAY_SIZE(gls) - 1));
	for (size_t i = 0; i < ARRAY_SIZE(gls); i++)
		glock_put(gls[i]);
}

static void scribble(unsigned int seed)
{
	for (int area = 0; area < GLOCK__AREA_MAX; area++)
		for (size_t i = 0; i < used[area]; i++)
			areas[area][i] = seed == 1 ? -1 : (char)rand_r(&seed);
}

/* Whatever a record contains, modes, holders and demotes stay correct. */
static void record_scribbled(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 9);
	struct glock_statistics s = {.size = sizeof(s)};

	(void)state;
	for (unsigned int seed = 1; seed < 200; seed++) {
		scribble(seed);
		rig_hold(&a, gl, GLOCK_SH, 0);
		scribble(seed + 1000);
		rig_nq(&b, gl, GLOCK_EX, 0);
		assert_false(glock_poll(&b));
		rig_dq(&a);
		assert_true(glock_valid(&b));
		assert_int_equal(gl->state, GLOCK_EX);
		scribble(seed + 2000);
		rig_bast(gl, GLOCK__EX);
		assert_int_equal(gl->state, GLOCK_EX);
		glock_statistics(gl, &s);
		rig_dq(&b);
		scribble(seed + 3000);
		rig_pass(201 * RIG_MS); /* at most one hold time */
		assert_int_equal(gl->state, GLOCK_UN);
	}
	scribble(4000);
	glock_put(gl);
}

#define RECORD_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    RECORD_TEST(record_is_the_glock),
	    RECORD_TEST(record_of_an_idle_glock),
	    RECORD_TEST(record_without_room),
	    RECORD_TEST(record_scribbled),
	};

	return RUN_TESTS(tests);
}
