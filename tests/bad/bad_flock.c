/* SPDX-License-Identifier: MIT */
/*
 * bad_flock.c - tests the time that flock(2) lost, which no counter of a lock tells.
 *
 * The flock is that of inode 512. A sample comes each 5 s.
 */
#include "scene.h"

#include <stdio.h>
#include <string.h>

enum { SAMPLES = 9 };

/* An OCFS2 flock of which samples 2, 4, 6 and 8 show a wait of 10 ms. */
static void ocfs2_waits(struct scene *s)
{
	for (int t = 0; t < SAMPLES; t++) {
		scene_clock(s, t, "node1");
		scene_line(s, t, "node1",
			   (struct state_line){
			       .type = 'F',
			       .ino = 512,
			       .requested = t && t % 2 == 0 ? 5 : -1,
			       .flags = t && t % 2 == 0 ? 0x242 : 0x240,
			       .action = t && t % 2 == 0 ? 1 : 0,
			       .wait_us = t && t % 2 == 0
					      ? (unsigned long long)((REAL0 + 5 * t - 0.01) * 1e6)
					      : 0});
	}
	scene_json(s);
}

/* Half of the samples show one wait, so half a second a second was lost. */
static void waits_seen_are_an_estimate(void **state)
{
	struct scene *s = *state;
	json_t *row;

	ocfs2_waits(s);
	row = row_of(frame(s, SAMPLES - 2), 512);
	assert_near(number(row, "wait_s"), 5 * 4.0 / SAMPLES, 0.02);
	assert_true(json_is_true(json_object_get(row, "estimated")));
	assert_string_equal(word(row, "advice_code"), "HOT_FLOCK");
	/* the kernel counts neither */
	assert_true(is_null(row, "longest_wait_s"));
}

/* One wait that is older than the frame is measured, and no estimate is added. */
static void a_long_wait_is_measured(void **state)
{
	struct scene *s = *state;
	json_t *row;

	for (int t = 0; t < 3; t++) {
		scene_clock(s, t, "node1");
		scene_line(s, t, "node1",
			   (struct state_line){.type = 'F',
					       .ino = 512,
					       .requested = 5,
					       .flags = 0x242,
					       .action = 1,
					       .wait_us = (unsigned long long)((REAL0 - 1) * 1e6)});
	}
	scene_json(s);
	row = row_of(frame(s, 1), 512);
	assert_near(number(row, "wait_s"), 5, 1e-3);
	assert_true(json_is_false(json_object_get(row, "estimated")));
	assert_near(number(row, "longest_wait_s"), 11, 1e-3);
}

/*
 * A wait of 12 s, and then nothing. Sample 1 showed it at an age of 1 s. The samples 2 and 3
 * measure it. So sample 1 stands for no other waits. The end lies between the samples 3 and 4, and
 * half of this time is the estimate. Without this half the sum is 12.5 s.
 */
static void a_long_wait_is_counted_once(void **state)
{
	struct scene *s = *state;
	double sum = 0;

	for (int t = 0; t < SAMPLES; t++) {
		bool waits = t >= 1 && t <= 3;

		scene_clock(s, t, "node1");
		scene_line(s, t, "node1",
			   (struct state_line){.type = 'F',
					       .ino = 512,
					       .requested = waits ? 5 : -1,
					       .flags = waits ? 0x242 : 0x240,
					       .action = waits ? 1 : 0,
					       .wait_us = waits ? STAMP(4) : 0});
	}
	scene_json(s);
	for (int t = 0; t + 1 < SAMPLES; t++)
		sum += waited(s, (size_t)t, 512);
	/* with two samples in the window, sample 1 stood for half of the time at first */
	assert_near(sum, 11 + STEP / 2 + 1.5, 1e-3);
}

/*
 * Another wait begins 1 s before the sample that lacks a long one. So the long wait ended in the 4
 * s before, in the mean after 2 s. The window's estimate of the short wait comes to it.
 */
static void a_wait_follows_a_long_one(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 4; t++) {
		scene_clock(s, t, "node1");
		scene_line(s, t, "node1",
			   (struct state_line){.type = 'F',
					       .ino = 512,
					       .requested = 5,
					       .flags = 0x242,
					       .action = 1,
					       .wait_us = t < 3 ? STAMP(-1) : STAMP(14)});
	}
	scene_json(s);
	assert_near(waited(s, 2, 512), 2 + STEP * 1 / 4, 1e-3);
	assert_true(json_is_true(json_object_get(row_of(frame(s, 2), 512), "estimated")));
}

