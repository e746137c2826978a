/* SPDX-License-Identifier: MIT */
/*
 * test_stats.c - tests the estimators' arithmetic, counting, threads that change CPUs, time shares.
 */
#include "glock/stats/stats.h"

#include "check.h"

#include <pthread.h>

static unsigned int cpu_0(void)
{
	return 0;
}

static unsigned int cpu_1(void)
{
	return 1;
}

/* Computed by hand: 0/0, then 8000 three times. */
static void stats_worked_example(void **state)
{
	static const int64_t want[][2] = {{1000, 2000}, {1875, 3250}, {2640, 3968}};
	int64_t pair[2] = {0, 0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		glock__stats_sample(pair, 8000);
		assert_int_equal(pair[0], want[i][0]);
		assert_int_equal(pair[1], want[i][1]);
	}
}

/* Shifts round down: the mean is up to 7 ns too low, never too high. */
static void stats_shifts_round_down(void **state)
{
	int64_t pair[2] = {0, 0};

	(void)state;
	for (int i = 0; i < 100; i++)
		glock__stats_sample(pair, 7);
	assert_int_equal(pair[0], 0);
	assert_int_equal(pair[1], 7 - 3);
	for (int64_t sample = 0; sample < 1000; sample += 37) {
		pair[0] = 1000000;
		pair[1] = 0;
		for (int i = 0; i < 500; i++)
			glock__stats_sample(pair, sample);
		/* from above it gets there: -1 >> 3 is -1 */
		assert_int_equal(pair[0], sample);
	}
}

/* A deviation above the difference shrinks. Unsigned arithmetic would make it 2^62. */
static void stats_variance_is_signed(void **state)
{
	int64_t pair[2] = {1000, 900};

	(void)state;
	glock__stats_sample(pair, 1000);
	assert_int_equal(pair[0], 1000);
	assert_int_equal(pair[1], 900 - 225);
	glock__stats_sample(pair, 0);
	assert_int_equal(pair[0], 875);
	assert_int_equal(pair[1], 675 + (325 >> 2));
}

/* Any 64-bit values work, and no behaviour is undefined. */
static void stats_extremes(void **state)
{
	static const int64_t v[] = {0, 1, -1, INT64_MAX, INT64_MIN, INT64_MIN + 1, 1ll << 62};

	(void)state;
	for (size_t a = 0; a < ARRAY_SIZE(v); a++)
		for (size_t b = 0; b < ARRAY_SIZE(v); b++)
			for (size_t c = 0; c < ARRAY_SIZE(v); c++) {
				int64_t pair[2] = {v[a], v[b]};

				glock__stats_sample(pair, v[c]);
			}
}

/* After a step, 8 samples move the mean by 1 - (7/8)^8 of the step. */
static void stats_step_change(void **state)
{
	int64_t pair[2] = {0, 0};

	(void)state;
	for (int i = 0; i < 8; i++)
		glock__stats_sample(pair, 1000000);
	assert_in_range(pair[0], 656380, 656391);
	/* And 4 samples move the variance by 1 - (3/4)^4, if the samples are always as far away. */
	pair[1] = 0;
	for (int i = 0; i < 4; i++) {
		pair[0] = 0;
		glock__stats_sample(pair, 1000000);
	}
	assert_in_range(pair[1], 683590, 683595);
}

static void stats_first_request_has_no_interval(void **state)
{
	struct glock__type_stats ts;
	struct glock__stats s = {{0}}, cpu;
	int64_t stamp = 0;

	(void)state;
	assert_int_equal(glock__type_stats_init(&ts, 10, 2, cpu_0, NULL), 0);
	glock__stats_request(&s, &ts, 2, &stamp,
			     &(struct glock__stats_asked){.at = 5000, .first = true});
	assert_int_equal(stamp, 5000);
	assert_int_equal(s.v[GLOCK__SIRT], 0);
	assert_int_equal(s.v[GLOCK__DCOUNT], 1);
	glock__stats_request(&s, &ts, 2, &stamp, &(struct glock__stats_asked){.at = 5800});
	assert_int_equal(stamp, 5800);
	assert_int_equal(s.v[GLOCK__SIRT], 100);
	assert_int_equal(s.v[GLOCK__SIRTVAR], 200);
	assert_int_equal(s.v[GLOCK__DCOUNT], 2);
	/* the CPU's record of that type has the same values, and other records have none */
	cpu = glock__type_stats_read(&ts, 2, 0);
	assert_memory_equal(&cpu, &s, sizeof(s));
	cpu = glock__type_stats_read(&ts, 2, 1);
	for (int i = 0; i < GLOCK__STAT_MAX; i++)
		assert_int_equal(cpu.v[i], 0);
	cpu = glock__type_stats_read(&ts, 3, 0);
	assert_int_equal(cpu.v[GLOCK__DCOUNT], 0);
	glock__type_stats_free(&ts);
}

