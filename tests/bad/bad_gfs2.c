/* SPDX-License-Identifier: MIT */
/*
 * bad_gfs2.c - tests which GFS2 holders are waits, and where the seconds of waits come from.
 *
 * Glock 0x200 is inode 512.
 */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void clocks(struct scene *s, int n)
{
	for (int t = 0; t < n; t++)
		scene_clock(s, t, "node1");
}

/*
 * The same process waits for the same mode, and no request was answered. So this is one wait: 5 s
 * of it lie in each frame.
 */
static void same_wait(void **state)
{
	struct scene *s = *state;
	json_t *row;

	clocks(s, 3);
	for (int t = 0; t < 3; t++) {
		scene_stats(s, t, "node1", 2, 0x200, 1000, 100, 500);
		scene_glock(s, t, "node1", 2, 0x200, "UN", "AW", "SH", 77, "hotload");
	}
	scene_json(s);
	for (size_t n = 0; n < 2; n++) {
		row = row_of(frame(s, n), 512);
		assert_int_equal(number(row, "waiting"), 1);
		assert_near(number(row, "wait_s"), 5, 1e-6);
		assert_near(number(row, "oldest_wait_s"), 5 * (double)(n + 1), 1e-6);
		/* t0 showed the wait already: it may have any age */
		assert_true(is_null(row, "oldest_wait_max_s"));
		assert_true(json_is_false(json_object_get(row, "estimated")));
	}
}

/*
 * A request was answered in between. So the process waits again: these are two waits. The second
 * one counts as a wait in progress, because the sample shows the process. Its seconds are not
 * known.
 */
static void another_wait(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	for (int t = 0; t < 2; t++) {
		scene_stats(s, t, "node1", 2, 0x200, 1000, 100 + (unsigned)t, 500);
		scene_glock(s, t, "node1", 2, 0x200, "UN", "AW", "SH", 77, "hotload");
	}
	scene_json(s);
	assert_int_equal(number(row_of(frame(s, 0), 512), "waiting"), 1);
	assert_near(number(row_of(frame(s, 0), 512), "oldest_wait_s"), 0, 1e-9);
	assert_near(waited(s, 0, 512), 0, 1e-9);
}

/* Another mode or another process is not the same wait. */
static void another_mode_or_process(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	for (int t = 0; t < 2; t++) {
		scene_stats(s, t, "node1", 2, 0x200, 1000, 100, 500);
		scene_glock(s, t, "node1", 2, 0x200, "UN", "W", t ? "EX" : "SH", 77, "hotload");
		scene_stats(s, t, "node1", 2, 0x300, 1000, 100, 500);
		scene_glock(s, t, "node1", 2, 0x300, "UN", "W", "SH", 77 + t, "hotload");
	}
	scene_json(s);
	assert_int_equal(number(json_object_get(frame(s, 0), "totals"), "waiting"), 2);
	assert_near(number(json_object_get(frame(s, 0), "totals"), "oldest_wait_s"), 0, 1e-9);
	assert_near(waited(s, 0, 512) + waited(s, 0, 0x300), 0, 1e-9);
}

/*
 * node2 is away for 15 s, in which one request was answered. The frame has a quarter of that time.
 * A quarter of one request rounds to none, but the wait is another one.
 */
static void another_wait_after_a_gap(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 5; t++) {
		scene_clock(s, t, "node1");
		scene_stats(s, t, "node1", 2, 0x200, 1000, 100, 500);
		scene_glock(s, t, "node1", 2, 0x200, "SH", NULL, NULL, 0, NULL);
		if (t != 0 && t != 4)
			continue;
		scene_clock(s, t, "node2");
		scene_stats(s, t, "node2", 2, 0x200, 1000, 100 + (t == 4), 500);
		scene_glock(s, t, "node2", 2, 0x200, "UN", "AW", "SH", 77, "hotload");
	}
	scene_json(s);
	assert_int_equal(number(json_object_get(frame(s, 3), "totals"), "waiting"), 1);
	assert_near(number(json_object_get(frame(s, 3), "totals"), "oldest_wait_s"), 0, 1e-9);
	assert_near(waited(s, 3, 512), 0, 1e-9);
}

