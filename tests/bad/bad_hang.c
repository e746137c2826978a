/* SPDX-License-Identifier: MIT */
/*
 * bad_hang.c - tests what is one wait, what is a hang, and which rows are worth advice.
 *
 * Glock 6/200 is the flock of inode 512. Its holders have no process: GFS2 prints p:0 [(none)].
 */
#include "scene.h"

#include <stdio.h>
#include <string.h>

static void clocks(struct scene *s, int n)
{
	for (int t = 0; t < n; t++)
		scene_clock(s, t, "node1");
}

/* ---- one wait or two ----------------------------------------------------------------------- */

/* Two samples of a flock: each shows a wait and the same counts. Only the mean may differ. */
static void two_samples_of_a_flock(struct scene *s, long long mean0, long long mean1)
{
	clocks(s, 2);
	scene_stats(s, 0, "node1", 6, 0x200, mean0, 1, 1);
	scene_stats(s, 1, "node1", 6, 0x200, mean1, 1, 1);
	for (int t = 0; t < 2; t++)
		scene_glock(s, t, "node1", 6, 0x200, "UN", "W", "EX", 0, "(none)");
	scene_json(s);
}

/* Checks that the row's wait is of unknown age, and that all seconds are estimated. */
static void new_wait(json_t *row)
{
	assert_int_equal(number(row, "waiting"), 1);
	assert_near(number(row, "oldest_wait_s"), 0, 1e-9);
	assert_true(json_is_true(json_object_get(row, "estimated")));
	assert_true(is_null(row, "longest_wait_s"));
}

/*
 * GFS2 makes a flock's glock anew for each lock, so its counts are 1 each time. The means show that
 * a request was answered. A wait of 5 s never was. The seconds are an estimate from the waits seen.
 */
static void a_flock_made_anew_is_another_wait(void **state)
{
	struct scene *s = *state;

	two_samples_of_a_flock(s, 11890190, 4473997);
	new_wait(row_of(frame(s, 0), 512));
}

/* Nothing contradicts that this is one wait. */
static void a_flock_that_hangs_is_one_wait(void **state)
{
	struct scene *s = *state;
	json_t *row;

	two_samples_of_a_flock(s, 11890190, 11890190);
	row = row_of(frame(s, 0), 512);
	assert_near(number(row, "wait_s"), 5, 1e-6);
	assert_near(number(row, "oldest_wait_s"), 5, 1e-6);
}

/* Another holder queued: without a process, the wait may be the new one's. */
static void a_second_holder_without_a_process(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	for (int t = 0; t < 2; t++) {
		scene_stats(s, t, "node1", 6, 0x200, 1000, 1, 1 + (unsigned)t);
		scene_glock(s, t, "node1", 6, 0x200, "UN", "W", "EX", 0, "(none)");
	}
	scene_json(s);
	new_wait(row_of(frame(s, 0), 512));
}

/*
 * The mean moved, so the request under way was answered. A holder on this node explains why the
 * process still waits. Without that holder, the glock was made anew.
 */
static void a_local_holder_explains_an_answer(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	for (int t = 0; t < 2; t++)
		for (unsigned ino = 0x200; ino <= 0x201; ino++) {
			scene_stats(s, t, "node1", 2, ino, t ? 2000 : 1000, 9, 20);
			scene_glock(s, t, "node1", 2, ino, "EX", t && ino == 0x200 ? "H" : NULL,
				    "EX", 70, "holder");
			scene_file(s,
				   t ? "t1/node1/gfs2/" TABLE "/glocks"
				     : "t0/node1/gfs2/" TABLE "/glocks",
				   " H: s:EX f:W e:0 p:77 [hotload] gfs2_open+0x1c/0x40 [gfs2]\n");
		}
	scene_json(s);
	assert_near(waited(s, 0, 0x200), 5, 1e-6);
	assert_near(waited(s, 0, 0x201), 0, 1e-9);
}

/* ---- a hang or traffic --------------------------------------------------------------------- */

/* Returns whether the advice calls the row a hang, now or in this frame. */
static bool is_hang(json_t *row)
{
	const char *code = word(row, "advice_code");

	return strcmp(code, "WAIT_HANGS") == 0 || strcmp(code, "WAIT_HUNG") == 0;
}