static void totals(struct scene *s, int t, unsigned long long srttb, unsigned dlm, unsigned queue)
{
	char path[128];

	snprintf(path, sizeof(path), "t%d/node1/gfs2/" TABLE "/sbstats", t);
	scene_file(s, path,
		   "type            cpu:               0               1\n"
		   "flock         srttb: %15llu %15llu\n"
		   "flock           dlm: %15u %15u\n"
		   "flock         queue: %15u %15u\n",
		   srttb, srttb, dlm, 7, queue, 3);
}

/*
 * 100 flocks of 10 ms in the frame, by the type's totals. Two inodes share them: the first showed a
 * wait, the second only a glock.
 */
static void totals_of_the_type(void **state)
{
	struct scene *s = *state;
	double first, second;

	for (int t = 0; t < 2; t++) {
		scene_clock(s, t, "node1");
		totals(s, t, 10000000, 300 * (unsigned)t, 100 * (unsigned)t);
		scene_stats(s, t, "node1", 6, 0x200, 1000 + t, 1, 1);
		scene_stats(s, t, "node1", 6, 0x201, 1000 + t, 1 + (unsigned)t, 1 + (unsigned)t);
		scene_glock(s, t, "node1", 6, 0x200, "UN", t ? "W" : NULL, "EX", 0, "(none)");
		scene_glock(s, t, "node1", 6, 0x201, "EX", NULL, NULL, 0, NULL);
	}
	scene_json(s);
	first = number(row_of(frame(s, 0), 0x200), "wait_s");
	second = number(row_of(frame(s, 0), 0x201), "wait_s");
	assert_near(first + second, 1, 1e-3);
	assert_true(first > 3 * second);
	assert_true(json_is_true(json_object_get(row_of(frame(s, 0), 0x200), "estimated")));
}

/* A wait for 0x200 that two samples showed, and a glock of 0x201 that is listed. */
static void measured_and_listed(struct scene *s, int t, bool waits)
{
	scene_stats(s, t, "node1", 6, 0x200, 1000, 1, 1);
	scene_stats(s, t, "node1", 6, 0x201, 1000, 1, 1);
	scene_glock(s, t, "node1", 6, 0x200, "UN", waits ? "W" : NULL, "EX", 77, "work");
	scene_glock(s, t, "node1", 6, 0x201, "EX", NULL, NULL, 0, NULL);
}

/*
 * A wait of 12 s is measured for 10 s. It comes into the total when it ends, and then the total
 * also has 100 short waits of 10 ms. The 10 s are not counted again, as time of the other flock.
 */
static void totals_hold_measured_waits(void **state)
{
	struct scene *s = *state;
	double before = 0, sum;

	for (int t = 0; t < 5; t++) {
		scene_clock(s, t, "node1");
		/* 101 requests with a mean of 128.7 ms: 13 s */
		totals(s, t, t < 4 ? 1000 : 257424742, t < 4 ? 0 : 301, t < 4 ? 0 : 101);
		measured_and_listed(s, t, t >= 1 && t <= 3);
	}
	scene_json(s);
	for (size_t n = 0; n < 3; n++)
		before += waited(s, n, 512);
	assert_near(before, 10, 1e-3);
	sum = waited(s, 3, 512) + waited(s, 3, 513);
	assert_near(sum, 3, 0.1);
}

/*
 * The totals tell 1 s a frame, but no sample showed a wait lately. Two estimates differ: 1 s, and
 * 0. Once there are 12 samples, their mean counts.
 */
static void totals_and_samples(void **state)
{
	enum { MANY = 15 };
	struct scene *s = *state;

	for (int t = 0; t < MANY; t++) {
		scene_clock(s, t, "node1");
		totals(s, t, 10000000, 300 * (unsigned)t, 100 * (unsigned)t);
		scene_stats(s, t, "node1", 6, 0x200, 1000 + t, 1 + (unsigned)t, 1 + (unsigned)t);
		scene_glock(s, t, "node1", 6, 0x200, "EX", NULL, NULL, 0, NULL);
	}
	scene_json(s);
	assert_near(waited(s, 5, 512), 1, 1e-3);
	assert_near(waited(s, MANY - 2, 512), 0.5, 1e-3);
}