/*
 * A new glock inherits the mean of other glocks. Its seconds mean nothing below 8 requests of its
 * own.
 */
static void inherited_means(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	scene_stats(s, 0, "node1", 2, 0x200, 3000000000, 2, 10);
	scene_stats(s, 1, "node1", 2, 0x200, 3100000000, 7, 20);
	/* created since t0 */
	scene_stats(s, 0, "node1", 2, 0x201, 3000000000, 1, 1);
	scene_stats(s, 1, "node1", 2, 0x202, 3000000000, 2, 10);
	scene_stats(s, 1, "node1", 2, 0x203, 3000000000, 40, 90);
	scene_json(s);
	for (unsigned ino = 0x200; ino <= 0x203; ino++)
		assert_near(waited(s, 0, ino), 0, 1e-9);
	assert_int_equal(number(row_of(frame(s, 0), 512), "acquired"), 10);
}

/* There is no estimate if the pair did not change, however many requests there were. */
static void mean_did_not_move(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	for (int t = 0; t < 2; t++)
		scene_stats(s, t, "node1", 2, 0x200, 50000000, 100 + 60 * (unsigned)t, 500);
	scene_json(s);
	assert_near(waited(s, 0, 512), 0, 1e-9);
}

/*
 * 8 of 16 requests took the lock. q = (7/8)^8 = 0.34361. Eight waits of 100 ms move a mean of 1 ms
 * to 1 ms x 0.34361 + 100 ms x 0.65639 = 65.98 ms. So 8 x 0.1 s were lost. This is an estimate.
 */
static void estimate(void **state)
{
	struct scene *s = *state;
	json_t *row;

	clocks(s, 2);
	scene_stats(s, 0, "node1", 2, 0x200, 1000000, 100, 500);
	scene_stats(s, 1, "node1", 2, 0x200, 65982709, 116, 532);
	scene_json(s);
	row = row_of(frame(s, 0), 512);
	assert_near(number(row, "wait_s"), 0.8, 0.001);
	/* A mean tells nothing of the longest wait. */
	assert_true(is_null(row, "longest_wait_s"));
	assert_true(json_is_true(json_object_get(row, "estimated")));
	assert_int_equal(number(row, "acquired"), 32);
	assert_int_equal(number(row, "requests"), 16);
	assert_near(number(row, "hit_ratio"), 0.5, 1e-6);
}

/*
 * If dcnt falls, the glock was created anew. All that it counts now is new, but its mean is
 * inherited.
 */
static void made_anew(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	scene_stats(s, 0, "node1", 2, 0x200, 1000000, 1000, 5000);
	scene_stats(s, 1, "node1", 2, 0x200, 900000000, 2, 7);
	scene_json(s);
	assert_near(waited(s, 0, 512), 0, 1e-9);
	assert_int_equal(number(row_of(frame(s, 0), 512), "acquired"), 7);
	assert_int_equal(number(row_of(frame(s, 0), 512), "requests"), 2);
}

/* The mean moves from one end of 64 bits to the other while a process waits. */
static void means_from_end_to_end(void **state)
{
	struct scene *s = *state;

	clocks(s, 3);
	for (int t = 0; t < 3; t++) {
		scene_stats(s, t, "node1", 2, 0x200, t == 1 ? INT64_MAX : INT64_MIN,
			    100 + (unsigned)t, 500);
		scene_glock(s, t, "node1", 2, 0x200, "UN", "AW", "SH", 77, "hotload");
		scene_stats(s, t, "node1", 2, 0x300, t ? INT64_MAX : INT64_MIN, 100 + (t == 2),
			    500);
		scene_glock(s, t, "node1", 2, 0x300, "UN", t == 2 ? NULL : "AW", "SH", 77,
			    "hotload");
	}
	scene_json(s);
	assert_int_equal(s->status, 0);
}

/*
 * The row of an inode includes its iopen glock and its flock. Resource groups, quota and so on have
 * rows of their own.
 */
