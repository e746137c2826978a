/* SPDX-License-Identifier: MIT */
/*
 * test_choose.c - tests the choice among equal glocks, and what a node says of a glock.
 *
 * The test is the lock manager and the clock, see rig.h. The spaces of the rig keep a trace, so no
 * glock takes the fast path. bench/choice covers the fast path. test_choice.c has the arithmetic.
 */
#include "glock-choose.h"

#include "glock/core/lent.h"
#include "glock/state/busy.h"
#include "glock/stats/choice.h"

#include "rig.h"

#include <unistd.h>

enum { N = 7, USE_US = 10 };
#define RIG_US 1000ll

static struct glock *groups[N];
static struct glock_holder gh;

static void open_groups(void)
{
	for (size_t i = 0; i < N; i++)
		groups[i] = rig_glock(GLOCK_META, i + 1);
	*rig.log = '\0';
}

static void put_groups(void)
{
	for (size_t i = 0; i < N; i++)
		if (groups[i])
			glock_put(groups[i]);
}

static int choose(unsigned int flags)
{
	return glock_choose(N, groups, GLOCK_EX, flags);
}

static struct glock_forecast forecast(size_t i)
{
	struct glock_forecast f = {.size = sizeof(f)};

	assert_int_equal(glock_forecast(groups[i], GLOCK_EX, &f), 0);
	return f;
}

/* Takes EX and drops it, as another user of the glock would. */
static void cache(size_t i)
{
	rig_hold(&gh, groups[i], GLOCK_EX, 0);
	rig_dq(&gh);
}

static void refuse(size_t i)
{
	rig_nq(&gh, groups[i], GLOCK_EX, GLOCK__TRY_NOQUEUE);
	rig_answer(-EAGAIN);
	assert_int_equal(glock_wait(&gh, 0, 0), -EAGAIN);
}

/* Gives a cached glock up, as for another node. */
static void give_up(size_t i)
{
	rig_pass(201 * RIG_MS);
	rig_bast(groups[i], GLOCK__EX);
	rig_answer(0);
}

/* Chooses and uses a glock until its use time is known. Returns the index of the last answer. */
static int learn(size_t i, int64_t use)
{
	struct glock *only[N] = {0};
	int answer = -1;

	only[i] = groups[i];
	for (int k = 0; k < GLOCK__USES_KNOWN; k++) {
		answer = glock_choose(N, only, GLOCK_EX, 0);
		rig_nq(&gh, groups[i], GLOCK_EX, 0);
		if (rig.open)
			rig_answer(0);
		rig_pass(use);
		rig_dq(&gh);
	}
	assert_int_equal(forecast(i).use, use);
	*rig.log = '\0';
	return answer;
}

/* The choice asked for nothing and changed no lock. `free` is the only cached glock; N: none is. */
static void expect_unchanged(size_t free)
{
	rig_expect("");
	for (size_t i = 0; i < N; i++)
		if (groups[i])
			assert_int_equal(groups[i]->state, i == free ? GLOCK_EX : GLOCK_UN);
}

/*
 * Promises: glock_choose: "Returns the index", "The function makes"; GLOCK_PLACE_FREE: "cached on
 * this".
 */
static void choose_free_first(void **state)
{
	(void)state;
	open_groups();
	cache(2);
	*rig.log = '\0';
	assert_int_equal(forecast(2).place, GLOCK_PLACE_FREE);
	assert_int_equal(forecast(2).wait, 0);
	assert_int_equal(forecast(1).place, GLOCK_PLACE_ELSEWHERE);
	for (unsigned int k = 0; k < 200; k++) {
		assert_int_equal(choose(k % 2 ? GLOCK_CHOOSE_TRY : 0), 2);
		expect_unchanged(2);
	}
	assert_int_equal(glock_choose(N, groups, GLOCK_SH, 0), 2);
	expect_unchanged(2);
	put_groups();
}

