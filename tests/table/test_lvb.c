/* SPDX-License-Identifier: MIT */
/*
 * test_lvb.c - tests value blocks: the value that a holder reads, sequence numbers, and validity.
 */
#include "rig.h"

static struct rig rig;

static int open_rig(void **state)
{
	(void)state;
	rig_open(&rig, 64, GLOCK__TABLE_KEEP_DIED);
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

static void lvb_is(event_t event, const char *value, uint32_t seq, unsigned int sbflags)
{
	assert_int_equal(event.what & GLOCK__EVENT_LVB, GLOCK__EVENT_LVB);
	assert_string_equal((const char *)event.lvb, value);
	assert_int_equal(event.lvb_seq, seq);
	assert_int_equal(event.sbflags, sbflags);
}

static void no_lvb(event_t event, unsigned int sbflags)
{
	assert_int_equal(event.what & GLOCK__EVENT_LVB, 0);
	assert_int_equal(event.sbflags, sbflags);
}

static void written_by_unlock(void **state)
{
	event_t keeper = lock(0, NL, 0), a;

	(void)state;
	/* No holder has written it yet. */
	no_lvb(lock(1, NL, F(VALBLK)), 0);
	a = lock(1, EX, F(VALBLK));
	rig_unlock(&rig, a.lkid, F(VALBLK), "one");
	a = lock(1, PW, F(VALBLK));
	lvb_is(a, "one", 1, 0);
	/* The flag of the last request still holds. */
	rig_unlock(&rig, a.lkid, 0, "two");
	a = lock(1, PR, F(VALBLK));
	lvb_is(a, "two", 2, 0);
	/* A mode below PW does not write it. */
	rig_unlock(&rig, a.lkid, F(VALBLK), "three");
	a = lock(1, EX, 0);
	no_lvb(a, 0);
	/* A lock that never asked for the block cannot write it. */
	rig_unlock(&rig, a.lkid, F(VALBLK), "four");
	/* The block has no value to write, either. */
	a = lock(1, EX, F(VALBLK));
	rig_unlock(&rig, a.lkid, F(VALBLK), NULL);
	lvb_is(rig_convert(&rig, keeper.lkid, CR, F(VALBLK)), "two", 2, 0);
}

static void gone_with_the_last_lock(void **state)
{
	event_t a = lock(0, EX, F(VALBLK));

	(void)state;
	rig_unlock(&rig, a.lkid, F(VALBLK), "one");
	assert_int_equal(rig.t->nres, 0);
	no_lvb(lock(0, EX, F(VALBLK)), 0);
}

/* A waiter reads the value at its grant, not at the time of its look. */
static void read_at_the_time_of_the_grant(void **state)
{
	event_t writer = lock(0, EX, F(VALBLK)), reader = lock(1, CR, F(VALBLK));

	(void)state;
	rig_convert_lvb(&rig, writer.lkid, PW, F(VALBLK), "one");
	rig_convert_lvb(&rig, writer.lkid, PW, F(VALBLK), "two");
	lvb_is(rig_take(&rig, 1), "one", 1, 0);
	assert_int_equal(rig_peek(&rig, reader.lkid)->lvb, 0);
	lvb_is(rig_convert(&rig, reader.lkid, CR, F(VALBLK)), "two", 2, 0);
}

static void invalidated(void **state)
{
	event_t keeper = lock(0, CR, F(VALBLK)), a = lock(1, PW, F(VALBLK));

	(void)state;
	/* A reader is not told that a block became invalid before its first value. */
	rig_convert(&rig, a.lkid, NL, F(IVVALBLK));
	no_lvb(rig_convert(&rig, a.lkid, PW, F(VALBLK)), 0);
	rig_convert_lvb(&rig, a.lkid, NL, F(VALBLK), "one");
	lvb_is(rig_convert(&rig, a.lkid, PW, F(VALBLK)), "one", 1, 0);
	rig_convert(&rig, a.lkid, NL, F(VALBLK) | F(IVVALBLK));
	lvb_is(rig_convert(&rig, a.lkid, PW, F(VALBLK)), "one", 1, GLOCK__SBF_VALNOTVALID);
	/* A reader without VALBLK is not told. A lock that neither reads nor writes is told. */
	no_lvb(rig_convert(&rig, keeper.lkid, CR, 0), 0);
	no_lvb(rig_convert(&rig, keeper.lkid, NL, 0), GLOCK__SBF_VALNOTVALID);
	rig_unlock(&rig, a.lkid, F(VALBLK), "two");
	lvb_is(rig_convert(&rig, keeper.lkid, PR, F(VALBLK)), "two", 2, 0);
	/* Below PW there is nothing to invalidate. */
	a = lock(1, PR, 0);
	rig_unlock(&rig, a.lkid, F(IVVALBLK), NULL);
	lvb_is(rig_convert(&rig, keeper.lkid, PR, F(VALBLK)), "two", 2, 0);
	rig_convert(&rig, keeper.lkid, EX, 0);
	rig_unlock(&rig, keeper.lkid, F(IVVALBLK), NULL);
}

/* A conversion that gave way to a deadlock reads, because its mode allows no write any more. */
static void demoted_reads(void **state)
{
	event_t a = lock(0, CW, 0), b = lock(1, NL, 0), w = lock(2, NL, F(VALBLK)), event;

	(void)state;
	rig_unlock(&rig, a.lkid, 0, NULL);
	rig_convert(&rig, w.lkid, EX, F(VALBLK));
	rig_convert_lvb(&rig, w.lkid, NL, F(VALBLK), "one");
	a = lock(0, CW, 0);
	rig_convert(&rig, b.lkid, PR, 0);
	event = rig_convert_lvb(&rig, a.lkid, PR, F(QUECVT) | F(CONVDEADLK) | F(VALBLK), "mine");
	assert_int_equal(event.status, 0);
	lvb_is(event, "one", 1, GLOCK__SBF_DEMOTED);
	assert_int_equal(rig_peek(&rig, a.lkid)->lvb, 0);
}

/* PW that waits for EX and is granted PR instead writes the value of its request. */
static void written_when_granted_later(void **state)
{
	event_t a = lock(0, PW, F(VALBLK)), b = lock(1, CR, F(VALBLK)), c = lock(2, CR, 0);

	(void)state;
	assert_int_equal(rig_convert(&rig, c.lkid, PW, 0).status, -EINPROGRESS);
	assert_int_equal(rig_convert_lvb(&rig, a.lkid, EX,
					 F(VALBLK) | F(QUECVT) | F(ALTPR) | F(NODLCKWT), "later")
			     .status,
			 -EINPROGRESS);
	rig_take_all(&rig);
	assert_int_equal(rig_unlock(&rig, c.lkid, F(CANCEL), NULL).status, -GLOCK__DLM_ECANCEL);
	rig_expect_ast(&rig, 0, a.lkid, PR);
	lvb_is(rig_convert(&rig, b.lkid, CR, F(VALBLK)), "later", 1, 0);
}

static void cancel_drops_the_copy(void **state)
{
	event_t a = lock(0, EX, F(VALBLK)), b = lock(1, NL, F(EXPEDITE));

	(void)state;
	rig_convert(&rig, b.lkid, PR, F(VALBLK));
	assert_int_not_equal(rig_peek(&rig, b.lkid)->lvb, 0);
	rig_unlock(&rig, b.lkid, F(CANCEL), NULL);
	assert_int_equal(rig_peek(&rig, b.lkid)->lvb, 0);
	rig_convert(&rig, b.lkid, PR, F(VALBLK));
	rig_unlock(&rig, b.lkid, F(FORCEUNLOCK), NULL);
	rig_unlock(&rig, a.lkid, 0, NULL);
	assert_int_equal(rig.t->nfree, rig.t->cells_used - 1);
}

/* ---- death ---- */

static void death_of_a_writer(void **state)
{
	event_t dead = lock(0, EX, F(VALBLK)), next = lock(1, PR, F(VALBLK)), event;

	(void)state;
	rig_convert_lvb(&rig, dead.lkid, EX, F(VALBLK), "half");
	glock__table_purge(rig.t, 0, 1);
	event = rig_take(&rig, 1);
	assert_int_equal(event.lkid, next.lkid);
	lvb_is(event, "half", 1, GLOCK__SBF_VALNOTVALID | GLOCK__SBF_OWNER_DIED);
	/*
	 * All holders are told of the death until one has PW or EX. The value is not valid until it
	 * is written.
	 */
	event = lock(2, PR, 0);
	assert_int_equal(event.sbflags, GLOCK__SBF_OWNER_DIED);
	rig_unlock(&rig, event.lkid, 0, NULL);
	event = rig_convert(&rig, next.lkid, EX, F(VALBLK));
	lvb_is(event, "half", 1, GLOCK__SBF_VALNOTVALID | GLOCK__SBF_OWNER_DIED);
	event = rig_convert(&rig, next.lkid, EX, 0);
	assert_int_equal(event.sbflags, 0);
	rig_convert(&rig, next.lkid, NL, 0);
	lvb_is(rig_convert(&rig, next.lkid, PR, F(VALBLK)), "half", 1, GLOCK__SBF_VALNOTVALID);
	rig_convert(&rig, next.lkid, EX, 0);
	rig_unlock(&rig, next.lkid, F(VALBLK), "whole");
	assert_int_equal(rig.t->nres, 0);
}

/* The resource stays until a lock that can repair it was told. */
static void death_without_witnesses(void **state)
{
	struct glock__table_usage usage;
	event_t event;

	(void)state;
	lock(0, EX, 0);
	glock__table_purge(rig.t, 0, 1);
	rig_check(&rig);
	glock__table_usage(rig.t, &usage);
	assert_int_equal(usage.resources, 1);
	assert_int_equal(usage.idle, 1);
	event = lock(1, PR, F(VALBLK));
	lvb_is(event, "", 0, GLOCK__SBF_VALNOTVALID | GLOCK__SBF_OWNER_DIED);
	rig_unlock(&rig, event.lkid, 0, NULL);
	glock__table_usage(rig.t, &usage);
	assert_int_equal(usage.idle, 1);
	event = lock(1, PW, 0);
	assert_int_equal(event.sbflags, GLOCK__SBF_OWNER_DIED);
	rig_unlock(&rig, event.lkid, 0, NULL);
	assert_int_equal(rig.t->nres, 0);
	/* A second death starts this anew. */
	lock(0, PW, 0);
	glock__table_purge(rig.t, 0, 1);
	lock(1, EX, 0);
	glock__table_purge(rig.t, 1, 1);
	assert_int_equal(lock(2, EX, 0).sbflags, GLOCK__SBF_OWNER_DIED);
	rig_check(&rig);
}

/*
 * A holder was told of a death but could not pass this on. It gives the death back, and the
 * resource is as after the death.
 */
static void death_given_back(void **state)
{
	static const int down[] = {NL, CW, PR};
	event_t event;

	(void)state;
	event = lock(0, EX, F(VALBLK));
	rig_convert_lvb(&rig, event.lkid, EX, F(VALBLK), "half");
	glock__table_purge(rig.t, 0, 1);
	event = lock(1, EX, F(VALBLK));
	for (size_t i = 0; i < sizeof(down) / sizeof(*down); i++) {
		lvb_is(event, "half", 1, GLOCK__SBF_VALNOTVALID | GLOCK__SBF_OWNER_DIED);
		/* The value in this call is not written. */
		event = rig_convert_lvb(&rig, event.lkid, down[i], F(VALBLK) | F(DEATH_UNREPORTED),
					"not it");
		no_lvb(event, GLOCK__SBF_VALNOTVALID | GLOCK__SBF_OWNER_DIED);
		event = rig_convert(&rig, event.lkid, EX, F(VALBLK));
	}
	/* Without a lock the resource stays, as after the death. */
	rig_unlock(&rig, event.lkid, F(DEATH_UNREPORTED), NULL);
	rig_check(&rig);
	assert_int_equal(rig.t->nidle, 1);
	event = lock(2, PW, 0);
	assert_int_equal(event.sbflags, GLOCK__SBF_OWNER_DIED);
	/* A lock in a mode without writes has no death to give back. */
	event = rig_convert(&rig, event.lkid, PR, 0);
	event = rig_convert(&rig, event.lkid, NL, F(DEATH_UNREPORTED));
	assert_int_equal(lock(1, EX, 0).sbflags & GLOCK__SBF_OWNER_DIED, 0);
	rig_unlock(&rig, event.lkid, F(DEATH_UNREPORTED), NULL);
	assert_false(rig_res(&rig, "r")->flags & RES_DIED);
}

static event_t lock_and_unlock(int mode, uint32_t flags, const char *name)
{
	event_t event = flags ? rig_lock_lvb(&rig, 2, mode, flags, name, "value")
			      : rig_lock(&rig, 2, mode, 0, name);

	rig_unlock(&rig, event.lkid, flags, flags ? "written" : NULL);
	rig_check(&rig);
	return event;
}

/* The deaths of locks 0 to 9. Node 1 keeps lock 5. */
static void ten_deaths(void)
{
	char name[8];

	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "%d", i);
		rig_lock(&rig, 0, EX, F(VALBLK), name);
	}
	rig_lock(&rig, 1, NL, F(EXPEDITE), "5");
	glock__table_purge(rig.t, 0, 10);
	assert_int_equal(rig.t->nidle, 9);
}

