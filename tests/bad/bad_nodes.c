/* SPDX-License-Identifier: MIT */
/*
 * bad_nodes.c - tests nodes that samples lack, clocks that step, and files of different moments.
 */
#include "scene.h"

#include <string.h>

/*
 * Inode 100 on a node at sample t: 100 acquisitions and 1 s of waiting a sample, no wait longer
 * than 0.1 s.
 */
static void busy(struct scene *s, int t, const char *node)
{
	LINE(t, node, .ino = 100, .gets = {0, 1000 + 100 * (unsigned)t},
	     .total_ns = {0, 1000000000ull * (unsigned)(t + 1)}, .max = {0, 100000 + (unsigned)t});
}

/*
 * node2 is not in t1. Of the 2 s and 200 acquisitions that it had from t0 to t2 the frame t1..t2
 * shows what belongs into it: half.
 */
static void node_missing_once(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 4; t++) {
		scene_clock(s, t, "node1");
		busy(s, t, "node1");
		if (t != 1) {
			scene_clock(s, t, "node2");
			busy(s, t, "node2");
		}
	}
	scene_json(s);
	assert_int_equal(s->n_frames, 3);
	assert_string_equal(word(node_in(frame(s, 0), "node2"), "state"), "not answering");
	assert_null(node_in(row_of(frame(s, 0), 100), "node2"));
	assert_near(waited(s, 0, 100), 1, 1e-6);
	assert_string_equal(word(node_in(frame(s, 1), "node2"), "state"), "ok");
	assert_near(number(node_in(row_of(frame(s, 1), 100), "node2"), "wait_s"), 1, 1e-6);
	assert_int_equal(number(node_in(row_of(frame(s, 1), 100), "node2"), "acquired"), 100);
	assert_near(waited(s, 2, 100), 2, 1e-6);
}

/* A node that waits and then stops answering is not shown as waiting. */
static void nothing_stale(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 3; t++) {
		scene_clock(s, t, "node1");
		busy(s, t, "node1");
		if (t < 2) {
			scene_clock(s, t, "node2");
			LINE(t, "node2", .ino = 300, .gets = {0, 5}, .wait_us = STAMP(-1));
		}
	}
	scene_json(s);
	assert_int_equal(number(row_of(frame(s, 0), 300), "waiting"), 1);
	assert_null(row_of(frame(s, 1), 300));
	assert_int_equal(number(json_object_get(frame(s, 1), "totals"), "waiting"), 0);
}

/*
 * A node that is new in t1 has no interval: a wait that began 100 s ago was not waited in this
 * frame of 5 s.
 */
static void new_node_with_an_old_wait(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 3; t++) {
		scene_clock(s, t, "node1");
		busy(s, t, "node1");
		if (t > 0) {
			scene_clock(s, t, "node2");
			LINE(t, "node2", .ino = 300, .gets = {0, 5}, .wait_us = STAMP(-100));
		}
	}
	scene_json(s);
	assert_int_equal(number(row_of(frame(s, 0), 300), "waiting"), 1);
	assert_near(number(row_of(frame(s, 0), 300), "oldest_wait_s"), 105, 1e-3);
	assert_true(waited(s, 0, 300) <= STEP + 1e-6);
	/* the frame after it is one of 5 s */
	assert_near(waited(s, 1, 300), 5, 1e-3);
}

/* The same of a flock that two open files of the node wait for, each on a line of its own. */
static void new_node_with_old_flocks(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 2; t++) {
		scene_clock(s, t, "node1");
		busy(s, t, "node1");
		if (!t)
			continue;
		scene_clock(s, t, "node2");
		busy(s, t, "node2");
		LINE(t, "node2", .type = 'F', .ino = 300, .flags = 0x240, .wait_us = STAMP(-100));
		LINE(t, "node2", .type = 'F', .ino = 300, .flags = 0x240, .wait_us = STAMP(-50));
	}
	scene_json(s);
	assert_int_equal(number(row_of(frame(s, 0), 300), "waiting"), 2);
	assert_near(number(row_of(frame(s, 0), 300), "oldest_wait_s"), 105, 1e-3);
	assert_true(waited(s, 0, 300) <= 2 * STEP + 1e-6);
}

/*
 * A node that was away for 15 s of 20: each of its two waiters waited for 5 s of this frame, at
 * most.
 */
static void flocks_after_a_gap(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 5; t++) {
		scene_clock(s, t, "node1");
		busy(s, t, "node1");
		if (t && t < 4)
			continue;
		scene_clock(s, t, "node2");
		busy(s, t, "node2");
		LINE(t, "node2", .type = 'F', .ino = 300, .flags = 0x240, .wait_us = STAMP(-100));
		LINE(t, "node2", .type = 'F', .ino = 300, .flags = 0x240, .wait_us = STAMP(-50));
	}
	scene_json(s);
	assert_near(waited(s, 3, 300), 2 * STEP, 1e-3);
}