static void types_of_glocks(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	for (int t = 0; t < 2; t++)
		for (int type = 0; type <= 9; type++)
			scene_stats(s, t, "node1", type, 0x200, 1000, 100, 500 + (unsigned)t);
	scene_json(s);
	assert_int_equal(number(row_of(frame(s, 0), 512), "acquired"), 3);
	assert_int_equal(json_array_size(json_object_get(row_of(frame(s, 0), 512), "locks")), 3);
	assert_string_equal(word(row_of_kind(frame(s, 0), "resource groups"), "section"), "system");
	assert_true(is_null(row_of_kind(frame(s, 0), "quota"), "ino"));
}

/* ---- lines that one listing left out ------------------------------------------------------- */

/*
 * t0's glstats omits a glock that t0's glocks lists. The counts of the glock's whole life do not
 * belong to the frame.
 */
static void glstats_left_a_glock_out(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	for (int t = 0; t < 2; t++) {
		scene_stats(s, t, "node1", 2, 0x300, 1000, 100, 500);
		scene_glock(s, t, "node1", 2, 0x200, "SH", NULL, NULL, 0, NULL);
		scene_glock(s, t, "node1", 2, 0x300, "SH", NULL, NULL, 0, NULL);
	}
	scene_stats(s, 1, "node1", 2, 0x200, 50000000, 100000, 900000);
	scene_json(s);
	assert_near(waited(s, 0, 512), 0, 1e-9);
	assert_null(row_of(frame(s, 0), 512));
}

/*
 * t1's glstats omits the glock, which was created anew between t0 and t2. The second frame has its
 * counts, and half of them in its rates.
 */
static void left_out_and_made_anew(void **state)
{
	struct scene *s = *state;

	clocks(s, 3);
	for (int t = 0; t < 3; t++) {
		scene_stats(s, t, "node1", 2, 0x300, 1000, 100, 500);
		scene_glock(s, t, "node1", 2, 0x200, "SH", NULL, NULL, 0, NULL);
	}
	scene_stats(s, 0, "node1", 2, 0x200, 1000000, 1000, 5000);
	scene_stats(s, 2, "node1", 2, 0x200, 900000000, 400, 600);
	scene_json(s);
	assert_int_equal(number(row_of(frame(s, 1), 512), "acquired"), 600);
	assert_near(number(json_object_get(frame(s, 1), "totals"), "acquired_per_s"), 300 / STEP,
		    1e-6);
	assert_true(waited(s, 1, 512) <= 2 * STEP + 1e-6);
	assert_true(rate(s, 1, 512) <= 1 + 1e-6);
}

/* A glock asks for one mode at a time. So the waits of its 16 requests fit into the frame. */
static void no_estimate_exceeds_the_frame(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	scene_stats(s, 0, "node1", 2, 0x200, 1000000, 100, 500);
	scene_stats(s, 1, "node1", 2, 0x200, 100000000000, 116, 532);
	/* created since t0 */
	scene_stats(s, 0, "node1", 2, 0x300, 1000, 100, 500);
	scene_stats(s, 1, "node1", 2, 0x300, 1000, 100, 500);
	scene_stats(s, 1, "node1", 2, 0x400, 100000000, 1000, 5000);
	scene_json(s);
	assert_near(waited(s, 0, 512), STEP, 1e-6);
	assert_near(waited(s, 0, 0x400), STEP, 1e-6);
}

/* ---- the DLM's stamps ---------------------------------------------------------------------- */

static void dlm(struct scene *s, int t, unsigned number, unsigned flags, int status, double since)
{
	char path[128];

	snprintf(path, sizeof(path), "t%d/node1/dlm/fs1_all", t);
	scene_file(
	    s, path,
	    "version rsb 1.1 lvb 1.1 lkb 1.1\nrsb 00000000d40c03c4 2 0 0 0 0 0 24 str %8x%16x\n", 2,
	    number);
	scene_file(s, path, "lkb 1c6 2 5f7 1 0 1c %x %d 0 3 5 0 0 2 %.0f 0\n", flags, status,
		   since * 1e9);
}

/*
 * The lock converts since 1.5 s before t0, and is granted 2 s after t1. In the first frame the wait
 * is exactly 6.5 s old, and the frame has 5 s of it. The second frame has 2 s, of a wait of 8.5 s.
 */
