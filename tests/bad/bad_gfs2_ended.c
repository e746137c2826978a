/* SPDX-License-Identifier: MIT */
/*
 * bad_gfs2_ended.c - tests the seconds of waits for glocks that ended between two samples.
 *
 * Glock 0x200 is inode 512.
 */
#include "gfs2.h"

#include <stdio.h>

/* ---- waits that end between samples --------------------------------------------------------- */

/*
 * The wait is seen at t0 and t1, and is gone at t4. In between the node did not answer, or its lock
 * space was missing. With `dump` the lock was granted 14 s after t1. Without it, the mean moved by
 * one sample of 20 s. Returns the seconds of the frame from t3 to t4, which count since t1.
 */
static double ended_in_a_gap(struct scene *s, bool node_away, bool dump)
{
	for (int t = 0; t < 5; t++) {
		bool away = t == 2 || t == 3;

		scene_clock(s, t, "node2");
		LINE(t, "node2", .ino = 7);
		if (!away || !node_away) {
			scene_clock(s, t, "node1");
			LINE(t, "node1", .ino = 7);
		}
		if (away)
			continue;
		scene_stats(s, t, "node1", 2, 0x200, t == 4 ? 2500875000 : 1000000, 100 + (t == 4),
			    500 + (t == 4));
		scene_glock(s, t, "node1", 2, 0x200, t == 4 ? "SH" : "UN", t == 4 ? NULL : "AW",
			    "SH", 77, "hotload");
		if (dump)
			dlm(s, t, 0x200, 0, t == 4 ? 2 : 3, t == 4 ? UP0 + 19 : UP0 - 1.5);
	}
	scene_json(s);
	assert_near(waited(s, 0, 512), 5, 1e-5);
	return waited(s, 3, 512);
}

static void ended_while_the_node_was_away(void **state)
{
	assert_near(ended_in_a_gap(*state, true, false), 15, 1e-3);
}

static void granted_while_the_node_was_away(void **state)
{
	/* of the 15 s between t1 and t4 */
	assert_near(ended_in_a_gap(*state, true, true), 14, 1e-3);
}

static void ended_while_the_space_was_away(void **state)
{
	assert_near(ended_in_a_gap(*state, false, false), 15, 1e-3);
	assert_near(rate(*state, 3, 512), 1, 1e-3);
}

static void granted_while_the_space_was_away(void **state)
{
	assert_near(ended_in_a_gap(*state, false, true), 14, 1e-3);
	assert_near(rate(*state, 3, 512), 14.0 / 15, 1e-3);
}

/* ---- waits that end without a stamp --------------------------------------------------------- */

/*
 * The wait is seen at t0 and t1, and is gone at t2 with one request more. The mean moved by one
 * sample of 7 s. 5 s of it were counted, so 2 s are left.
 */
static void ended_wait_counted_once(void **state)
{
	struct scene *s = *state;

	clocks(s, 3);
	for (int t = 0; t < 3; t++) {
		/* 1 ms x 7/8 + 7 s / 8 */
		scene_stats(s, t, "node1", 2, 0x200, t == 2 ? 875875000 : 1000000, 100 + (t == 2),
			    500 + (t == 2));
		scene_glock(s, t, "node1", 2, 0x200, t == 2 ? "SH" : "UN", t == 2 ? NULL : "AW",
			    "SH", 77, "hotload");
	}
	scene_json(s);
	assert_near(waited(s, 0, 512), 5, 1e-5);
	assert_near(waited(s, 1, 512), 2, 1e-3);
	assert_near(waited(s, 0, 512) + waited(s, 1, 512), 7, 1e-3);
}

/*
 * The wait is seen at t0 and t1, and is gone at the next sample with 14 requests more. q = (7/8)^8
 * = 0.34361. By the mean, 8 of these requests took `total` seconds together: 1 ms x 0.34361 + total
 * / 8 x 0.65639. Returns the seconds of the last frame.
 */
static double ended_among_many(struct scene *s, double total, int waiters, bool node_away)
{
	long long mean = (long long)(0.34361e6 + total / 8 * 0.65639e9);
	char path[64];

	for (int t = 0; t < 5; t++) {
		bool away = t > 1 && (node_away ? t < 4 : t > 2), gone = t > 1;

		scene_clock(s, t, "node2");
		scene_stats(s, t, "node2", 2, 0x300, 1000, 100, 500);
		if (away)
			continue;
		scene_clock(s, t, "node1");
		scene_stats(s, t, "node1", 2, 0x200, gone ? mean : 1000000, gone ? 114 : 100,
			    gone ? 516 : 500);
		scene_glock(s, t, "node1", 2, 0x200, gone ? "SH" : "UN", gone ? NULL : "AW", "SH",
			    77, "hotload");
		snprintf(path, sizeof(path), "t%d/node1/gfs2/" TABLE "/glocks", t);
		for (int i = 1; i < waiters && !gone; i++)
			scene_file(s, path, " H: s:SH f:W e:0 p:%d [hotload] gfs2_open+0x1c/0x40\n",
				   77 + i);
	}
	scene_json(s);
	assert_near(waited(s, 0, 512), 5 * waiters, 1e-5);
	return waited(s, node_away ? 3 : 1, 512);
}

/* 5 of 8 s were counted, so 3 s are left. */
static void ended_wait_of_many_requests(void **state)
{
	assert_near(ended_among_many(*state, 8, 1, false), 3, 1e-3);
}

/* Two waits had 5 s each of the 12 s. */
static void ended_waits_of_many_requests(void **state)
{
	assert_near(ended_among_many(*state, 12, 2, false), 2, 1e-3);
}

/* Again 3 s, in the three frames since the node's last sample. */
static void ended_wait_of_many_requests_after_a_gap(void **state)
{
	assert_near(ended_among_many(*state, 8, 1, true), 3, 1e-3);
}

/* 60 s are more than the frame holds. */
static void ended_wait_of_long_requests(void **state)
{
	assert_near(ended_among_many(*state, 60, 1, false), STEP, 1e-3);
}

int main(void)
{
#define BAD(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
	    BAD(ended_while_the_node_was_away),  BAD(granted_while_the_node_was_away),
	    BAD(ended_while_the_space_was_away), BAD(granted_while_the_space_was_away),
	    BAD(ended_wait_counted_once),        BAD(ended_wait_of_many_requests),
	    BAD(ended_waits_of_many_requests),   BAD(ended_wait_of_many_requests_after_a_gap),
	    BAD(ended_wait_of_long_requests),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