/* The table frees the resources of deaths, and reports each death all the same: until EX was told.
 */
static void death_compressed(void **state)
{
	char name[8];

	(void)state;
	ten_deaths();
	assert_int_equal(glock__table_forget(rig.t, UINT32_MAX), 9);
	rig_check(&rig);
	assert_int_equal(rig.t->nres, 1);
	assert_int_equal(glock__table_forget(rig.t, UINT32_MAX), 0);
	assert_int_equal(rig_lock(&rig, 2, EX, 0, "5").sbflags, GLOCK__SBF_OWNER_DIED);
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "%d", i);
		if (i == 5)
			continue;
		assert_int_equal(lock_and_unlock(PR, 0, name).sbflags, GLOCK__SBF_OWNER_DIED);
		assert_null(rig_res(&rig, name));
		assert_int_equal(lock_and_unlock(EX, 0, name).sbflags, GLOCK__SBF_OWNER_DIED);
		assert_int_equal(lock_and_unlock(EX, F(VALBLK), name).sbflags, 0);
		/* The value ended with the last lock. */
		no_lvb(lock_and_unlock(EX, F(VALBLK), name), 0);
	}
}

/* Told resources go first, and then tell again. Other deaths wait for a call that needs more. */
/* Promises: glock_owner_died: "For each lock". */
static void death_compressed_again(void **state)
{
	char name[8];
	int left = 0, idle;

	(void)state;
	ten_deaths();
	assert_in_range(glock__table_forget(rig.t, 1), 1, 8); /* the deaths of one bucket */
	rig_check(&rig);
	idle = (int)rig.t->nidle;
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "%d", i);
		if (i == 5 || rig_res(&rig, name))
			continue;
		assert_int_equal(lock_and_unlock(EX, 0, name).sbflags, GLOCK__SBF_OWNER_DIED);
		assert_int_equal(rig.t->nidle, idle + 1);
		assert_int_equal(glock__table_forget(rig.t, 1), 1);
		assert_null(rig_res(&rig, name));
		assert_int_equal(lock_and_unlock(EX, 0, name).sbflags, GLOCK__SBF_OWNER_DIED);
		assert_int_equal(lock_and_unlock(EX, 0, name).sbflags, 0);
		assert_int_equal(glock__table_forget(rig.t, 1), 1);
	}
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "%d", i);
		left += rig_res(&rig, name) && rig_res(&rig, name)->flags & RES_DIED;
	}
	assert_int_equal(left, idle + 1); /* and lock 5 */
	/* A death that is given back in a marked bucket. */
	glock__table_forget(rig.t, UINT32_MAX);
	rig_unlock(&rig, rig_lock(&rig, 2, EX, 0, "3").lkid, F(DEATH_UNREPORTED), NULL);
	rig_check(&rig);
	assert_int_equal(lock_and_unlock(EX, 0, "3").sbflags, GLOCK__SBF_OWNER_DIED);
	assert_int_equal(lock_and_unlock(EX, 0, "3").sbflags, 0);
}