static void dlm_stamps(void **state)
{
	struct scene *s = *state;
	json_t *row;

	clocks(s, 3);
	for (int t = 0; t < 3; t++) {
		scene_stats(s, t, "node1", 2, 0x200, 1000, 100 + (t == 2), 500 + (t == 2));
		scene_glock(s, t, "node1", 2, 0x200, t == 2 ? "SH" : "UN", t == 2 ? NULL : "AW",
			    "SH", 77, "hotload");
		dlm(s, t, 0x200, 0, t == 2 ? 2 : 3, t == 2 ? UP0 + 7 : UP0 - 1.5);
	}
	scene_json(s);
	row = row_of(frame(s, 0), 512);
	assert_near(number(row, "oldest_wait_s"), 6.5, 1e-5);
	assert_near(number(row, "oldest_wait_max_s"), 6.5, 1e-5);
	assert_near(number(row, "wait_s"), 5, 1e-5);
	row = row_of(frame(s, 1), 512);
	assert_int_equal(number(row, "waiting"), 0);
	assert_near(number(row, "wait_s"), 2, 1e-5);
	assert_near(number(row, "longest_wait_s"), 8.5, 1e-5);
}

/* One sample with a stamp: the wait is exactly as old as the stamp says. */
static void dlm_stamp_alone(void **state)
{
	struct scene *s = *state;
	json_t *row;

	clocks(s, 1);
	scene_stats(s, 0, "node1", 2, 0x200, 1000, 100, 500);
	scene_glock(s, 0, "node1", 2, 0x200, "UN", "AW", "SH", 77, "hotload");
	dlm(s, 0, 0x200, 0, 3, UP0 - 1.5);
	scene_json(s);
	row = row_of(frame(s, 0), 512);
	assert_near(number(row, "oldest_wait_s"), 1.5, 1e-5);
	assert_near(number(row, "oldest_wait_max_s"), 1.5, 1e-5);
}

/* A node is new in t1, and its wait is 101.5 s old. Of this frame of 5 s it waited 5 s at most. */
static void dlm_stamp_of_a_new_node(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	scene_clock(s, 0, "node2");
	scene_clock(s, 1, "node2");
	for (int t = 0; t < 2; t++) {
		scene_stats(s, t, "node2", 2, 0x200, 1000, 100, 500);
		scene_glock(s, t, "node2", 2, 0x200, "SH", NULL, NULL, 0, NULL);
	}
	scene_stats(s, 1, "node1", 2, 0x200, 1000, 100, 500);
	scene_glock(s, 1, "node1", 2, 0x200, "UN", "AW", "SH", 77, "hotload");
	dlm(s, 1, 0x200, 0, 3, UP0 - 96.5);
	scene_json(s);
	assert_near(number(row_of(frame(s, 0), 512), "oldest_wait_s"), 101.5, 1e-5);
	assert_true(waited(s, 0, 512) <= STEP + 1e-6);
}

/*
 * A master copy is the lock of another node. Its stamp says nothing about this node's wait, nor
 * does a stamp of the future.
 */
static void dlm_stamps_of_others(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	for (int t = 0; t < 2; t++) {
		scene_stats(s, t, "node1", 2, 0x200, 1000, 100, 500);
		scene_glock(s, t, "node1", 2, 0x200, "UN", "AW", "SH", 77, "hotload");
		dlm(s, t, 0x200, 0x10000, 3, UP0 - 1000);
		scene_stats(s, t, "node1", 2, 0x300, 1000, 100, 500);
		scene_glock(s, t, "node1", 2, 0x300, "UN", "AW", "SH", 78, "hotload");
		dlm(s, t, 0x300, 0, 3, UP0 + 100000);
	}
	scene_json(s);
	assert_near(number(row_of(frame(s, 0), 512), "oldest_wait_s"), 5, 1e-5);
	assert_near(number(row_of(frame(s, 0), 0x300), "oldest_wait_s"), 5, 1e-5);
}