/* A request with an immediate reply counts like one after the other. */
/* Promises: glock_statistics: "srtt the round". */
static void stats_trip_is_both(void **state)
{
	const struct glock__stats_asked asked[] = {
	    {.at = 1000, .first = true, .queued = 1}, {.at = 9000, .queued = 3}, {.at = 9500}};
	struct glock__stats one = {{0}}, two = {{0}}, cpu;
	struct glock__type_stats a, b;
	int64_t stamp_one = 0, stamp_two = 0;

	(void)state;
	assert_int_equal(glock__type_stats_init(&a, 10, 1, NULL, NULL), 0);
	assert_int_equal(glock__type_stats_init(&b, 10, 1, NULL, NULL), 0);
	for (unsigned int i = 0; i < 3; i++) {
		int64_t now = asked[i].at + 100 * (i + 1), rtt;

		glock__stats_request(&two, &b, 2, &stamp_two, &asked[i]);
		rtt = glock__stats_reply(&two, &b, 2, stamp_two, now, i == 1);
		assert_int_equal(glock__stats_trip(&one, &a, 2, &stamp_one, &asked[i], now, i == 1),
				 rtt);
		assert_int_equal(rtt, 100 * (i + 1));
		assert_int_equal(stamp_one, asked[i].at);
	}
	assert_int_equal(one.v[GLOCK__QCOUNT], 4);
	assert_true(one.v[GLOCK__SRTT] && one.v[GLOCK__SRTTB] && one.v[GLOCK__SIRT]);
	assert_memory_equal(&one, &two, sizeof(one));
	cpu = glock__type_stats_read(&a, 2, 0);
	assert_memory_equal(&cpu, &one, sizeof(one));
	glock__type_stats_free(&a);
	glock__type_stats_free(&b);
}

/* Promises: glock_statistics: "srttb the round". */
static void stats_reply_goes_to_its_pair(void **state)
{
	struct glock__type_stats ts;
	struct glock__stats s = {{0}};

	(void)state;
	assert_int_equal(glock__type_stats_init(&ts, 10, 1, NULL, NULL), 0);
	assert_int_equal(glock__stats_reply(&s, &ts, 2, 1000, 9000, true), 8000);
	assert_int_equal(s.v[GLOCK__SRTTB], 1000);
	assert_int_equal(s.v[GLOCK__SRTTVARB], 2000);
	assert_int_equal(s.v[GLOCK__SRTT], 0);
	assert_int_equal(glock__stats_reply(&s, &ts, 2, 1000, 1800, false), 800);
	assert_int_equal(s.v[GLOCK__SRTT], 100);
	assert_int_equal(s.v[GLOCK__SRTTVAR], 200);
	assert_int_equal(s.v[GLOCK__SRTTB], 1000);
	glock__type_stats_free(&ts);
}

