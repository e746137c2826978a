/* SPDX-License-Identifier: MIT */
/*
 * test_choice.c - tests waits, use times and refusals as numbers, and which glock is congested.
 */
#include "glock-choose.h"

#include "glock/stats/choice.h"

#include "rig.h"

/*
 * Promises: glock_choose: "The wait has", "Each failed request", "Each further refusal"; use: "from
 * the grant".
 */
static void choice_wait_gets_old(void **state)
{
	const struct glock__stats s = {
	    .v = {[GLOCK__SRTT] = 1000, [GLOCK__SRTTB] = 9000, [GLOCK__SRTTVARB] = 2000}};
	const struct glock__stats nothing = {0};
	struct glock__choice_policy c = {0};

	(void)state;
	assert_int_equal(glock__choice_wait(&nothing, &c, 0), -1);
	assert_int_equal(glock__choice_wait(&s, &c, 0), 11000);
	assert_int_equal(glock__choice_wait(&s, &c, 2000 * RIG_MS), 6000);
	glock__choice_failed(&c, 0);
	assert_int_equal(glock__choice_wait(&s, &c, 0), 22000);
	for (int i = 0; i < 9; i++)
		glock__choice_failed(&c, 0);
	assert_int_equal(glock__choice_wait(&s, &c, 0), 64 * 11000);
	assert_true(glock__choice_refused(&c, 7990 * RIG_MS));
	assert_false(glock__choice_refused(&c, 8010 * RIG_MS));
	glock__choice_granted(&c);
	assert_int_equal(glock__choice_wait(&s, &c, 0), 11000);
	assert_int_equal(glock__choice_use(&c), -1);
	for (int i = 0; i < GLOCK__USES_KNOWN; i++)
		glock__choice_used(&c, 5000 * RIG_MS);
	assert_int_equal(glock__choice_use(&c), UINT32_MAX);
}

static double exponential(uint64_t *dice)
{
	double x = 0;

	/* The sum of twelve uniform numbers is nearly normal. Its square has a long tail, too. */
	for (int i = 0; i < 12; i++) {
		*dice = *dice * 6364136223846793005u + 1442695040888963407u;
		x += (double)(*dice >> 33) / (double)(1u << 31);
	}
	return (x - 6) * (x - 6);
}

/* Counts the congested glocks among 1000 whose waits are `times` as long as those of others. */
static unsigned int congested_of_1000(double times)
{
	unsigned int n = 0;
	uint64_t dice = 1;

	for (int run = 0; run < 1000; run++) {
		struct glock__stats own = {0}, type = {0};

		for (int i = 0; i < 200; i++) {
			double mine = i % 10 == 0 ? times : 1;
			int64_t sample = (int64_t)(1e6 * mine * exponential(&dice));

			glock__stats_sample(&type.v[GLOCK__SRTTB], sample);
			type.v[GLOCK__DCOUNT]++;
			if (i % 10)
				continue;
			glock__stats_sample(&own.v[GLOCK__SRTTB], sample);
			own.v[GLOCK__DCOUNT]++;
		}
		n += glock__choice_congested(&own, &type) == 1;
	}
	return n;
}

/* Promises: glock_congested: "Returns 1 if", "-ENODATA not known". */
static void congested_is_significant(void **state)
{
	struct glock__stats own = {.v = {[GLOCK__SRTTB] = 5000, [GLOCK__SRTTVARB] = 3000}};
	struct glock__stats type = {.v = {[GLOCK__SRTTB] = 1000, [GLOCK__SRTTVARB] = 2000}};

	(void)state;
	assert_int_equal(glock__choice_congested(&own, &type), -1);
	own.v[GLOCK__DCOUNT] = 8;
	type.v[GLOCK__DCOUNT] = 16;
	assert_int_equal(glock__choice_congested(&own, &type), 1); /* 4000 > 2550 */
	own.v[GLOCK__SRTTB] = 3500;
	assert_int_equal(glock__choice_congested(&own, &type), 0); /* 2500 < 2550 */
	own.v[GLOCK__SRTTB] = 500;
	assert_int_equal(glock__choice_congested(&own, &type), 0); /* shorter */
	/* A chance fluctuation is rare, and a glock that is 20 times slower is found. */
	assert_true(congested_of_1000(1) < 50);
	assert_true(congested_of_1000(20) > 500);
}

/* Takes the glock after that wait, and gives it up as for another node. */
static void use_after(struct glock *gl, int64_t wait)
{
	struct glock_holder gh;

	rig_nq(&gh, gl, GLOCK_EX, 0);
	rig_pass(wait);
	rig_answer(0);
	rig_dq(&gh);
	rig_pass(201 * RIG_MS);
	rig_bast(gl, GLOCK__EX);
	rig_answer(0);
}

/* Promises: glock_congested: "Returns 1 if", "-ENODATA not known". */
static void congested_says_unknown(void **state)
{
	enum { SLOW = 6, USES = 30 };
	struct glock *gl[SLOW + 1];

	(void)state;
	for (unsigned int i = 0; i <= SLOW; i++)
		gl[i] = rig_glock(GLOCK_META, i + 1);
	assert_int_equal(glock_congested(*gl), -ENODATA);
	for (unsigned int i = 0; i < USES * SLOW; i++)
		use_after(gl[i % SLOW], RIG_MS);
	for (unsigned int i = 0; i < USES; i++)
		use_after(gl[SLOW], 50 * RIG_MS);
	for (unsigned int i = 0; i < USES * SLOW; i++) /* the type has forgotten the slow one */
		use_after(gl[i % SLOW], RIG_MS);
	*rig.log = '\0';
	assert_int_equal(glock_congested(*gl), 0);
	assert_int_equal(glock_congested(gl[SLOW]), 1);
	rig_expect("");
	for (unsigned int i = 0; i <= SLOW; i++)
		glock_put(gl[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(choice_wait_gets_old),
	    cmocka_unit_test(congested_is_significant),
	    RIG_TEST(congested_says_unknown),
	};

	return RUN_TESTS(tests);
}