/*
 * A process waits 3 s for a flock at t2, as the DLM says, and gets it 1 s later. All of the 4 s are
 * measured. So the one sample that showed the wait stands for no other waits.
 */
static void a_dated_flock_counts_once(void **state)
{
	enum { SAMPLES = 8 };
	struct scene *s = *state;
	double sum = 0;

	clocks(s, SAMPLES);
	for (int t = 0; t < SAMPLES; t++) {
		char path[128];

		snprintf(path, sizeof(path), "t%d/node1/dlm/fs1_all", t);
		scene_stats(s, t, "node1", 6, 0x200, t < 3 ? 1000000 : 500875000, 1, 1);
		scene_glock(s, t, "node1", 6, 0x200, t == 2 ? "UN" : "EX", t == 2 ? "W" : "H", "EX",
			    77, "work");
		if (t >= 2)
			scene_file(s, path,
				   "rsb 00000000d40c03c4 2 0 0 0 0 0 24 str %8x%16x\n"
				   "lkb 1c6 2 5f7 1 0 1c 0 %d 0 5 5 0 0 2 %.0f 0\n",
				   6, 0x200, t == 2 ? 3 : 2, (UP0 + (t == 2 ? 7 : 11)) * 1e9);
	}
	scene_json(s);
	for (size_t n = 0; n + 1 < SAMPLES; n++)
		sum += waited(s, n, 512);
	assert_near(sum, 4, 1e-3);
}

static void dlm_broken_lines(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	for (int t = 0; t < 2; t++) {
		scene_stats(s, t, "node1", 2, 0x200, 1000, 100, 500);
		scene_glock(s, t, "node1", 2, 0x200, "UN", "AW", "SH", 77, "hotload");
	}
	scene_file(s, "t1/node1/dlm/fs1_all", "rsb x\nlkb 1\n");
	dlm(s, 1, 0x200, 0, 3, UP0 - 1.5);
	scene_file(s, "t1/node1/dlm/fs1_all", "lkb 1c6 x\nlkb 1c6 2 5f7 1 0 1c 0 3 0 3 5 0 0 2 49");
	scene_json(s);
	assert_near(number(row_of(frame(s, 0), 512), "oldest_wait_s"), 6.5, 1e-5);
	assert_true(says(frame(s, 0), "t1/node1/dlm/fs1_all:1: "));
	assert_true(says(frame(s, 0), "t1/node1/dlm/fs1_all:6: "));
	assert_true(says(frame(s, 0), "t1/node1/dlm/fs1_all:7: "));
}

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

/* ---- how old at most ----------------------------------------------------------------------- */

enum before {
	LISTED,   /* the wait is missing */
	CUT_HERE, /* the same, and the glock is the last of t0's glocks */
	WAITED,   /* and a request of the glock was answered since then */
};

/* t0 lists glock 0x200. pid 77 waits for it in t1 and t2. A line of glstats is broken. */
static json_t *bounded(struct scene *s, enum before before)
{
	clocks(s, 3);
	for (int t = 0; t < 3; t++) {
		scene_stats(s, t, "node1", 2, 0x200, 1000, 100 + (before == WAITED && t), 500);
		scene_glock(s, t, "node1", 2, 0x200, "UN", t || before == WAITED ? "AW" : NULL,
			    "SH", 77, "hotload");
		if (t || before != CUT_HERE)
			scene_glock(s, t, "node1", 2, 0x300, "SH", NULL, NULL, 0, NULL);
	}
	/* glstats has no influence on this */
	scene_file(s,
		   before == LISTED ? "t0/node1/gfs2/" TABLE "/glstats"
				    : "t1/node1/gfs2/" TABLE "/glstats",
		   "G: n:2/300 rtt:1/\n");
	scene_json(s);
	assert_near(number(row_of(frame(s, 1), 512), "oldest_wait_s"), 5, 1e-6);
	return row_of(frame(s, 1), 512);
}

static void began_after_it_was_listed(void **state)
{
	assert_near(number(bounded(*state, LISTED), "oldest_wait_max_s"), 10, 1e-6);
}

static void the_dump_may_be_cut_there(void **state)
{
	assert_true(is_null(bounded(*state, CUT_HERE), "oldest_wait_max_s"));
}