/* A wait in progress of 5 s in the last frame, beside `acquired` acquisitions of another node. */
static bool hangs_beside(struct scene *s, unsigned samples, unsigned acquired,
			 unsigned long long lost_ns)
{
	for (unsigned t = 0; t < samples; t++) {
		bool last = t + 1 == samples;

		scene_clock(s, (int)t, "node1");
		scene_clock(s, (int)t, "node2");
		scene_line(s, (int)t, "node1",
			   (struct state_line){.ino = 100,
					       .level = 0,
					       .requested = 5,
					       .flags = 0x43,
					       .action = 1,
					       .wait_us = (unsigned long long)(REAL0 * 1e6)});
		scene_line(s, (int)t, "node2",
			   (struct state_line){.ino = 100,
					       .level = 5,
					       .gets = {0, last ? 1 + acquired : 1},
					       .total_ns = {0, last ? 1 + lost_ns : 1},
					       .max = {0, 1}});
	}
	scene_json(s);
	return is_hang(row_of(frame(s, samples - 2), 100));
}

/* The wait of 5 s is all that the row lost. */
static void one_wait_that_explains_the_row(void **state)
{
	assert_true(hangs_beside(*state, 2, 0, 0));
}

/* 26 acquisitions a second lost 8 s beside the wait of 5 s: this is traffic. */
static void a_wait_beside_traffic(void **state)
{
	assert_false(hangs_beside(*state, 2, 130, 8000000000));
}

/* More than one acquisition a second, and a wait of less than 5 s that explains the row. */
static void a_short_wait_beside_fast_traffic(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 2; t++) {
		scene_clock(s, t, "node1");
		scene_line(s, t, "node1",
			   (struct state_line){
			       .ino = 100,
			       .requested = 5,
			       .flags = 0x43,
			       .action = 1,
			       .gets = {t ? 20 : 1, 0},
			       .wait_us = t ? (unsigned long long)(REAL0 * 1e6) + 1000000 : 0});
	}
	scene_json(s);
	assert_near(number(row_of(frame(s, 0), 100), "oldest_wait_s"), 4, 1e-3);
	assert_false(is_hang(row_of(frame(s, 0), 100)));
}

/* A long wait ended, and explains the row. Many ended waits of a second are traffic. */
static void ended_waits(struct scene *s, unsigned gets, unsigned long long total_ns,
			unsigned max_us)
{
	clocks(s, 2);
	for (int t = 0; t < 2; t++)
		scene_line(s, t, "node1",
			   (struct state_line){
			       .ino = 100,
			       .level = 5,
			       .gets = {0, 1 + (t ? gets : 0)},
			       .total_ns = {0, 1 + (t ? total_ns : 0)},
			       .max = {0, t ? max_us : 1},
			       .last_us = {0, (unsigned long long)((REAL0 + 5 * t) * 1e6)}});
	scene_json(s);
}

static void few_ended_waits_are_a_hang(void **state)
{
	struct scene *s = *state;

	ended_waits(s, 3, 4000000000, 2000000);
	assert_true(is_hang(row_of(frame(s, 0), 100)));
}

static void many_ended_waits_are_traffic(void **state)
{
	struct scene *s = *state;

	ended_waits(s, 5, 4900000000, 1100000);
	assert_false(is_hang(row_of(frame(s, 0), 100)));
}

static void fast_traffic_with_a_long_wait(void **state)
{
	struct scene *s = *state;

	ended_waits(s, 26 * 5, 3000000000, 2500000);
	assert_false(is_hang(row_of(frame(s, 0), 100)));
}

/* ---- rows worth advice --------------------------------------------------------------------- */

static void row_lost(struct scene *s, unsigned long long ino, unsigned long long total_ns)
{
	for (int t = 0; t < 2; t++)
		scene_line(s, t, "node1",
			   (struct state_line){.ino = ino,
					       .level = 5,
					       .gets = {0, t ? 101 : 1},
					       .total_ns = {0, 1 + (t ? total_ns : 0)},
					       .max = {0, 1}});
}

/* The second row lost 12 ms a second, which is 1.2 % of the frame: no star, and no advice. */
static void a_small_part_needs_no_advice(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	row_lost(s, 100, 4900000000);
	row_lost(s, 101, 60000000);
	row_lost(s, 102, 150000000);
	scene_json(s);
	assert_true(json_is_true(json_object_get(row_of(frame(s, 0), 100), "hot")));
	assert_true(json_is_false(json_object_get(row_of(frame(s, 0), 101), "hot")));
	assert_true(json_is_true(json_object_get(row_of(frame(s, 0), 102), "hot")));
	assert_true(is_null(row_of(frame(s, 0), 101), "advice") ||
		    !*word(row_of(frame(s, 0), 101), "advice"));
}

/* A wait longer than a second is hot, however small its part of the frame. */
static void a_long_wait_is_hot(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	for (unsigned long long ino = 100; ino < 180; ino++)
		row_lost(s, ino, 4900000000);
	for (int t = 0; t < 2; t++)
		scene_line(s, t, "node1",
			   (struct state_line){
			       .ino = 99,
			       .requested = 3,
			       .flags = 0x43,
			       .action = 1,
			       .wait_us = t ? (unsigned long long)((REAL0 + 3) * 1e6) : 0});
	scene_json(s);
	assert_true(json_is_true(json_object_get(row_of(frame(s, 0), 99), "hot")));
	assert_true(json_is_false(json_object_get(row_of(frame(s, 0), 100), "hot")));
}