/* The agent of another machine tells three lines, with one blank between two words. */
static void totals_of_an_agent(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 2; t++) {
		char path[128];

		scene_clock(s, t, "node1");
		snprintf(path, sizeof(path), "t%d/node1/gfs2/" TABLE "/sbstats", t);
		scene_file(s, path, "flock srttb: 10000000\nflock dlm: %d\nflock queue: %d\n",
			   300 * t, 100 * t);
		measured_and_listed(s, t, t == 1);
	}
	scene_json(s);
	assert_near(waited(s, 0, 512) + waited(s, 0, 513), 1, 1e-3);
}

/* The totals fell, because the file system was mounted anew: nothing is known of the frame. */
static void totals_that_fell(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 2; t++) {
		scene_clock(s, t, "node1");
		totals(s, t, 10000000, t ? 3 : 300, t ? 1 : 100);
		scene_stats(s, t, "node1", 6, 0x200, 1000 + t, 1, 1);
		scene_glock(s, t, "node1", 6, 0x200, "UN", t ? "W" : NULL, "EX", 0, "(none)");
	}
	scene_json(s);
	assert_near(waited(s, 0, 0x200), 0, 1e-9);
}

/* These write a line of an OCFS2 flock in sample t: an idle file, a holder, a waiter. */
static void idle(struct scene *s, int t, const char *node)
{
	scene_line(s, t, node,
		   (struct state_line){
		       .type = 'F', .ino = 512, .level = -1, .flags = 0x240, .requested = -1});
}

static void holds(struct scene *s, int t, const char *node)
{
	scene_line(s, t, node,
		   (struct state_line){
		       .type = 'F', .ino = 512, .level = 5, .flags = 0x241, .requested = 5});
}

static void waits_since(struct scene *s, int t, const char *node, double since)
{
	scene_line(s, t, node,
		   (struct state_line){.type = 'F',
				       .ino = 512,
				       .requested = 5,
				       .flags = 0x242,
				       .action = 1,
				       .wait_us = STAMP(since)});
}

/*
 * A flock has a line for each open file, and the newest file comes first. node1 holds it with the
 * oldest file, so the last line tells it. A process of node1 waits, too.
 */
static void the_holder_is_not_the_first_line(void **state)
{
	struct scene *s = *state;
	const char *text;
	json_t *row;

	for (int t = 0; t < 2; t++) {
		scene_clock(s, t, "node1");
		scene_clock(s, t, "node2");
		idle(s, t, "node1");
		waits_since(s, t, "node1", -2);
		holds(s, t, "node1");
		waits_since(s, t, "node2", -3);
	}
	scene_json(s);
	row = row_of(frame(s, 0), 512);
	text = word(row, "sentence");
	if (!strstr(text, "a process on node1 holds EX (flock); node1 and node2 wait 8.00 s"))
		fail_msg("%s", text);
	assert_non_null(strstr(word(row, "advice"), "on node1: "));
}

/*
 * The lock's master says that node1 has the flock. The lines of node1 do not show it. No node
 * caches a flock, so a process has it.
 */
static void no_node_caches_a_flock(void **state)
{
	struct scene *s = *state;
	json_t *row;

	for (int t = 0; t < 2; t++) {
		char path[128];

		scene_clock(s, t, "node1");
		scene_clock(s, t, "node2");
		idle(s, t, "node1");
		waits_since(s, t, "node2", -3);
		snprintf(path, sizeof(path), "t%d/node1/o2dlm/" UUID "/dlm_state", t);
		scene_file(s, path, "Thread Pid: 209  Node: 1  State: JOINED\n");
		snprintf(path, sizeof(path), "t%d/node1/o2dlm/" UUID "/locking_state", t);
		scene_file(s, path,
			   "NAME:F000000000000000000020000000000\nLRES:1,1,16,0,0,0,0,0,0,0,4\n"
			   "RMAP:\nLVBX:00\nLOCK:1,0,5,-1,1,1:36,0,0,0,0,1,0,0,0,2\n"
			   "LOCK:1,2,5,-1,2,2:36,0,0,0,0,1,0,0,0,2\n\n");
	}
	scene_json(s);
	row = row_of(frame(s, 0), 512);
	assert_non_null(strstr(word(row, "sentence"), "a process on node1 holds EX (flock)"));
	assert_null(strstr(word(row, "advice"), "dmesg"));
}

