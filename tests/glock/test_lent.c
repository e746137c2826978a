/* SPDX-License-Identifier: MIT */
/*
 * test_lent.c - tests the records that are lent to busy glocks: which glock gets one, keeps one and
 * loses one; grants by mode; histograms.
 */
#include "glock/core/lent.h"
#include "glock/fast/word.h"
#include "glock/publish/publish.h"
#include "glock/publish/publish_space.h"
#include "glock/state/busy.h"
#include "peek/peek.h"

#include "rig.h"

#include <sys/mman.h>
#include <unistd.h>

static struct glock_holder a, b;
static struct glock__peek *peek;

/* A space whose segment is in memory. */
static int setup(void **state)
{
	int fd = memfd_create("segment", MFD_CLOEXEC);
	struct glock__publisher *publisher;

	assert_true(fd >= 0);
	(void)state;
	publisher = glock__publisher_new(dup(fd), 1);
	assert_non_null(publisher);
	rig_mem = glock__publisher_mem(publisher);
	rig_open(0);
	rig.space->publisher = publisher;
	glock__publish_ready(rig.space);
	assert_int_equal(glock__peek_open_fd(&peek, fd), 0);
	return 0;
}

static int teardown(void **state)
{
	glock__peek_close(peek);
	rig_mem = NULL;
	return rig_teardown(state);
}

#define LENT_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

static struct glock__lent *lent_of(struct glock *gl)
{
	return gl->flags & GLOCK__F_BUSY ? glock__busy_of(gl)->lent : NULL;
}

/* Returns the published record that names this glock, or NULL. */
static const struct glock__lent_record *published(const struct glock *gl)
{
	for (uint32_t i = 1; i <= 64; i++) {
		const struct glock__lent_record *r =
		    glock__publisher_at(rig.space->publisher, GLOCK__AREA_LENT, i);

		if (r->seq && r->type == gl->type && r->number == gl->number)
			return r;
	}
	return NULL;
}

static void demand(struct glock *gl)
{
	rig_hold(&a, gl, GLOCK_EX, 0);
	rig_bast(gl, GLOCK__EX);
	rig_dq(&a);
}

static void give_up(struct glock *gl)
{
	rig_pass(201 * RIG_MS);
	if (rig.open)
		rig_answer(0);
	assert_int_equal(gl->state, GLOCK_UN);
}

static void a_demand_lends_a_record_until_the_glock_leaves_memory(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);
	struct glock__lent *l;

	(void)state;
	rig_hold(&a, gl, GLOCK_EX, 0);
	assert_null(lent_of(gl));
	rig_bast(gl, GLOCK__EX);
	l = lent_of(gl);
	assert_non_null(l);
	assert_int_equal(rig.space->lent.n, 1);
	assert_non_null(published(gl));
	rig_dq(&a);
	give_up(gl);
	assert_ptr_equal(lent_of(gl), l);
	glock_put(gl);
	assert_int_equal(rig.space->lent.n, 0);
	gl = rig_glock(GLOCK_INODE, 1);
	assert_null(lent_of(gl));
	assert_null(published(gl));
	glock_put(gl);
}

static void a_long_wait_lends_a_record(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);

	(void)state;
	rig_nq(&a, gl, GLOCK_SH, 0);
	rig_pass(1 * RIG_MS);
	rig_answer(0);
	assert_non_null(lent_of(gl));
	assert_int_equal(published(gl)->grants[GLOCK_SH], 1);
	rig_dq(&a);
	glock_put(gl);
}

/* Changes the policy as a demand or a miss does. */
static void set_policy(struct glock *gl, int value)
{
	gl_lock(gl);
	memset(glock__policy_edit(glock__lend(gl)), value, sizeof(struct glock__policy));
	gl_unlock(gl);
}

static void a_policy_comes_from_the_type_and_goes_back_to_it(void **state)
{
	static const struct glock__policy none;
	struct glock *gl = rig_glock(GLOCK_INODE, 1);
	struct glock__policy seven, first;

	(void)state;
	demand(gl);
	assert_memory_equal(&lent_of(gl)->policy, &none, sizeof(none));
	set_policy(gl, 7);
	memset(&seven, 7, sizeof(seven));
	assert_memory_equal(&published(gl)->policy, &seven, sizeof(seven));
	give_up(gl);
	glock_put(gl);
	gl = rig_glock(GLOCK_INODE, 2);
	first = glock__policy_of_type(gl);
	assert_memory_not_equal(&first, &none, sizeof(none));
	demand(gl);
	assert_memory_equal(&lent_of(gl)->policy, &first, sizeof(first));
	assert_memory_equal(&published(gl)->policy, &first, sizeof(first));
	give_up(gl);
	glock_put(gl);
	gl = rig_glock(GLOCK_JOURNAL, 1); /* another type */
	demand(gl);
	assert_memory_equal(&lent_of(gl)->policy, &none, sizeof(none));
	give_up(gl);
	glock_put(gl);
}

