/* SPDX-License-Identifier: MIT */
/*
 * bad_clocks.c - tests nodes whose wall clocks differ by 30 s: ages, sentences, silence, times.
 *
 * node1 is right, node2 is 30 s ahead, node3 is 30 s behind. All samples are made at one moment.
 */
#include "scene.h"

#include <stdio.h>
#include <string.h>

#define AHEAD 30.0

static double off(const char *node)
{
	return strcmp(node, "node2") == 0 ? AHEAD : strcmp(node, "node3") == 0 ? -AHEAD : 0;
}

/* Writes the clocks of a node in sample t. The nodes booted at other times, too. */
static void clocks_of(struct scene *s, int t, const char *node)
{
	scene_clocks(s, t, node, REAL0 + STEP * t + off(node),
		     UP0 + STEP * t + 1000 * (double)(node[4] - '0'));
}

/* A node's request waits since `since` seconds after t0, by the clock of the node. */
static void waits_since(struct scene *s, int t, const char *node, double since)
{
	LINE(t, node, .ino = 512, WAITING, .gets = {9, 9}, .wait_us = STAMP(since + off(node)));
}

/* node1 waits since 3 s before t0 and node2 since 90 s before. node3 holds EX. */
static void waits_on_two_nodes(struct scene *s, int samples)
{
	for (int t = 0; t < samples; t++) {
		clocks_of(s, t, "node1");
		clocks_of(s, t, "node2");
		clocks_of(s, t, "node3");
		waits_since(s, t, "node1", -3);
		waits_since(s, t, "node2", -90);
		LINE(t, "node3", .ino = 512, .level = 5, .flags = 0x145, .holders = {0, 1},
		     .gets = {1, 1});
	}
}

/* Each age is by the clock of the node that waits, and each frame has 5 s of each wait. */
static void ages_are_by_the_own_clock(void **state)
{
	struct scene *s = *state;

	waits_on_two_nodes(s, 3);
	scene_json(s);
	for (size_t n = 0; n < 2; n++) {
		json_t *row = row_of(frame(s, n), 512);

		assert_int_equal(number(row, "waiting"), 2);
		assert_near(number(row, "wait_s"), 2 * STEP, 1e-6);
		assert_near(number(row, "oldest_wait_s"), 90 + STEP * (double)(n + 1), 1e-3);
		assert_near(number(node_in(row, "node1"), "oldest_wait_s"),
			    3 + STEP * (double)(n + 1), 1e-3);
		assert_near(number(frame(s, n), "interval_s"), STEP, 1e-6);
		for (int i = 1; i <= 3; i++) {
			char name[8];

			snprintf(name, sizeof(name), "node%d", i);
			assert_string_equal(word(node_in(frame(s, n), name), "state"), "ok");
			assert_near(number(node_in(frame(s, n), name), "interval_s"), STEP, 1e-6);
		}
	}
}

/* The wait is longer than the clocks differ, so the sentence is safe. */
static void a_long_wait_has_a_sentence(void **state)
{
	struct scene *s = *state;
	json_t *row;

	waits_on_two_nodes(s, 2);
	scene_json(s);
	row = row_of(frame(s, 0), 512);
	if (is_null(row, "sentence") || !strstr(word(row, "sentence"), "node3 holds EX") ||
	    !strstr(word(row, "sentence"), "95.0 s"))
		fail_msg("%s", is_null(row, "sentence") ? "no sentence" : word(row, "sentence"));
}

/* The counters of an ended wait lie in the frame of their own node. */
static void an_ended_wait_stays_in_its_frame(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 3; t++) {
		clocks_of(s, t, "node1");
		clocks_of(s, t, "node2");
		LINE(t, "node1", .ino = 600, .gets = {0, 1});
		if (t < 2)
			LINE(t, "node2", .ino = 512, WAITING, .gets = {9, 9},
			     .wait_us = STAMP(AHEAD - 2));
		else
			LINE(t, "node2", .ino = 512, .level = 3, .gets = {10, 9},
			     .total_ns = {10000000000, 0}, .max = {10000000, 0},
			     .last_us = {STAMP(AHEAD + 8), 0});
	}
	scene_json(s);
	assert_near(waited(s, 0, 512), 5, 1e-3);
	assert_near(waited(s, 1, 512), 3, 1e-3);
	assert_near(number(row_of(frame(s, 1), 512), "longest_wait_s"), 10, 1e-3);
}

