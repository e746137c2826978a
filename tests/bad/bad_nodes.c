/* SPDX-License-Identifier: MIT */
/*
 * bad_nodes.c - tests nodes that samples lack, clocks that step, and files of different moments.
 */
#include "scene.h"

#include <string.h>

/*
 * Inode 100 on a node at sample t: each sample has 100 acquisitions and 1 s of waiting. No wait is
 * longer than 0.1 s.
 */
static void busy(struct scene *s, int t, const char *node)
{
	LINE(t, node, .ino = 100, .gets = {0, 1000 + 100 * (unsigned)t},
	     .total_ns = {0, 1000000000ull * (unsigned)(t + 1)}, .max = {0, 100000 + (unsigned)t});
}

/*
 * node2 is missing in t1. It had 2 s and 200 acquisitions from t0 to t2. The frame t1..t2 shows its
 * part of them: half.
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
	/* its waits of the missed frame count, and its time does, too */
	assert_near(number(node_in(row_of(frame(s, 1), 100), "node2"), "wait_s"), 2, 1e-6);
	assert_int_equal(number(node_in(row_of(frame(s, 1), 100), "node2"), "acquired"), 200);
	assert_near(number(row_of(frame(s, 1), 100), "wait_s_per_s"), 2 / STEP, 1e-6);
	assert_near(number(frame(s, 1), "interval_s"), STEP, 1e-6);
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
 * A node that is new in t1 has no interval. A wait that began 100 s ago did not last in this frame
 * of 5 s.
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
	/* the next frame has all of its 5 s */
	assert_near(waited(s, 1, 300), 5, 1e-3);
}

/* The same for a flock. Two open files of the node wait for it, each on a line of its own. */
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

/* A node was away for 15 s. Each of its two waiters waited the 20 s since its last sample. */
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
	assert_near(waited(s, 3, 300), 2 * 4 * STEP, 1e-3);
}

/*
 * A node was away for longer than four frames. Its waits count for all of this time. The rate is
 * that of the last frames.
 */
static void flocks_after_a_long_gap(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 7; t++) {
		scene_clock(s, t, "node1");
		busy(s, t, "node1");
		if (t && t < 6)
			continue;
		scene_clock(s, t, "node2");
		busy(s, t, "node2");
		LINE(t, "node2", .type = 'F', .ino = 300, .flags = 0x240, .wait_us = STAMP(-100));
	}
	scene_json(s);
	assert_near(waited(s, 5, 300), 6 * STEP, 1e-3);
	assert_near(rate(s, 5, 300), 1, 1e-3);
}

/*
 * node2 is away for 8 frames. Its counters go on, so the frame in which it returns has the 9 s and
 * 900 acquisitions since then. The rates are those of each second.
 */
static void counters_after_a_long_gap(void **state)
{
	struct scene *s = *state;
	json_t *row;

	for (int t = 0; t < 10; t++) {
		scene_clock(s, t, "node1");
		LINE(t, "node1", .ino = 7);
		if (t && t < 9)
			continue;
		scene_clock(s, t, "node2");
		busy(s, t, "node2");
	}
	scene_json(s);
	assert_near(number(node_in(frame(s, 7), "node2"), "missed_s"), 8 * STEP, 1e-6);
	assert_near(number(node_in(frame(s, 8), "node2"), "missed_s"), 0, 1e-6);
	row = row_of(frame(s, 8), 100);
	assert_near(number(row, "wait_s"), 9, 1e-6);
	assert_int_equal(number(row, "acquired"), 900);
	assert_near(number(row, "wait_s_per_s"), 1 / STEP, 1e-6);
	assert_near(number(json_object_get(frame(s, 8), "totals"), "acquired_per_s"), 100 / STEP,
		    1e-6);
	assert_near(json_number_value(json_array_get(json_object_get(row, "trend"), 8)), 1 / STEP,
		    1e-6);
}

/* The wall clock is set back by 100 s, but the uptime is not. The frame still lasts 5 s. */
static void wall_clock_back(void **state)
{
	struct scene *s = *state;

	scene_clock(s, 0, "node1");
	busy(s, 0, "node1");
	scene_clocks(s, 1, "node1", REAL0 - 95, UP0 + 5);
	busy(s, 1, "node1");
	/* the wait began before the step, so its stamp lies in the future of the new clock */
	LINE(1, "node1", .ino = 300, .gets = {0, 5}, .wait_us = STAMP(-1));
	scene_json(s);
	assert_near(number(node_in(frame(s, 0), "node1"), "interval_s"), 5, 1e-6);
	assert_near(waited(s, 0, 100), 1, 1e-6);
	assert_true(says(frame(s, 0), "clock went back"));
	assert_int_equal(number(row_of(frame(s, 0), 300), "waiting"), 1);
	assert_near(number(row_of(frame(s, 0), 300), "oldest_wait_s"), 0, 1e-9);
}

/* Uptime falls, because the node was started anew. Its counters restart. The next frame counts. */
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

/* A node restarts while it is away. No sample covers the time from its last one until it is back.
 */
static void restarted_while_away(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 6; t++) {
		scene_clock(s, t, "node1");
		busy(s, t, "node1");
		if (t == 2 || t == 3)
			continue;
		scene_clocks(s, t, "node2", REAL0 + t * STEP, t < 4 ? UP0 + t * STEP : t);
		busy(s, t, "node2");
	}
	scene_json(s);
	assert_near(number(node_in(frame(s, 2), "node2"), "missed_s"), 2 * STEP, 1e-6);
	assert_string_equal(word(node_in(frame(s, 3), "node2"), "state"), "restarted");
	assert_near(number(node_in(frame(s, 4), "node2"), "missed_s"), 3 * STEP, 1e-6);
	assert_near(number(node_in(frame(s, 4), "node1"), "missed_s"), 0, 1e-6);
}

/* Without an uptime the wall clock goes back: no interval, and no wait counts again. */
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
	/* the length of this frame is unknown, so it holds no lost time */
	assert_near(waited(s, 1, 300), 0, 1e-9);
}

/* The files of a sample are read after its clock, so stamps may lie 0.3 s after the clock. */
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
 * t1 has neither clock, so the time from t0 to t1 is unknown. Nothing that depends on it may show:
 * neither a frame of days nor a wait of days, in this frame or the next. From t0 to t2 it was 10 s.
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

/* t1 lacks one of the clocks. The other clock still says 5 s. */
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

/* The samples have the same time. No time passed, so nothing may be divided by it. */
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
 * -n chooses node1 of the recording's two nodes. If -n names a node that is missing, o2top has
 * nothing to watch.
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

/* No node answered in t1. A frame says so, and the counts of that time are spread. */
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
	/*
	 * 2 s were waited in the 10 s from t0 to t2; only this node could tell the frame's length
	 */
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
	    BAD(flocks_after_a_long_gap),
	    BAD(counters_after_a_long_gap),
	    BAD(wall_clock_back),
	    BAD(uptime_back),
	    BAD(restarted_while_away),
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