/* The wall clock is set back by 100 s, the uptime is not: the frame lasts 5 s all the same. */
static void wall_clock_back(void **state)
{
	struct scene *s = *state;

	scene_clock(s, 0, "node1");
	busy(s, 0, "node1");
	scene_clocks(s, 1, "node1", REAL0 - 95, UP0 + 5);
	busy(s, 1, "node1");
	/* began before the step: by the new clock it lies in the future */
	LINE(1, "node1", .ino = 300, .gets = {0, 5}, .wait_us = STAMP(-1));
	scene_json(s);
	assert_near(number(node_in(frame(s, 0), "node1"), "interval_s"), 5, 1e-6);
	assert_near(waited(s, 0, 100), 1, 1e-6);
	assert_true(says(frame(s, 0), "clock went back"));
	assert_int_equal(number(row_of(frame(s, 0), 300), "waiting"), 1);
	assert_near(number(row_of(frame(s, 0), 300), "oldest_wait_s"), 0, 1e-9);
}

/* Uptime falls: the node was started anew and its counters begin again. The next frame counts. */
static void restarted(struct scene *s, double real_step)
{
	json_t *node;

	scene_clocks(s, 0, "node1", REAL0, UP0);
	busy(s, 0, "node1");
	scene_clocks(s, 1, "node1", REAL0 + real_step, 60);
	busy(s, 1, "node1");
	scene_clocks(s, 2, "node1", REAL0 + real_step + 5, 65);
	busy(s, 2, "node1");
	scene_json(s);
	node = node_in(frame(s, 0), "node1");
	assert_string_equal(word(node, "state"), "restarted");
	assert_true(is_null(node, "interval_s"));
	assert_near(waited(s, 0, 100), 0, 1e-9);
	assert_string_equal(word(node_in(frame(s, 1), "node1"), "state"), "ok");
	assert_near(waited(s, 1, 100), 1, 1e-6);
}

static void uptime_back(void **state)
{
	restarted(*state, 300);
}

static void both_back(void **state)
{
	restarted(*state, -300);
}

/* No uptime, and the wall clock goes back: no interval, and no wait counted again. */
static void only_clock_back(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 3; t++) {
		scene_clocks(s, t, "node1", t == 2 ? REAL0 + 2 : REAL0 + t * STEP, -1);
		busy(s, t, "node1");
		LINE(t, "node1", .ino = 300, .gets = {0, 5}, .wait_us = STAMP(1));
	}
	scene_json(s);
	assert_string_equal(word(node_in(frame(s, 0), "node1"), "state"), "ok");
	assert_near(waited(s, 0, 100), 1, 1e-6);
	/* from 1 s to 5 s after t0 */
	assert_near(waited(s, 0, 300), 4, 1e-6);
	assert_string_equal(word(node_in(frame(s, 1), "node1"), "state"), "clock went back");
	assert_true(is_null(node_in(frame(s, 1), "node1"), "interval_s"));
	assert_near(waited(s, 1, 100), 0, 1e-9);
	/* how long this frame was nobody knows: nothing can be said to have been lost in it */
	assert_near(waited(s, 1, 300), 0, 1e-9);
}

/* The files of a sample are read after its clock was: stamps may lie 0.3 s after it. */
static void stamps_after_the_clock(void **state)
{
	struct scene *s = *state;
	json_t *row;

	for (int t = 0; t < 2; t++) {
		scene_clock(s, t, "node1");
		LINE(t, "node1", .ino = 100, .gets = {0, 5}, .last_us = {0, STAMP(t * STEP + 0.3)},
		     .wait_us = t ? STAMP(STEP + 0.3) : 0);
	}
	scene_json(s);
	row = row_of(frame(s, 0), 100);
	assert_int_equal(number(row, "waiting"), 1);
	assert_near(number(row, "oldest_wait_s"), 0, 1e-9);
	assert_near(number(row, "oldest_wait_max_s"), 0, 1e-9);
	assert_near(number(row, "wait_s"), 0, 1e-9);
}

/*
 * t1 has neither clock: how long it was until t1 nobody knows, and nothing that is made up of that
 * may show - not a frame of days, not a wait of days, in this frame or the next. From t0 to t2 it
 * was 10 s.
 */