/* A node that is missing is silent for as long as the samples say, whatever its clock said. */
static void silence_is_not_a_difference_of_clocks(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 4; t++) {
		clocks_of(s, t, "node1");
		LINE(t, "node1", .ino = 600, .gets = {0, 1});
		scene_file(s, t < 2 ? "t0/keep" : "t2/keep", "x");
		if (t >= 2)
			continue;
		clocks_of(s, t, "node2");
		clocks_of(s, t, "node3");
		LINE(t, "node2", .ino = 600, .gets = {0, 1});
		LINE(t, "node3", .ino = 600, .gets = {0, 1});
	}
	scene_json(s);
	for (int i = 2; i <= 3; i++) {
		char name[8];

		snprintf(name, sizeof(name), "node%d", i);
		assert_string_equal(word(node_in(frame(s, 1), name), "state"), "not answering");
		assert_near(number(node_in(frame(s, 1), name), "silent_s"), STEP, 1e-6);
		assert_near(number(node_in(frame(s, 2), name), "silent_s"), 2 * STEP, 1e-6);
	}
}

/*
 * The node whose clock is ahead is missing from some samples. So the times of the samples go back,
 * and --from must still find the first sample at or after its time.
 */
static void times_that_go_back_are_found(void **state)
{
	struct scene *s = *state;
	char from[32];

	for (int t = 0; t < 20; t++) {
		clocks_of(s, t, "node1");
		LINE(t, "node1", .ino = 600, .gets = {0, (unsigned)t});
		if (t >= 8 && t <= 12)
			continue;
		clocks_of(s, t, "node2");
		LINE(t, "node2", .ino = 600, .gets = {0, (unsigned)t});
	}
	/* t7, by the clock of node2 */
	snprintf(from, sizeof(from), "@%.0f", REAL0 + 7 * STEP + AHEAD);
	scene_run(s, "--json", "--from", from, "-i", "3", "@", NULL);
	assert_int_equal(s->status, 0);
	for (int t = 7; t <= 9; t++) {
		char sample[24];

		snprintf(sample, sizeof(sample), "\"sample\":\"t%d\"", t);
		if (!strstr(s->out, sample))
			fail_msg("no frame t%d: %.300s", t, s->out);
	}
}

/*
 * Three nodes, and the clock of node2 is 30 s ahead. node2 does not date the samples, so their
 * times go on when it falls silent, and --from and --to choose by the clock of the others.
 */
static void one_clock_ahead_dates_no_sample(void **state)
{
	struct scene *s = *state;
	char from[32], to[32];

	for (int t = 0; t < 8; t++)
		for (int n = 1; n <= 3; n++) {
			char node[8];

			snprintf(node, sizeof(node), "node%d", n);
			if (n == 2 && t > 3)
				continue;
			scene_clocks(s, t, node, REAL0 + STEP * t + (n == 2 ? AHEAD : 0),
				     UP0 + STEP * t);
			LINE(t, node, .ino = 600, .gets = {0, (unsigned)t});
		}
	scene_json(s);
	for (size_t n = 0; n < s->n_frames; n++)
		assert_near(number(frame(s, n), "time"), REAL0 + STEP * (double)(n + 1), 1);
	snprintf(from, sizeof(from), "@%.0f", REAL0 + 2 * STEP);
	snprintf(to, sizeof(to), "@%.0f", REAL0 + 3 * STEP);
	scene_run(s, "--json", "--from", from, "--to", to, "@", NULL);
	assert_non_null(strstr(s->out, "\"sample\":\"t2\""));
	assert_non_null(strstr(s->out, "\"sample\":\"t3\""));
	assert_null(strstr(s->out, "\"sample\":\"t4\""));
}