/* The answered request may belong to another process. So pid 77 may have waited since before t0. */
static void it_waited_before_an_answer(void **state)
{
	assert_true(is_null(bounded(*state, WAITED), "oldest_wait_max_s"));
}

/* The text says so for each process, too. */
static void details_of_an_unknown_age(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	for (int t = 0; t < 2; t++) {
		scene_stats(s, t, "node1", 2, 0x200, 1000, 100, 500);
		scene_glock(s, t, "node1", 2, 0x200, "UN", "AW", "SH", 77, "hotload");
	}
	scene_run(s, "-b", "--details", "@", NULL);
	if (!strstr(s->out, "pid 77 hotload waits >5.00 s for SH"))
		fail_msg("%s", s->out);
}

/*
 * pid 77 waits in all samples but t2, whose files are empty. This is the wait that t0 showed
 * already. 0x300 is listed last, so each sample surely has all of 0x200.
 */
static void nothing_was_read_between(void **state)
{
	struct scene *s = *state;
	json_t *row;

	clocks(s, 5);
	for (int t = 0; t < 5; t++) {
		if (t == 2) {
			scene_file(s, "t2/node1/gfs2/" TABLE "/glstats", "%s", "");
			scene_file(s, "t2/node1/gfs2/" TABLE "/glocks", "%s", "");
			continue;
		}
		scene_stats(s, t, "node1", 2, 0x200, 1000, 100, 500);
		scene_glock(s, t, "node1", 2, 0x200, "UN", "AW", "SH", 77, "hotload");
		scene_glock(s, t, "node1", 2, 0x300, "SH", NULL, NULL, 0, NULL);
	}
	scene_json(s);
	assert_null(row_of(frame(s, 1), 512));
	for (size_t n = 2; n < 4; n++) {
		row = row_of(frame(s, n), 512);
		assert_near(number(row, "oldest_wait_s"), 5 * (double)(n + 1), 1e-6);
		assert_true(is_null(row, "oldest_wait_max_s"));
		/* the space had no sample at t2 */
		assert_near(number(row, "wait_s"), n == 2 ? 10 : 5, 1e-6);
		assert_near(rate(s, n, 512), 1, 1e-6);
	}
}