/* A thread stays with the glock of its last answer. */
/* Promises: glock_choose: "The last answer". */
static void choose_stays(void **state)
{
	int first;

	(void)state;
	open_groups();
	for (size_t i = 0; i < N; i++)
		cache(i);
	first = choose(0);
	for (int k = 0; k < 300; k++) {
		struct glock_holder other;

		assert_int_equal(choose(0), first);
		rig_nq(&other, groups[first], GLOCK_EX, 0);
		rig_dq(&other);
	}
	/* While the glock is held, another free one is the answer. */
	rig_nq(&gh, groups[first], GLOCK_EX, 0);
	assert_int_not_equal(choose(0), first);
	assert_true(choose(0) >= 0);
	rig_dq(&gh);
	put_groups();
}

/* Promises: glock_choose: "So is a", "Each further refusal", "-EAGAIN with TRY". */
static void choose_skips_refused(void **state)
{
	int counts[N] = {0};

	(void)state;
	open_groups();
	refuse(0);
	refuse(1);
	assert_true(forecast(0).refused);
	assert_false(forecast(2).refused);
	for (int k = 0; k < 50; k++) {
		counts[choose(GLOCK_CHOOSE_TRY)]++;
		rig_pass(RIG_MS);
	}
	assert_int_equal(counts[0] + counts[1], 0);
	for (size_t i = 2; i < N; i++)
		refuse(i);
	assert_int_equal(choose(GLOCK_CHOOSE_TRY), -EAGAIN);
	assert_true(choose(0) >= 0);
	rig_pass(1100 * RIG_MS);
	assert_false(forecast(0).refused);
	assert_true(choose(GLOCK_CHOOSE_TRY) >= 0);
	/* After the second refusal in a row the try is skipped for 2 s. */
	refuse(0);
	rig_pass(1100 * RIG_MS);
	assert_true(forecast(0).refused);
	rig_pass(1100 * RIG_MS);
	assert_false(forecast(0).refused);
	put_groups();
}

/* Other nodes use each group for 5 ms, but group 2 for 1 ms. */
static void learn_waits(void)
{
	for (int k = 0; k < 20; k++) {
		for (size_t i = 0; i < N; i++) {
			rig_nq(&gh, groups[i], GLOCK_EX, 0);
			rig_pass((i == 2 ? 1 : 5) * RIG_MS); /* until the grant */
			rig_answer(0);
			rig_dq(&gh);
			give_up(i);
		}
	}
	*rig.log = '\0';
}

/* Without a free glock, the one with the shortest wait comes first. */
/* Promises: glock_choose: "Returns the index", "The glock with the", "The function makes". */
static void choose_shortest_wait(void **state)
{
	(void)state;
	open_groups();
	learn_waits();
	assert_true(forecast(2).wait < forecast(1).wait);
	assert_true(forecast(2).wait > 0);
	assert_int_equal(choose(0), 2);
	assert_int_equal(choose(GLOCK_CHOOSE_TRY), 2);
	expect_unchanged(N);
	groups[2] = (glock_put(groups[2]), NULL);
	assert_int_not_equal(choose(0), 2);
	put_groups();
}

static void choose_leaves_slow(void **state)
{
	struct glock *others[N];
	int answer;

	(void)state;
	open_groups();
	learn(0, 100 * USE_US * RIG_US);
	learn(1, USE_US * RIG_US);
	learn(3, USE_US * RIG_US);
	choose(0); /* looks at all, and so knows the shortest use time */
	/* The last answer is the slow one. */
	for (size_t i = 1; i < N; i++)
		others[i] = groups[i], groups[i] = NULL;
	assert_int_equal(choose(0), 0);
	for (size_t i = 1; i < N; i++)
		groups[i] = others[i];
	choose(0); /* this look finds the shortest use time again, and the next one knows it */
	for (int k = 0; k < 100; k++) {
		answer = choose(0);
		assert_true(answer == 1 || answer == 3);
	}
	/* The slow one is better than none. */
	groups[1] = (glock_put(groups[1]), NULL);
	groups[3] = (glock_put(groups[3]), NULL);
	refuse(2);
	*rig.log = '\0';
	choose(0); /* may ask for a glock elsewhere, once in a while */
	assert_int_equal(choose(0), 0);
	put_groups();
}