/*
 * Two samples are swapped. No node restarted, and node3 has not been silent for longer than the
 * clocks tell: it answered at t0 alone.
 */
static void swapped_samples_are_no_restart(void **state)
{
	static const int order[] = {0, 3, 2, 1, 4};
	struct scene *s = *state;

	for (int t = 0; t < 5; t++)
		for (int n = 1; n <= (t ? 2 : 3); n++) {
			char node[8];

			snprintf(node, sizeof(node), "node%d", n);
			scene_clocks(s, t, node, REAL0 + STEP * order[t], UP0 + STEP * order[t]);
			LINE(t, node, .ino = 600, .gets = {0, (unsigned)order[t]});
		}
	scene_json(s);
	for (size_t n = 0; n < 4; n++) {
		json_t *silent = node_in(frame(s, n), "node3"),
		       *node = node_in(frame(s, n), "node1");

		assert_near(number(silent, "silent_s"), STEP * order[n + 1], 1e-3);
		assert_string_equal(word(node, "state"),
				    n == 1 || n == 2 ? "clock went back" : "ok");
	}
	assert_non_null(strstr(s->err, "5.000 s older than the one before it"));
	assert_null(strstr(s->out, "restarted"));
}

/*
 * The file realtime of node1 is 30 s behind the stamps of its kernel, because the recording was
 * edited. node1 has waited for 8 s, as node2, and is not taken for a node that does not wait.
 */
static void stamps_of_the_kernel_count(void **state)
{
	struct scene *s = *state;
	json_t *row;

	for (int t = 0; t < 2; t++) {
		scene_clocks(s, t, "node1", REAL0 + STEP * t - 30, UP0 + STEP * t);
		scene_clocks(s, t, "node2", REAL0 + STEP * t, UP0 + STEP * t);
		for (int n = 1; n <= 2; n++)
			LINE(t, n == 1 ? "node1" : "node2", .ino = 512, WAITING, .gets = {9, 9},
			     .wait_us = STAMP(-3));
		LINE(t, "node1", .ino = 600, .gets = {0, 1 + (unsigned)t},
		     .last_us = {0, STAMP(STEP * t - 0.1)});
	}
	scene_json(s);
	row = row_of(frame(s, 0), 512);
	assert_near(number(node_in(row, "node1"), "oldest_wait_s"), 7.9, 1e-3);
	assert_near(number(node_in(row, "node2"), "oldest_wait_s"), 8, 1e-3);
	assert_non_null(strstr(s->err, "node1: the clock is 30 s behind the stamps"));
	assert_null(strstr(s->err, "node2: the clock"));
	assert_null(strstr(s->err, "went"));
}

/* A restart sets the time since boot back, and the wall clock goes on. */
static void a_restart_is_told(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 3; t++) {
		scene_clocks(s, t, "node1", REAL0 + 60 * t, t ? 20 + 60 * t : UP0);
		LINE(t, "node1", .ino = 600, .gets = {0, (unsigned)t});
	}
	scene_json(s);
	assert_string_equal(word(node_in(frame(s, 0), "node1"), "state"), "restarted");
	assert_string_equal(word(node_in(frame(s, 1), "node1"), "state"), "ok");
}

int main(void)
{
#define SCENE(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
	    SCENE(ages_are_by_the_own_clock),        SCENE(a_long_wait_has_a_sentence),
	    SCENE(an_ended_wait_stays_in_its_frame), SCENE(silence_is_not_a_difference_of_clocks),
	    SCENE(times_that_go_back_are_found),     SCENE(one_clock_ahead_dates_no_sample),
	    SCENE(swapped_samples_are_no_restart),   SCENE(a_restart_is_told),
	    SCENE(stamps_of_the_kernel_count),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