static void a_full_pool_takes_the_record_of_the_least_recently_busy(void **state)
{
	struct glock *gls[5];

	(void)state;
	rig.space->lent.max = 3;
	for (size_t i = 0; i < ARRAY_SIZE(gls); i++)
		gls[i] = rig_glock(GLOCK_JOURNAL, i + 1);
	for (size_t i = 0; i < 4; i++) {
		demand(gls[i]);
		give_up(gls[i]);
	}
	/* All were used, so the hand goes around once and takes the first. */
	assert_int_equal(rig.space->lent.n, 3);
	assert_null(lent_of(gls[0]));
	assert_null(published(gls[0]));
	assert_false(gls[0]->flags & GLOCK__F_BUSY && !glock__busy_of(gls[0])->more->counts.basts);
	demand(gls[1]); /* used again */
	give_up(gls[1]);
	demand(gls[4]);
	give_up(gls[4]);
	assert_int_equal(rig.space->lent.n, 3);
	assert_non_null(lent_of(gls[1]));
	assert_null(lent_of(gls[2]));
	assert_non_null(lent_of(gls[3]));
	assert_non_null(lent_of(gls[4]));
	/* The record of a glock whose lock is taken stays. */
	for (size_t i = 0; i < ARRAY_SIZE(gls); i++)
		glock__lock_take(&gls[i]->lock);
	rig.space->lent.max = 0;
	glock__lent_trim(rig.space);
	assert_int_equal(rig.space->lent.n, 3);
	for (size_t i = 0; i < ARRAY_SIZE(gls); i++)
		glock__lock_drop(&gls[i]->lock);
	glock__lent_trim(rig.space);
	assert_int_equal(rig.space->lent.n, 0);
	for (size_t i = 0; i < ARRAY_SIZE(gls); i++)
		glock_put(gls[i]);
}

/* More glocks than one chunk of the pool has records. */
static void many_records_come_and_go(void **state)
{
	static struct glock *gls[1000];

	(void)state;
	rig.space->lent.max = ARRAY_SIZE(gls);
	for (size_t i = 0; i < ARRAY_SIZE(gls); i++) {
		gls[i] = rig_glock(GLOCK_JOURNAL, i + 1);
		set_policy(gls[i], 1);
		assert_non_null(lent_of(gls[i]));
	}
	rig.space->lent.max = 0;
	for (int i = 0; i < 100; i++)
		glock__lent_trim(rig.space);
	assert_int_equal(rig.space->lent.n, 0);
	for (size_t i = 0; i < ARRAY_SIZE(gls); i++) {
		assert_false(gls[i]->flags & GLOCK__F_BUSY);
		glock_put(gls[i]);
	}
}

/* ---- what readers see ---------------------------------------------------------------------- */

static struct glock__lent_record read_record;

static bool take(void *arg, const struct glock__peek_glock *gl)
{
	const struct glock *wanted = arg;

	if (gl->r.number == wanted->number && gl->lent)
		read_record = *gl->lent;
	return true;
}

static void grants_are_counted_by_mode(void **state)
{
	struct glock *gl = rig_glock(GLOCK_INODE, 1);
	const struct glock__lent_record *r;

	(void)state;
	rig_hold(&a, gl, GLOCK_EX, 0);
	rig_bast(gl, GLOCK__EX);
	r = published(gl);
	rig_dq(&a);
	assert_int_equal(r->grants[GLOCK_EX], 1); /* before the record */
	rig_hold(&a, gl, GLOCK_EX, 0);
	rig_dq(&a);
	assert_int_equal(r->grants[GLOCK_EX], 2);
	give_up(gl);
	rig_hold(&a, gl, GLOCK_DF, 0);
	rig_dq(&a);
	rig_hold(&a, gl, GLOCK_SH, 0);
	rig_nq(&b, gl, GLOCK_SH, 0);
	rig_dq(&a);
	rig_dq(&b);
	assert_int_equal(r->grants[GLOCK_EX], 2);
	assert_int_equal(r->grants[GLOCK_DF], 1);
	assert_int_equal(r->grants[GLOCK_SH], 2);
	assert_int_equal(r->grants[GLOCK_UN], 0);
	glock_put(gl);
}