/* Three processes of node1 share the flock. The line names node1 once. */
static void a_node_is_named_once(void **state)
{
	struct scene *s = *state;
	const char *text;

	for (int t = 0; t < 2; t++) {
		char path[128];

		scene_clock(s, t, "node1");
		scene_clock(s, t, "node2");
		waits_since(s, t, "node2", -3);
		snprintf(path, sizeof(path), "t%d/node1/o2dlm/" UUID "/dlm_state", t);
		scene_file(s, path, "Thread Pid: 209  Node: 1  State: JOINED\n");
		snprintf(path, sizeof(path), "t%d/node1/o2dlm/" UUID "/locking_state", t);
		scene_file(s, path,
			   "NAME:F000000000000000000020000000000\nLRES:1,1,16,0,0,0,0,0,0,0,4\n");
		for (int i = 0; i < 3; i++) {
			scene_line(s, t, "node1",
				   (struct state_line){.type = 'F',
						       .ino = 512,
						       .level = 3,
						       .flags = 0x241,
						       .requested = 3});
			scene_file(s, path, "LOCK:1,0,3,-1,1,1:%d,0,0,0,0,1,0,0,0,2\n", 36 + i);
		}
	}
	scene_json(s);
	text = word(row_of(frame(s, 0), 512), "sentence");
	if (!strstr(text, "<512>: a process on node1 holds PR (flock); node2 waits 8.00 s"))
		fail_msg("%s", text);
}

/*
 * Files are opened and closed, so the line of a wait moves. The wait goes on all the same, counts
 * once, and keeps its age.
 */
static void lines_change_their_order(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 5; t++) {
		scene_clock(s, t, "node1");
		for (int i = 0; i < (t % 2 ? 0 : 1 + t); i++)
			idle(s, t, "node1");
		waits_since(s, t, "node1", -3);
	}
	scene_json(s);
	for (size_t n = 0; n < 4; n++) {
		json_t *row = row_of(frame(s, n), 512);

		assert_near(number(row, "wait_s"), STEP, 1e-3);
		assert_near(number(row, "oldest_wait_s"), 8 + STEP * (double)n, 1e-3);
	}
}

/* The kernel leaves the flock out of a sample. Its wait goes on, and no second is lost. */
static void a_flock_is_left_out(void **state)
{
	struct scene *s = *state;
	double sum = 0;

	for (int t = 0; t < 4; t++) {
		scene_clock(s, t, "node1");
		LINE(t, "node1", .ino = 7);
		if (t != 2)
			waits_since(s, t, "node1", -3);
	}
	scene_json(s);
	for (size_t n = 0; n < 3; n++)
		sum += waited(s, n, 512);
	assert_near(sum, 3 * STEP, 1e-3);
}

/* node2 lost time to another lock of the file. It does not wait for the flock. */
static void only_waiters_for_the_flock_are_named(void **state)
{
	struct scene *s = *state;
	const char *advice;

	for (int t = 0; t < 2; t++) {
		scene_clock(s, t, "node1");
		scene_clock(s, t, "node2");
		waits_since(s, t, "node1", 5 * t - 0.5);
		LINE(t, "node2", .ino = 512, .gets = {10 + (unsigned)t, 0},
		     .total_ns = {1000000ull * (unsigned)(1 + t), 0}, .max = {1000, 0});
	}
	scene_json(s);
	advice = word(row_of(frame(s, 0), 512), "advice");
	if (strncmp(advice, "node1 waits for flock(2)", 24) != 0)
		fail_msg("%s", advice);
}

/* A process that gives its flock up waits for the DLM, and wants neither to read nor to write. */
static void giving_up_is_no_wish(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 2; t++) {
		scene_clock(s, t, "node1");
		scene_line(s, t, "node1",
			   (struct state_line){.type = 'F',
					       .ino = 512,
					       .level = 5,
					       .flags = 0xa47,
					       .action = 3,
					       .wait_us = STAMP(-3)});
	}
	scene_run(s, "-b", "--details", "@", NULL);
	assert_non_null(strstr(s->out, "waits 8.00 s\n"));
	assert_null(strstr(s->out, "to read"));
}

int main(void)
{
#define BAD(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
	    BAD(waits_seen_are_an_estimate),  BAD(a_long_wait_is_measured),
	    BAD(a_long_wait_is_counted_once), BAD(a_wait_follows_a_long_one),
	    BAD(totals_of_the_type),          BAD(totals_that_fell),
	    BAD(totals_hold_measured_waits),  BAD(totals_of_an_agent),
	    BAD(totals_and_samples),          BAD(the_holder_is_not_the_first_line),
	    BAD(no_node_caches_a_flock),      BAD(lines_change_their_order),
	    BAD(a_flock_is_left_out),         BAD(only_waiters_for_the_flock_are_named),
	    BAD(giving_up_is_no_wish),        BAD(a_node_is_named_once),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