static void set_use(size_t i, uint32_t use, uint32_t deviation)
{
	struct glock__choice_policy *c;

	gl_lock(groups[i]);
	c = &glock__policy_edit(glock__lend(groups[i]))->choice;
	c->use = use;
	c->use_var = deviation;
	gl_unlock(groups[i]);
}

/* Many answers, so that some of them look at all glocks. Returns the last one. */
static int choose_often(void)
{
	int answer = -1;

	for (int k = 0; k < 200; k++)
		answer = choose(0);
	return answer;
}

/* Half of the deviation counts for the glock: a use time that varies says less. */
static void choose_slow_less_deviation(void **state)
{
	const uint32_t us = USE_US * RIG_US;
	struct glock *other;

	(void)state;
	open_groups();
	learn(0, us);
	learn(1, us);
	set_use(0, 3 * us, 2 * us);
	other = groups[1];
	groups[1] = NULL;
	assert_int_equal(choose_often(), 0);
	groups[1] = other;
	assert_int_equal(choose_often(), 0);
	set_use(0, 3 * us, us / 2);
	assert_int_equal(choose_often(), 1);
	put_groups();
}

/* The last waiter of a queue waits for all before it. */
/* Promises: glock_forecast: "Stores the expectations". */
static void choose_forecasts_queue(void **state)
{
	struct glock_holder other;
	struct glock_forecast f;

	(void)state;
	open_groups();
	assert_int_equal(forecast(0).wait, -1);
	assert_int_equal(forecast(0).use, -1);
	assert_int_equal(forecast(0).use_var, -1);
	learn(0, USE_US * RIG_US);
	glock_holder_init(&gh, groups[0], GLOCK_EX, GLOCK_ASYNC | GLOCK_NOPID);
	assert_int_equal(glock_nq(&gh), 0);
	glock_holder_init(&other, groups[0], GLOCK_EX, GLOCK_ASYNC | GLOCK_NOPID);
	assert_int_equal(glock_nq(&other), 0);
	f = forecast(0);
	assert_int_equal(f.place, GLOCK_PLACE_HELD);
	assert_int_equal(f.queue, 2);
	assert_int_equal(f.wait, 2 * USE_US * RIG_US);
	glock_dq(&other);
	glock_dq(&gh);
	put_groups();
}

/* The time between a grant and the release is measured, not the wait before. */
/* Promises: use: "from the grant"; glock_forecast: "The use time". */
static void choose_measures_use(void **state)
{
	(void)state;
	open_groups();
	choose(0);
	for (int k = 0; k < 3; k++) {
		learn(0, USE_US * RIG_US);
		give_up(0);
		assert_true(glock_choose(1, groups, GLOCK_EX, 0) == 0);
		rig_nq(&gh, groups[0], GLOCK_EX, 0);
		rig_pass(50 * RIG_MS);
		rig_answer(0);
		rig_pass(USE_US * RIG_US);
		rig_dq(&gh);
		assert_int_equal(forecast(0).use, USE_US * RIG_US);
	}
	/* An answer alone does not keep the glock off the fast path for ever. */
	assert_int_equal(choose(0), 0);
	rig_nq(&gh, groups[0], GLOCK_EX, 0);
	rig_dq(&gh);
	put_groups();
}

/* Counts the answers of a second, in steps of 20 ms, that take glock 1 from its node. */
static unsigned int fetched_in_a_second(void)
{
	unsigned int n = 0;

	for (int k = 0; k < 50; k++) {
		n += choose(0) == 1;
		rig_pass(20 * RIG_MS);
	}
	return n;
}

/* Glock 1 comes after that time. The lock manager answers a request without a wait after 1 ms. */
static void learn_wait(int64_t wait)
{
	for (int k = 0; k < 20; k++) {
		rig_nq(&gh, groups[1], GLOCK_EX, 0);
		rig_pass(wait);
		rig_answer(0);
		rig_dq(&gh);
		rig_pass(201 * RIG_MS);
		rig_bast(groups[1], GLOCK__EX);
		rig_pass(RIG_MS);
		rig_answer(0);
	}
}