/* ---- waits that end without a stamp -------------------------------------------------------- */

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
 * The wait is seen at t0 and t1, and is gone at the next sample with 16 requests more. q = (7/8)^8
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
		scene_stats(s, t, "node1", 2, 0x200, gone ? mean : 1000000, gone ? 116 : 100,
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

/*
 * A glock that is not listed any more shows no holder: neither its old one nor that of another
 * glock.
 */
static void holders_of_an_unlisted_glock(void **state)
{
	struct scene *s = *state;
	bool old, other;
	char *text;

	clocks(s, 2);
	for (int t = 0; t < 2; t++) {
		scene_stats(s, t, "node1", 2, 0x200, 1000, 100, 500 + (unsigned)t);
		scene_stats(s, t, "node1", 2, 0x300, 1000, 100, 500);
	}
	scene_glock(s, 0, "node1", 2, 0x200, "SH", "H", "SH", 7, "alice");
	scene_glock(s, 1, "node1", 2, 0x300, "SH", "H", "SH", 8, "bob");
	scene_json(s);
	text = json_dumps(row_of(frame(s, 0), 512), 0);
	assert_non_null(text);
	old = strstr(text, "alice") != NULL;
	other = strstr(text, "bob") != NULL;
	free(text);
	assert_false(old);
	assert_false(other);
}

/*
 * The files of kernels 6.11 to 7.0 have other letters of flags and no reference of an idle glock.
 * They have holders without a process, and lines of resource groups. Only the waits are waits.
 */
static void newer_kernels(void **state)
{
	static const struct {
		const char *kernel, *asked, *cached;
	} kernels[] = {
	    {"6.11", "lqaob", "LxnNo"},
	    {"6.15", "lRaqobn", "rFLoxnNeEsC"},
	    {"6.18", "lRqobnN", "fyrFLoeEsC"},
	    {"7.0", "lcqobnN", "fyrFLoeEsC"},
	};
	struct scene *s = *state;
	const unsigned n = sizeof(kernels) / sizeof(kernels[0]);

	for (int t = 0; t < 2; t++) {
		char path[64];

		scene_clock(s, t, "node1");
		snprintf(path, sizeof(path), "t%d/node1/gfs2/" TABLE "/glocks", t);
		for (unsigned i = 0; i < n; i++) {
			unsigned ino = 0x200 + 2 * i;

			scene_stats(s, t, "node1", 2, ino, 1000, 100, 500);
			scene_stats(s, t, "node1", 2, ino + 1, 1000, 100, 500);
			scene_file(s, path,
				   "G:  s:UN n:2/%x f:%s t:EX d:EX/0 a:0 v:0 r:3 m:10 p:0\n"
				   " H: s:EX f:W e:0 p:%u [writer] gfs2_open+0x1c/0x40 [gfs2]\n",
				   ino, kernels[i].asked, 70 + i);
			scene_file(s, path,
				   "G:  s:SH n:2/%x f:%s t:SH d:EX/0 a:0 v:0 r:0 m:10 p:1\n"
				   " H: s:SH f:EH e:0 p:0 [(none)] gfs2_lookup+0x1a0/0x3f0 [gfs2]\n"
				   " I: n:1/%u t:8 f:0x00 d:0x00000000 s:%u p:1\n",
				   ino + 1, kernels[i].cached, ino + 1, 4096 + i);
		}
		scene_file(s, path,
			   "G:  s:EX n:3/11 f:Lob t:EX d:EX/0 a:0 v:0 r:2 m:10 p:2\n"
			   " R: n:17 f:30000000 b:1000/1000 i:5 q:0 r:0 e:0\n"
			   "  L: f:30000000 b:1000 i:5\n"
			   "  B: n:300 s:17:5 f:32\n");
	}
	scene_json(s);
	assert_int_equal(json_array_size(json_object_get(frame(s, 0), "problems")), 0);
	assert_int_equal(number(json_object_get(frame(s, 0), "totals"), "waiting"), n);
	for (unsigned i = 0; i < n; i++) {
		json_t *row = row_of(frame(s, 0), 0x200 + 2 * i);

		if (!row || number(row, "waiting") != 1)
			fail_msg("no wait of the glock of Linux %s", kernels[i].kernel);
		assert_near(number(row, "wait_s"), STEP, 1e-6);
	}
}

int main(void)
{
#define BAD(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
	    BAD(same_wait),
	    BAD(another_wait),
	    BAD(another_mode_or_process),
	    BAD(another_wait_after_a_gap),
	    BAD(inherited_means),
	    BAD(mean_did_not_move),
	    BAD(estimate),
	    BAD(made_anew),
	    BAD(means_from_end_to_end),
	    BAD(types_of_glocks),
	    BAD(glstats_left_a_glock_out),
	    BAD(left_out_and_made_anew),
	    BAD(no_estimate_exceeds_the_frame),
	    BAD(ended_while_the_node_was_away),
	    BAD(granted_while_the_node_was_away),
	    BAD(ended_while_the_space_was_away),
	    BAD(granted_while_the_space_was_away),
	    BAD(began_after_it_was_listed),
	    BAD(the_dump_may_be_cut_there),
	    BAD(it_waited_before_an_answer),
	    BAD(nothing_was_read_between),
	    BAD(details_of_an_unknown_age),
	    BAD(dlm_stamp_of_a_new_node),
	    BAD(dlm_stamps),
	    BAD(dlm_stamp_alone),
	    BAD(dlm_stamps_of_others),
	    BAD(a_dated_flock_counts_once),
	    BAD(dlm_broken_lines),
	    BAD(ended_wait_counted_once),
	    BAD(ended_wait_of_many_requests),
	    BAD(ended_waits_of_many_requests),
	    BAD(ended_wait_of_many_requests_after_a_gap),
	    BAD(ended_wait_of_long_requests),
	    BAD(holders_of_an_unlisted_glock),
	    BAD(newer_kernels),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