/* The grants of the fast path are counted by mode in the word, and may be taken back later. */
static void cached_grants_are_counted_by_mode(void **state)
{
	struct glock *gl = rig_glock(GLOCK_JOURNAL, 1);

	(void)state;
	set_policy(gl, 0);
	atom_add64(&gl->fast, 30000 * GLOCK__FAST_COUNT_SH + 10000 * GLOCK__FAST_COUNT_EX);
	gl_lock(gl);
	glock__fast_fold(gl);
	gl_unlock(gl);
	assert_int_equal(published(gl)->grants[GLOCK_SH], 30000);
	assert_int_equal(published(gl)->grants[GLOCK_EX], 10000);
	atom_sub64(&gl->fast, 2 * GLOCK__FAST_COUNT_SH - 3 * GLOCK__FAST_COUNT_EX);
	gl_lock(gl);
	glock__fast_fold(gl);
	gl_unlock(gl);
	assert_int_equal(published(gl)->grants[GLOCK_SH], 29998);
	assert_int_equal(published(gl)->grants[GLOCK_EX], 10003);
	assert_int_equal(gl_record(gl)->stats.v[GLOCK__QCOUNT], 40001);
	glock_put(gl);
}

static void times_are_counted_by_powers_of_two(void **state)
{
	struct glock *gl = rig_glock(GLOCK_JOURNAL, 1);
	uint64_t type[GLOCK__HISTOGRAM_MAX][GLOCK__BUCKETS];
	const struct glock__lent_record *r;

	(void)state;
	rig_hold(&b, gl, GLOCK_SH, 0); /* at once, so no wait */
	rig_dq(&b);
	rig_nq(&a, gl, GLOCK_EX, 0);
	rig_pass(3 * RIG_MS); /* the wait */
	rig_answer(0);
	r = published(gl);
	rig_pass(5 * RIG_MS);
	rig_bast(gl, GLOCK__EX);
	rig_pass(500 * RIG_MS); /* the hand-over waits for the holder */
	rig_dq(&a);
	rig_answer(0);
	assert_int_equal(gl->state, GLOCK_UN);
	assert_int_equal(r->histogram[GLOCK__WAITS][glock__bucket_of(3 * RIG_MS)], 1);
	assert_int_equal(r->histogram[GLOCK__HOLDS][glock__bucket_of(505 * RIG_MS)], 1);
	assert_int_equal(r->histogram[GLOCK__HANDOVERS][glock__bucket_of(500 * RIG_MS)], 1);
	assert_int_equal(glock__peek_read(peek, take, gl, NULL), 0);
	assert_memory_equal(&read_record, r, sizeof(*r));
	glock__peek_histograms(peek, GLOCK_JOURNAL, type);
	for (int i = 0; i < GLOCK__HISTOGRAM_MAX; i++)
		for (int k = 0; k < GLOCK__BUCKETS; k++)
			assert_int_equal(type[i][k], r->histogram[i][k]);
	glock__peek_histograms(peek, GLOCK_INODE, type);
	for (int k = 0; k < GLOCK__BUCKETS; k++)
		assert_int_equal(type[GLOCK__WAITS][k], 0);
	/* The glock goes, and the type keeps its counts. */
	glock_put(gl);
	glock__peek_histograms(peek, GLOCK_JOURNAL, type);
	assert_int_equal(type[GLOCK__HOLDS][glock__bucket_of(505 * RIG_MS)], 1);
}

/* A demote that the program itself wants is no hand-over. */
static void a_demote_of_this_node_is_no_hand_over(void **state)
{
	struct glock *gl = rig_glock(GLOCK_JOURNAL, 1);

	(void)state;
	set_policy(gl, 0);
	rig_hold(&a, gl, GLOCK_EX, GLOCK_NOCACHE);
	rig_dq(&a);
	rig_answer(0);
	assert_int_equal(gl->state, GLOCK_UN);
	for (int k = 0; k < GLOCK__BUCKETS; k++)
		assert_int_equal(published(gl)->histogram[GLOCK__HANDOVERS][k], 0);
	glock_put(gl);
}

static void buckets_cover_all_times(void **state)
{
	(void)state;
	assert_int_equal(glock__bucket_of(INT64_MIN), 0);
	assert_int_equal(glock__bucket_of(0), 0);
	assert_int_equal(glock__bucket_of(511), 0);
	assert_int_equal(glock__bucket_of(512), 1);
	assert_int_equal(glock__bucket_of(1023), 1);
	assert_int_equal(glock__bucket_of(1024), 2);
	assert_int_equal(glock__bucket_of(INT64_MAX), GLOCK__BUCKETS - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    LENT_TEST(a_demand_lends_a_record_until_the_glock_leaves_memory),
	    LENT_TEST(a_long_wait_lends_a_record),
	    LENT_TEST(a_policy_comes_from_the_type_and_goes_back_to_it),
	    LENT_TEST(a_full_pool_takes_the_record_of_the_least_recently_busy),
	    LENT_TEST(many_records_come_and_go),
	    LENT_TEST(grants_are_counted_by_mode),
	    LENT_TEST(cached_grants_are_counted_by_mode),
	    LENT_TEST(times_are_counted_by_powers_of_two),
	    LENT_TEST(a_demote_of_this_node_is_no_hand_over),
	    cmocka_unit_test(buckets_cover_all_times),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