/* Times come from the creating CPU's record of that type. Counters are zero. */
/* Promises: glock_statistics: "The means begin". */
static void stats_new_glock_inherits(void **state)
{
	const struct glock__stats was = {{11, 12, 13, 14, 15, 16, 17, 18}};
	const struct glock__stats other = {{31, 32, 33, 34, 35, 36, 37, 38}};
	struct glock__type_stats ts;
	struct glock__stats s = {{99, 99, 99, 99, 99, 99, 99, 99}};

	(void)state;
	assert_int_equal(glock__type_stats_init(&ts, 10, 2, cpu_0, NULL), 0);
	glock__type_stats_write(&ts, 5, 0, &was);
	glock__stats_inherit(&s, &ts, 5);
	for (int i = 0; i < GLOCK__DCOUNT; i++)
		assert_int_equal(s.v[i], 11 + i);
	assert_int_equal(s.v[GLOCK__DCOUNT], 0);
	assert_int_equal(s.v[GLOCK__QCOUNT], 0);
	glock__stats_queued(&s, &ts, 5, 1);
	assert_int_equal(s.v[GLOCK__QCOUNT], 1);
	assert_int_equal(glock__type_stats_read(&ts, 5, 0).v[GLOCK__QCOUNT], 19);
	/* A thread on another CPU finds other means there. */
	glock__type_stats_write(&ts, 5, 1, &other);
	ts.cpu = cpu_1;
	glock__stats_inherit(&s, &ts, 5);
	for (int i = 0; i < GLOCK__DCOUNT; i++)
		assert_int_equal(s.v[i], 31 + i);
	assert_int_equal(s.v[GLOCK__DCOUNT], 0);
	glock__type_stats_free(&ts);
}

/* Threads whose CPU seems to change each time lose no count and tear no pair. */
enum { THREADS = 4, ROUNDS = 20000, CPUS = 3 };

static unsigned int cpu_wandering(void)
{
	static _Thread_local unsigned int n;

	return n++ * 2654435761u >> 16;
}

static void *wander(void *arg)
{
	struct glock__type_stats *ts = arg;
	struct glock__stats own = {{0}};
	int64_t stamp = 0;

	for (int i = 0; i < ROUNDS; i++) {
		glock__stats_queued(&own, ts, 1, 1);
		glock__stats_request(&own, ts, 1, &stamp,
				     &(struct glock__stats_asked){.at = stamp + 64});
		glock__stats_reply(&own, ts, 1, stamp, stamp + 64, true);
	}
	return NULL;
}

static void stats_exact_with_wandering_threads(void **state)
{
	struct glock__type_stats ts;
	pthread_t threads[THREADS];
	int64_t dlm = 0, queue = 0;

	(void)state;
	assert_int_equal(glock__type_stats_init(&ts, 2, CPUS, cpu_wandering, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, wander, &ts), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		struct glock__stats s = glock__type_stats_read(&ts, 1, cpu);

		dlm += s.v[GLOCK__DCOUNT];
		queue += s.v[GLOCK__QCOUNT];
		/* all samples are 64, so each pair must be where repeated 64s bring it */
		assert_int_equal(s.v[GLOCK__SRTTB], 57);
		assert_int_equal(s.v[GLOCK__SRTTVARB], 7);
		assert_int_equal(s.v[GLOCK__SIRT], 57);
		assert_int_equal(s.v[GLOCK__SIRTVAR], 7);
	}
	assert_int_equal(dlm, THREADS * ROUNDS);
	assert_int_equal(queue, THREADS * ROUNDS);
	glock__type_stats_free(&ts);
}

static void stats_share_of_time(void **state)
{
	int64_t share = 0;

	(void)state;
	assert_int_equal(glock__share_ns(share, 500, false), 0);
	share = glock__share_turn(share, 500, true);
	assert_int_equal(glock__share_ns(share, 700, true), 200);
	share = glock__share_turn(share, 1000, false);
	assert_int_equal(glock__share_ns(share, 2000, false), 500);
	share = glock__share_turn(share, 2000, true);
	assert_int_equal(glock__share_ns(share, 2001, true), 501);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(stats_worked_example),
	    cmocka_unit_test(stats_shifts_round_down),
	    cmocka_unit_test(stats_variance_is_signed),
	    cmocka_unit_test(stats_extremes),
	    cmocka_unit_test(stats_step_change),
	    cmocka_unit_test(stats_first_request_has_no_interval),
	    cmocka_unit_test(stats_trip_is_both),
	    cmocka_unit_test(stats_reply_goes_to_its_pair),
	    cmocka_unit_test(stats_new_glock_inherits),
	    cmocka_unit_test(stats_exact_with_wandering_threads),
	    cmocka_unit_test(stats_share_of_time),
	};

	return RUN_TESTS(tests);
}