static void death_as_in_the_kernel(void **state)
{
	(void)state;
	rig_close(&rig);
	rig_open(&rig, 64, 0);
	lock(0, EX, F(VALBLK));
	glock__table_purge(rig.t, 0, 1);
	assert_int_equal(rig.t->nres, 0);
	lock(0, EX, 0);
	lock(1, NL, F(EXPEDITE));
	glock__table_purge(rig.t, 0, 1);
	assert_int_equal(lock(2, EX, 0).sbflags, GLOCK__SBF_OWNER_DIED);
}

static void death_of_a_reader(void **state)
{
	event_t keeper = lock(1, NL, F(VALBLK)), writer = lock(2, EX, F(VALBLK));

	(void)state;
	rig_unlock(&rig, writer.lkid, F(VALBLK), "one");
	lock(0, PR, F(VALBLK));
	lock(0, CR, F(VALBLK));
	glock__table_purge(rig.t, 0, 2);
	lvb_is(rig_convert(&rig, keeper.lkid, PR, F(VALBLK)), "one", 1, 0);
	/* A writer that only waited wrote nothing. */
	lock(0, EX, F(VALBLK));
	glock__table_purge(rig.t, 0, 1);
	lvb_is(rig_convert(&rig, keeper.lkid, PR, F(VALBLK)), "one", 1, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_rig, close_rig)

int test_lvb(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(written_by_unlock),
	    TEST(gone_with_the_last_lock),
	    TEST(read_at_the_time_of_the_grant),
	    TEST(invalidated),
	    TEST(demoted_reads),
	    TEST(written_when_granted_later),
	    TEST(cancel_drops_the_copy),
	    TEST(death_of_a_writer),
	    TEST(death_without_witnesses),
	    TEST(death_given_back),
	    TEST(death_compressed),
	    TEST(death_compressed_again),
	    TEST(death_as_in_the_kernel),
	    TEST(death_of_a_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