static void sample_without_clocks(void **state)
{
	struct scene *s = *state;
	const char *inside[] = {"waiting", "wait_s", "oldest_wait_s"};

	for (int t = 0; t < 4; t++) {
		if (t != 1)
			scene_clock(s, t, "node1");
		LINE(t, "node1", .ino = 100, .gets = {0, 1000 + 100 * (unsigned)t},
		     .total_ns = {0, 1000000000ull * (unsigned)(t + 1)},
		     .max = {0, 100000 + (unsigned)t});
		LINE(t, "node1", .ino = 300, .flags = 0x443, .action = 2, .requested = 3,
		     .gets = {5, 0});
		scene_stats(s, t, "node1", 2, 0x500, 1000000, 100, 100);
		scene_glock(s, t, "node1", 2, 0x500, "UN", "W", "SH", 7, "a");
	}
	scene_json(s);
	assert_int_equal(s->n_frames, 3);
	for (size_t n = 0; n < 3; n++) {
		json_t *node = node_in(frame(s, n), "node1");

		if (!is_null(node, "interval_s"))
			assert_true(number(node, "interval_s") <= 10 + 1e-6);
		for (unsigned ino = 300; ino <= 0x500; ino += 0x500 - 300)
			for (size_t i = 0; row_of(frame(s, n), ino) && i < 3; i++)
				if (!is_null(row_of(frame(s, n), ino), inside[i]))
					assert_true(number(row_of(frame(s, n), ino), inside[i]) <=
						    15 + 1e-6);
	}
	/* 3 s were waited from t0 to t3 */
	assert_true(waited(s, 0, 100) + waited(s, 1, 100) + waited(s, 2, 100) <= 3 + 1e-6);
}

/* One of the clocks is missing in t1: the other one says that it was 5 s all the same. */
static void one_clock_missing_once(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 3; t++) {
		scene_clocks(s, t, "node1", REAL0 + t * STEP, t == 1 ? -1 : UP0 + t * STEP);
		scene_clocks(s, t, "node2", t == 1 ? -1 : REAL0 + t * STEP, UP0 + t * STEP);
		busy(s, t, "node1");
		busy(s, t, "node2");
	}
	scene_json(s);
	for (size_t n = 0; n < 2; n++) {
		assert_near(number(node_in(frame(s, n), "node1"), "interval_s"), 5, 1e-6);
		assert_near(number(node_in(frame(s, n), "node2"), "interval_s"), 5, 1e-6);
		assert_near(waited(s, n, 100), 2, 1e-6);
	}
}

/* Samples made at the same moment: no time went by, nothing may be divided by it. */
static void no_time_between(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 2; t++) {
		scene_clocks(s, t, "node1", REAL0, UP0);
		busy(s, t, "node1");
		LINE(t, "node1", .ino = 300, .gets = {0, 5}, .wait_us = STAMP(-1));
		scene_stats(s, t, "node1", 2, 0x500, 1000000, 100 + 50 * (unsigned)t, 100);
		scene_glock(s, t, "node1", 2, 0x500, "UN", "W", "SH", 7, "a");
	}
	scene_json(s);
	assert_int_equal(s->status, 0);
	assert_true(waited(s, 0, 300) <= 1 + 1e-6);
	assert_true(waited(s, 0, 0x500) <= 1e-6);
}

/*
 * Only node1 of all is in the recording that -n asks for; a name that is nowhere is nothing to
 * watch.
 */
static void chosen_nodes(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 2; t++) {
		scene_clock(s, t, "node1");
		scene_clock(s, t, "node2");
		busy(s, t, "node1");
		busy(s, t, "node2");
	}
	scene_run(s, "--json", "-n", "node1", "@", NULL);
	assert_int_equal(s->status, 0);
	assert_null(strstr(s->out, "node2"));
	scene_run(s, "--json", "-n", "node7", "@", NULL);
	assert_int_equal(s->status, 1);
}

/* Nobody answered in t1: a frame that says so, and what happened meanwhile is spread. */
static void sample_without_answers(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 4; t++) {
		if (t == 1)
			continue;
		scene_clock(s, t, "node1");
		LINE(t, "node1", .ino = 100, .gets = {0, 100 + 100 * (unsigned)t},
		     .total_ns = {0, 1000000000ull * (unsigned)t}, .max = {0, 100000});
	}
	scene_file(s, "t1/node1/nothing", "here\n");
	scene_json(s);
	assert_int_equal(s->n_frames, 3);
	assert_string_equal(word(node_in(frame(s, 0), "node1"), "state"), "not answering");
	assert_int_equal(json_array_size(json_object_get(frame(s, 0), "rows")), 0);
	/* t0 to t2 is 10 s in which 2 s were waited; how long the frame is, only this node could tell */
	assert_string_equal(word(node_in(frame(s, 1), "node1"), "state"), "ok");
	assert_true(waited(s, 1, 100) <= 2 + 1e-6 && waited(s, 1, 100) >= 1 - 1e-6);
	assert_near(waited(s, 2, 100), 1, 1e-6);
}

int main(void)
{
#define BAD(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
	    BAD(node_missing_once),
	    BAD(nothing_stale),
	    BAD(new_node_with_an_old_wait),
	    BAD(new_node_with_old_flocks),
	    BAD(flocks_after_a_gap),
	    BAD(wall_clock_back),
	    BAD(uptime_back),
	    BAD(both_back),
	    BAD(only_clock_back),
	    BAD(stamps_after_the_clock),
	    BAD(no_time_between),
	    BAD(chosen_nodes),
	    BAD(sample_without_clocks),
	    BAD(one_clock_missing_once),
	    BAD(sample_without_answers),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
