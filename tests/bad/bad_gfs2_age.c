/* SPDX-License-Identifier: MIT */
/*
 * bad_gfs2_age.c - tests how old a wait for a glock is: by the DLM's stamps, and without them.
 *
 * Glock 0x200 is inode 512.
 */
#include "gfs2.h"

#include <stdio.h>
#include <string.h>

/* ---- the DLM's stamps ----------------------------------------------------------------------- */

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
	/* The first one stands for all, because a form that is not known is wrong in each line. */
	assert_false(says(frame(s, 0), "t1/node1/dlm/fs1_all:6: "));
	assert_false(says(frame(s, 0), "t1/node1/dlm/fs1_all:7: "));
}

/* ---- how old at most ------------------------------------------------------------------------ */

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

int main(void)
{
#define BAD(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
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
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