/*
 * The only cached glock is slow. A glock that its node gives away quickly is fetched often, and one
 * that its node uses is fetched seldom.
 */
static void choose_fetches_idle(void **state)
{
	(void)state;
	open_groups();
	for (size_t i = 2; i < N; i++)
		groups[i] = (glock_put(groups[i]), NULL);
	learn(0, 10 * USE_US * RIG_US);
	learn(1, USE_US * RIG_US);
	give_up(1);
	learn_wait(RIG_MS);
	choose(0); /* the next look knows the shortest use time */
	assert_true(fetched_in_a_second() >= 10);
	learn_wait(20 * RIG_MS);
	assert_true(fetched_in_a_second() <= 1);
	put_groups();
}

/* With TRY a node learns the use times of other glocks, but not all the time. */
/* Promises: glock_choose: "That happens once". */
static void choose_explores(void **state)
{
	unsigned int others = 0;

	(void)state;
	open_groups();
	learn(0, USE_US * RIG_US);
	for (int k = 0; k < 4000; k++) {
		int i = choose(GLOCK_CHOOSE_TRY);

		assert_true(i >= 0);
		others += i != 0;
		if (i) /* taken by another node */
			refuse((size_t)i);
		rig_pass(RIG_MS);
	}
	assert_true(others >= 3);
	assert_true(others < 40);
	/* Without TRY the answer would make the program wait, so it is the free one. */
	for (int k = 0; k < 3000; k++) {
		assert_int_equal(choose(0), 0);
		rig_pass(RIG_MS);
	}
	put_groups();
}

/* Counts the answers of `ms` milliseconds that are not glock 0. */
static unsigned int others_in(int ms)
{
	unsigned int others = 0;

	for (int k = 0; k < ms; k++) {
		others += choose(GLOCK_CHOOSE_TRY) != 0;
		rig_pass(RIG_MS);
	}
	return others;
}

/* Of seven glocks six are known: a node learns once a second. Before, it learns more often. */
/* Promises: glock_choose: "That happens once". */
static void choose_explores_seldom(void **state)
{
	(void)state;
	open_groups();
	for (size_t i = 0; i < N - 1; i++) {
		learn(i, USE_US * RIG_US);
		if (i)
			give_up(i);
		choose(GLOCK_CHOOSE_TRY); /* the first one only begins the first pause */
		if (i == 0)
			assert_in_range(others_in(1000), 10, 100);
	}
	others_in(1000); /* until the last short pause is over */
	assert_in_range(others_in(5000), 4, 6);
	put_groups();
}

/* Each thread of the node that waits doubles the wait of a glock. So the shortest one gets long. */
/* Promises: glock_choose: "So does each". */
static void choose_leaves_waiters(void **state)
{
	struct glock_holder waiting[3];

	(void)state;
	open_groups();
	learn_waits();
	assert_int_equal(choose(0), 2);
	for (size_t k = 0; k < ARRAY_SIZE(waiting); k++)
		rig_nq(&waiting[k], groups[2], GLOCK_EX, GLOCK_NOPID);
	assert_int_not_equal(choose(0), 2);
	rig_answer(0);
	for (size_t k = 0; k < ARRAY_SIZE(waiting); k++)
		rig_dq(&waiting[k]);
	put_groups();
}

/* Threads of a node that have to wait ask for different glocks. */
/* Promises: glock_choose: "So does each". */
static void choose_spreads_waiters(void **state)
{
	struct glock_holder waiting[N];
	struct glock__lm_lock *open[N];
	bool asked[N] = {false};

	(void)state;
	open_groups();
	for (int k = 0; k < N; k++) {
		int i = choose(0);

		assert_true(i >= 0 && !asked[i]);
		asked[i] = true;
		rig_nq(&waiting[k], groups[i], GLOCK_EX, GLOCK_NOPID);
		open[k] = rig.open; /* the rig keeps one request */
		rig.open = NULL;
		assert_int_not_equal(choose(GLOCK_CHOOSE_TRY), i);
	}
	assert_int_equal(choose(GLOCK_CHOOSE_TRY), -EAGAIN);
	for (int k = 0; k < N; k++) {
		rig.open = open[k];
		rig_answer(0);
		rig_dq(&waiting[k]);
	}
	put_groups();
}