/* ---- what is known of ended waits ---------------------------------------------------------- */

/*
 * A sample showed a wait of 0.1 s. Then four waits ended, with 5 s in all, and none is the longest
 * of the Lock's life. Each of them may have taken 1.25 s.
 */
static void several_waits_are_no_long_wait(void **state)
{
	struct scene *s = *state;
	json_t *row;

	clocks(s, 2);
	LINE(0, "node1", .ino = 512, .level = 0, .flags = 0x443, .action = 2, .requested = 5,
	     .gets = {0, 9}, .total_ns = {0, 20000000000}, .max = {0, 8300000},
	     .wait_us = STAMP(-0.1));
	LINE(1, "node1", .ino = 512, .level = 5, .gets = {0, 13}, .total_ns = {0, 25000000000},
	     .max = {0, 8300000}, .last_us = {0, STAMP(4.9)});
	scene_json(s);
	row = row_of(frame(s, 0), 512);
	assert_near(number(row, "longest_wait_s"), 1.25, 1e-3);
	assert_string_not_equal(word(row, "advice_code"), "WAIT_HUNG");
}

/* Writes the DLM's lock of a flock: its number, its state and since when. */
static void dlm_flock(struct scene *s, int t, unsigned id, int status, double since)
{
	char path[64];

	snprintf(path, sizeof(path), "t%d/node1/dlm/fs1_all", t);
	scene_file(s, path,
		   "rsb 00000000d40c03c4 0 0 0 0 0 0 24 str        6             200\n"
		   "lkb %x 0 0 1770 0 1c 0 %d %d 5 -1 0 0 2 %llu 0\n",
		   id, status, status == 2 ? 5 : -1, (unsigned long long)((UP0 + since) * 1e9));
}

/*
 * The wait that t0 shows began 1 s before. At t1 a process of this node holds the flock, since 4 s
 * after t0. That may be a later lock: only the reply's own time tells.
 */
static void a_flock_that_was_granted(struct scene *s, unsigned id, long long srttb)
{
	clocks(s, 2);
	scene_stats(s, 0, "node1", 6, 0x200, 8000000, 1, 1);
	scene_stats(s, 1, "node1", 6, 0x200, srttb, 1, 1);
	scene_glock(s, 0, "node1", 6, 0x200, "UN", "W", "EX", 0, "(none)");
	scene_glock(s, 1, "node1", 6, 0x200, "EX", "H", "EX", 0, "(none)");
	dlm_flock(s, 0, 0x1c6, 1, -1);
	dlm_flock(s, 1, id, 2, 4);
	scene_json(s);
}

static void the_grant_of_a_flock_ends_its_wait(void **state)
{
	struct scene *s = *state;

	/* an eighth of the way to 5 s */
	a_flock_that_was_granted(s, 0x1c6, 8000000 + (5000000000 - 8000000) / 8);
	assert_near(number(row_of(frame(s, 0), 512), "longest_wait_s"), 5, 1e-3);
}

static void the_grant_of_another_lock_of_the_dlm(void **state)
{
	struct scene *s = *state;

	a_flock_that_was_granted(s, 0x1c7, 8000000 + (5000000000 - 8000000) / 8);
	assert_near(number(row_of(frame(s, 0), 512), "longest_wait_s"), 1, 1e-3);
}

/* The DLM gives a number again. */
static void the_grant_of_a_later_flock(void **state)
{
	struct scene *s = *state;

	a_flock_that_was_granted(s, 0x1c6, 9000000);
	assert_near(number(row_of(frame(s, 0), 512), "longest_wait_s"), 1, 1e-3);
}

int main(void)
{
#define BAD(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
	    BAD(a_flock_made_anew_is_another_wait),    BAD(a_flock_that_hangs_is_one_wait),
	    BAD(a_second_holder_without_a_process),    BAD(a_local_holder_explains_an_answer),
	    BAD(one_wait_that_explains_the_row),       BAD(a_wait_beside_traffic),
	    BAD(a_short_wait_beside_fast_traffic),     BAD(few_ended_waits_are_a_hang),
	    BAD(many_ended_waits_are_traffic),         BAD(fast_traffic_with_a_long_wait),
	    BAD(a_small_part_needs_no_advice),         BAD(a_long_wait_is_hot),
	    BAD(several_waits_are_no_long_wait),       BAD(the_grant_of_a_flock_ends_its_wait),
	    BAD(the_grant_of_another_lock_of_the_dlm), BAD(the_grant_of_a_later_flock),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