/* A glock that this node has not asked for yet has the wait of its type. */
/* Promises: glock_forecast: "A glock without". */
static void choose_forecasts_type(void **state)
{
	struct glock *late;
	struct glock_forecast f = {.size = sizeof(f)};

	(void)state;
	open_groups();
	for (int k = 0; k < 50; k++) {
		rig_nq(&gh, groups[0], GLOCK_EX, 0);
		rig_pass(8 * RIG_MS);
		rig_answer(0);
		rig_dq(&gh);
		give_up(0);
	}
	late = rig_glock(GLOCK_META, 100);
	assert_int_equal(glock_forecast(late, GLOCK_EX, &f), 0);
	assert_int_equal(f.place, GLOCK_PLACE_ELSEWHERE);
	assert_in_range(f.wait, 7 * RIG_MS, 10 * RIG_MS);
	glock_put(late);
	put_groups();
}

/* A holder and an open request do not delay the answers. The alarm ends a wait. */
/* Promises: glock_forecast: "At once"; glock_congested: "At once"; head: "The functions below". */
static void choose_at_once(void **state)
{
	struct glock_holder other;

	(void)state;
	alarm(4);
	open_groups();
	rig_hold(&gh, groups[0], GLOCK_EX, 0);
	rig_nq(&other, groups[1], GLOCK_EX, 0);
	assert_non_null(rig.open);
	assert_true(choose(0) >= 0);
	assert_int_equal(forecast(0).place, GLOCK_PLACE_HELD);
	assert_int_equal(forecast(1).queue, 1);
	assert_int_equal(glock_congested(groups[1]), -ENODATA);
	rig_answer(0);
	rig_dq(&other);
	rig_dq(&gh);
	put_groups();
	alarm(0);
}

/*
 * Promises: glock_choose: "All glocks are", "-EINVAL no glock", "-EIO the space"; glock_forecast:
 * "-EINVAL size, see".
 */
static void choose_refuses_mistakes(void **state)
{
	struct glock *none[2] = {NULL, NULL};
	struct glock_forecast f = {.size = 4};

	(void)state;
	open_groups();
	assert_int_equal(glock_choose(0, groups, GLOCK_EX, 0), -EINVAL);
	assert_int_equal(glock_choose(2, none, GLOCK_EX, 0), -EINVAL);
	assert_int_equal(glock_choose(N, groups, GLOCK_UN, 0), -EINVAL);
	assert_int_equal(glock_choose(N, groups, GLOCK_EX, 0x100), -EINVAL);
	assert_int_equal(glock_forecast(groups[0], GLOCK_EX, &f), -EINVAL);
	none[0] = groups[0];
	none[1] = rig_glock(GLOCK_FLOCK, 1);
	assert_int_equal(glock_choose(2, none, GLOCK_EX, 0), -EINVAL);
	glock_put(none[1]);
	glock_withdraw(rig.space);
	assert_int_equal(choose(0), -EIO);
	put_groups();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    RIG_TEST(choose_free_first),       RIG_TEST(choose_stays),
	    RIG_TEST(choose_skips_refused),    RIG_TEST(choose_shortest_wait),
	    RIG_TEST(choose_leaves_slow),      RIG_TEST(choose_slow_less_deviation),
	    RIG_TEST(choose_forecasts_queue),  RIG_TEST(choose_measures_use),
	    RIG_TEST(choose_refuses_mistakes), RIG_TEST(choose_fetches_idle),
	    RIG_TEST(choose_explores),         RIG_TEST(choose_spreads_waiters),
	    RIG_TEST(choose_leaves_waiters),   RIG_TEST(choose_explores_seldom),
	    RIG_TEST(choose_forecasts_type),   RIG_TEST(choose_at_once),
	};

	return RUN_TESTS(tests);
}
