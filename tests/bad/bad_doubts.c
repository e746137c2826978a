/* SPDX-License-Identifier: MIT */
/*
 * bad_doubts.c - tests recordings on which a tool is easily and confidently wrong.
 *
 * Examples are half a file as a baseline, clocks that were set, and nodes that come, go and are not
 * concerned.
 */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void clocks(struct scene *s, int samples)
{
	for (int t = 0; t < samples; t++)
		scene_clock(s, t, "node1");
}

/* t0 has no glstats. The counts of a glock since its creation do not belong to the frame. */
static void glstats_missing_once(void **state)
{
	struct scene *s = *state;

	clocks(s, 3);
	for (int t = 0; t < 3; t++) {
		scene_glock(s, t, "node1", 2, 0x200, "SH", NULL, NULL, 0, NULL);
		if (t)
			scene_stats(s, t, "node1", 2, 0x200, 1000000, 100000 + (unsigned)t, 900000);
	}
	scene_json(s);
	assert_near(waited(s, 0, 512), 0, 1e-9);
	assert_null(row_of(frame(s, 0), 512));
}

/* One line of t0's glstats is broken. It may belong to the glock that seems new in t1. */
static void glstats_with_a_bad_line(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	for (int t = 0; t < 2; t++)
		scene_stats(s, t, "node1", 2, 0x300, 1000000, 100, 500);
	scene_file(s, "t0/node1/gfs2/" TABLE "/glstats",
		   "G: n:2/200 rtt:1/1 rttb:x/1 irt:1/1 dcnt: 100000 qcnt: 900000\n");
	scene_stats(s, 1, "node1", 2, 0x200, 1000000, 100000, 900000);
	scene_json(s);
	assert_null(row_of(frame(s, 0), 512));
}

/*
 * The wall clock is set forward by an hour between t0 and t1, and uptime says 5 s. 2 s were waited.
 * The wait that lasts began after t0, because no process waited at t0.
 */
static void clock_set_forward(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 2; t++) {
		scene_clocks(s, t, "node1", REAL0 + t * (3600 + STEP), UP0 + t * STEP);
		LINE(t, "node1", .ino = 100, .gets = {0, 100 + 10 * (unsigned)t},
		     .total_ns = {0, 2000000000ull * (unsigned)t}, .max = {0, 400000},
		     .last_us = {0, STAMP(t ? 4 : -1)});
		LINE(t, "node1", .ino = 300, .gets = {5, 0}, .wait_us = t ? STAMP(3) : 0);
	}
	scene_json(s);
	assert_near(waited(s, 0, 100), 2, 1e-6);
	assert_true(number(row_of(frame(s, 0), 300), "oldest_wait_s") <= STEP + 1e-6);
	assert_true(waited(s, 0, 300) <= STEP + 1e-6);
	assert_true(says(frame(s, 0), "node1: the clock went forward by 3600.000 s"));
}

/* 50 waits of 50 ms on one node are hot, however often another node uses its cache. */
static void cached_calls_hide_nothing(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 2; t++) {
		scene_clock(s, t, "node1");
		scene_clock(s, t, "node2");
		LINE(t, "node1", .ino = 100, .gets = {1000000u * (unsigned)t + 5, 0},
		     .total_ns = {1000000000ull * (unsigned)t, 0}, .max = {90000, 0});
		LINE(t, "node2", .ino = 100, .gets = {0, 50 * (unsigned)t + 5},
		     .total_ns = {0, 2500000000ull * (unsigned)t}, .max = {0, 90000});
		/* a lock that always comes from the cache is not hot */
		LINE(t, "node1", .ino = 200, .gets = {1000000u * (unsigned)t + 5, 0},
		     .total_ns = {1000000000ull * (unsigned)t, 0}, .max = {90000, 0});
	}
	scene_json(s);
	assert_true(json_is_true(json_object_get(row_of(frame(s, 0), 100), "hot")));
	assert_false(json_is_true(json_object_get(row_of(frame(s, 0), 200), "hot")));
}

/* A new node has lost no time that a frame could hold, even if processes wait there. */
static void waits_of_a_new_node(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	for (int t = 0; t < 2; t++)
		LINE(t, "node1", .ino = 100, .gets = {1, 0});
	scene_clock(s, 1, "node2");
	for (unsigned ino = 300; ino < 305; ino++)
		LINE(1, "node2", .ino = ino, .gets = {5, 0}, .wait_us = STAMP(STEP - 0.01));
	scene_json(s);
	assert_int_equal(number(json_object_get(frame(s, 0), "totals"), "waiting"), 5);
	assert_near(number(json_object_get(frame(s, 0), "totals"), "wait_s_per_s"), 0, 1e-9);
}

/* The node was up for 100 s, was away for 300 s and is up for 140 s. So it was started anew. */
static void reboot_while_away(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 3; t++) {
		scene_clock(s, t, "node1");
		LINE(t, "node1", .ino = 1, .gets = {1, 0});
	}
	scene_clocks(s, 0, "node2", REAL0, 100);
	scene_clocks(s, 2, "node2", REAL0 + 300, 140);
	LINE(0, "node2", .ino = 100, .gets = {100, 0}, .total_ns = {1000, 0});
	LINE(2, "node2", .ino = 100, .gets = {4100, 0}, .total_ns = {9000000000, 0});
	scene_json(s);
	assert_string_equal(word(node_in(frame(s, 1), "node2"), "state"), "restarted");
	assert_near(waited(s, 1, 100), 0, 1e-9);
}

/* Folders of nodes that are given one by one belong to one sample, as files do. */
static void folders_of_nodes(void **state)
{
	struct scene *s = *state;
	char a[128], b[128];
	json_t *o;

	for (int n = 1; n < 3; n++) {
		char node[8];

		snprintf(node, sizeof(node), "node%d", n);
		scene_clock(s, 0, node);
		LINE(0, node, .ino = 100, .gets = {1, 0}, .wait_us = STAMP(-8));
	}
	snprintf(a, sizeof(a), "%s/t0/node1", s->root);
	snprintf(b, sizeof(b), "%s/t0/node2", s->root);
	scene_run(s, "--json", a, b, NULL);
	assert_int_equal(s->status, 0);
	o = json_loads(s->out, 0, NULL);
	assert_non_null(o);
	assert_int_equal(number(json_object_get(o, "totals"), "waiting"), 2);
	json_decref(o);
}

/* The folder of a node beside the samples is not part of the recording. A message names it. */
static void stray_node(void **state)
{
	struct scene *s = *state;

	clocks(s, 3);
	for (int t = 0; t < 3; t++)
		LINE(t, "node1", .ino = 100, .gets = {1 + (unsigned)t, 0});
	scene_file(s, "copy/ocfs2/" UUID "/locking_state", "0x4\n");
	scene_json(s);
	assert_int_equal(s->n_frames, 2);
	assert_true(says(frame(s, 0), "copy"));
}

/*
 * Two file systems have the same inode number, and the list of names does not say which one it
 * means. No name is better than a wrong name.
 */
static void names_of_either(void **state)
{
	struct scene *s = *state;
	char names[128];
	json_t *o;

	clocks(s, 2);
	for (int t = 0; t < 2; t++) {
		LINE(t, "node1", .ino = 512, .gets = {1 + (unsigned)t, 0});
		scene_stats(s, t, "node1", 2, 512, 1000, 100, 500 + (unsigned)t);
	}
	scene_file(s, "names", "512 /srv/a/only.db\n");
	snprintf(names, sizeof(names), "--names=%s/names", s->root);
	scene_run(s, "--json", names, "@", NULL);
	assert_int_equal(s->status, 0);
	o = json_loads(s->out, 0, NULL);
	assert_non_null(o);
	assert_null(strstr(s->out, "only.db"));
	json_decref(o);
}

/* A name in a directory: the N lock of a node tells it. */
static void dentry(struct scene *s, int t, unsigned directory, unsigned inode)
{
	char path[128];

	snprintf(path, sizeof(path), "t%d/node1/ocfs2/" UUID "/locking_state", t);
	scene_file(s, path, "0x4\tN%016x%08x\t3\t0x41\t0x0\t0x0\t0\t0\t3\t-1\t", directory, inode);
	for (int i = 0; i < 64; i++)
		scene_file(s, path, "0x0\t");
	scene_file(s, path, "7\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t\n");
}

/*
 * The path of the file is unknown. If the path of a directory that has a name for the file is
 * known, the row names this directory.
 */
static void what_it_lies_in(void **state)
{
	struct scene *s = *state;
	char names[128];

	clocks(s, 2);
	for (int t = 0; t < 2; t++)
		for (unsigned ino = 512; ino <= 514; ino++) {
			LINE(t, "node1", .ino = ino, .gets = {1, 0}, .wait_us = STAMP(-8));
			dentry(s, t, ino == 514 ? 700 : 600, ino);
		}
	scene_file(s, "names", "600 /mnt/db\n513 /mnt/db/known\n");
	snprintf(names, sizeof(names), "--names=%s/names", s->root);
	scene_run(s, "-b", names, "@", NULL);
	assert_int_equal(s->status, 0);
	assert_non_null(strstr(s->out, "  <512> in /mnt/db/\n"));
	assert_non_null(strstr(s->out, "  /mnt/db/known\n"));
	assert_non_null(strstr(s->out, "  <514>\n"));
}

/* Unknown types of locks must not look like a cluster in which no process waits. */
static void types_and_spaces_that_are_not(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	for (int t = 0; t < 2; t++)
		LINE(t, "node1", .ino = 100, .gets = {1, 0}, .wait_us = STAMP(-8));
	scene_run(s, "--type", "INODES", "@", NULL);
	assert_int_equal(s->status, 2);
	assert_non_null(strstr(s->err, "INODES"));
	scene_run(s, "--fs", "ocfs", "@", NULL);
	assert_int_equal(s->status, 2);
	assert_non_null(strstr(s->err, UUID));
	scene_run(s, "--type", "meta", "@", NULL);
	assert_int_equal(s->status, 0);
}

/* node3 never had this file system, and node2 has none. Neither is to blame for a wait in it. */
static void blames_only_who_may_have_it(void **state)
{
	struct scene *s = *state;
	json_t *row;

	for (int t = 0; t < 3; t++) {
		scene_clock(s, t, "node1");
		scene_clock(s, t, "node2");
		LINE(t, "node1", .ino = 100, .gets = {1, 0}, .wait_us = STAMP(9.9));
		scene_file(s, "t0/node3/ocfs2/0123456789ABCDEF0123456789ABCDEF/locking_state", "%s",
			   "");
	}
	scene_clock(s, 0, "node3");
	scene_json(s);
	row = row_of(frame(s, 1), 100);
	assert_string_equal(word(node_in(frame(s, 1), "node3"), "state"), "not answering");
	assert_string_equal(word(node_in(frame(s, 1), "node2"), "state"), "nothing mounted");
	assert_null(strstr(word(row, "advice"), "node3"));
	assert_null(strstr(word(row, "advice"), "node2"));
}

/*
 * Two nodes write a file all the time, and a sample shows a wait of `age` seconds. node3 has not
 * answered since sample 1. Returns the code of the advice in the last frame.
 */
static const char *beside_a_silent_node(struct scene *s, unsigned calls, double age)
{
	for (int t = 0; t < 6; t++) {
		for (int n = 1; n <= (t ? 2 : 3); n++) {
			char node[8];

			snprintf(node, sizeof(node), "node%d", n);
			scene_clock(s, t, node);
			LINE(t, node, .ino = 100, .gets = {0, 10 + calls * (unsigned)t},
			     .total_ns = {0, 1000000000ull * (unsigned)(t + 1)}, .max = {0, 300000},
			     .last_us = {0, STAMP(STEP * t - (age < 4 ? age : 4))},
			     .wait_us = n == 1 && t == 5 ? STAMP(STEP * t - age) : 0,
			     .flags = n == 1 && t == 5 ? 0x43 : 0x41,
			     .action = n == 1 && t == 5 ? 2 : 0, .requested = 5);
		}
	}
	scene_json(s);
	return word(row_of(frame(s, 4), 100), "advice_code");
}

/* node2 answers with files that hold no usable line. It is there, so its power is on. */
static void a_node_with_unusable_files(void **state)
{
	struct scene *s = *state;
	const char *advice;

	for (int t = 0; t < 2; t++) {
		char path[128];

		scene_clock(s, t, "node1");
		scene_clock(s, t, "node2");
		LINE(t, "node1", .ino = 512, .level = 0, .flags = 0x443, .action = 2,
		     .requested = 3, .gets = {9, 9}, .wait_us = STAMP(-3));
		snprintf(path, sizeof(path), "t%d/node2/ocfs2/" UUID "/locking_state", t);
		scene_file(s, path, "%s", t ? "damaged\n" : "");
		if (!t)
			LINE(t, "node2", .ino = 512, .level = 5, .gets = {1, 1});
	}
	scene_json(s);
	assert_string_equal(word(node_in(frame(s, 0), "node2"), "state"), "unusable");
	advice = word(row_of(frame(s, 0), 512), "advice");
	if (!strstr(advice, "node1 waits while no line of node2 can be used"))
		fail_msg("%s", advice);
}

/* A node that has been away for long is not the cause of the short waits of traffic. */
static void a_silent_node_is_not_the_cause_of_traffic(void **state)
{
	assert_string_equal(beside_a_silent_node(*state, 100, 0.15), "HOT_WRITE_SHARED");
}

/* Neither is it that of a wait of 1.5 s on a busy file, as an overloaded machine has it. */
static void nor_of_a_busy_row(void **state)
{
	assert_string_equal(beside_a_silent_node(*state, 100, 1.5), "HOT_WRITE_SHARED");
}

/*
 * node1 was seen waiting for 30 s. That wait ended between two samples, and no file shows that any
 * of it was in this frame. node2 lost 1 s of the frame in 14 requests, of which 8 take: its mean of
 * 1 ms moves to 0.34361 ms + 125 ms x 0.65639. So the 30 s do not belong to node2, and do not
 * explain the row.
 */
static void an_ended_wait_outside_the_frame(void **state)
{
	struct scene *s = *state;
	const char *advice;

	for (int t = 0; t < 8; t++) {
		bool last = t == 7;

		scene_clock(s, t, "node1");
		scene_stats(s, t, "node1", 2, 0x200, 1000, 100, 500);
		scene_glock(s, t, "node1", 2, 0x200, "UN", last ? NULL : "AW", "SH", 77, "hotload");
		scene_clock(s, t, "node2");
		scene_stats(s, t, "node2", 2, 0x200, last ? 82392360 : 1000000, last ? 114 : 100,
			    last ? 516 : 500);
	}
	scene_json(s);
	assert_near(waited(s, 6, 512), 1, 1e-3);
	advice = word(row_of(frame(s, 6), 512), "advice");
	if (strstr(advice, "30.0 s") || strncmp(advice, "node2", 5) != 0)
		fail_msg("%s", advice);
}

/* A name is whole or missing, because half a name is another node. */
static void long_node_names(void **state)
{
	struct scene *s = *state;
	const char *advice;
	char node[64];

	for (int t = 0; t < 2; t++)
		for (int n = 1; n < 9; n++) {
			snprintf(node, sizeof(node), "db-cluster-production-east-%02d.example.com",
				 n);
			scene_clock(s, t, node);
			LINE(t, node, .ino = 100, .gets = {0, 1 + 10 * (unsigned)t},
			     .total_ns = {0, 1000000000ull * (unsigned)t}, .max = {0, 100000});
		}
	scene_json(s);
	advice = word(row_of(frame(s, 0), 100), "advice");
	assert_non_null(strstr(advice, "db-cluster-production-east-01.example.com"));
	assert_non_null(strstr(advice, " and 5 more write it"));
}

/*
 * Two nodes had the glock in SH, and one waits for it. The columns show the readers, so the advice
 * does not say that the frame shows none.
 */
static void readers_and_a_waiter(void **state)
{
	struct scene *s = *state;
	json_t *row;

	for (int t = 0; t < 2; t++)
		for (int n = 1; n <= 2; n++) {
			char node[8];

			snprintf(node, sizeof(node), "node%d", n);
			scene_clock(s, t, node);
			scene_stats(s, t, node, 2, 0x200, t ? 90000000 : 10000000,
				    100 + 20 * (unsigned)t, 500 + 20 * (unsigned)t);
			scene_glock(s, t, node, 2, 0x200, t ? "UN" : "SH",
				    t && n == 1 ? "AW" : NULL, "SH", 77, "work");
		}
	scene_json(s);
	row = row_of(frame(s, 0), 512);
	assert_int_equal(json_array_size(json_object_get(row, "readers")), 2);
	assert_int_equal(number(row, "waiting"), 1);
	assert_null(strstr(word(row, "advice"), "does not show"));
	assert_non_null(strstr(word(row, "advice"), "SH on node1 and node2"));
}

int main(void)
{
#define BAD(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
	    BAD(glstats_missing_once),
	    BAD(glstats_with_a_bad_line),
	    BAD(clock_set_forward),
	    BAD(cached_calls_hide_nothing),
	    BAD(waits_of_a_new_node),
	    BAD(reboot_while_away),
	    BAD(folders_of_nodes),
	    BAD(stray_node),
	    BAD(names_of_either),
	    BAD(what_it_lies_in),
	    BAD(types_and_spaces_that_are_not),
	    BAD(blames_only_who_may_have_it),
	    BAD(a_node_with_unusable_files),
	    BAD(a_silent_node_is_not_the_cause_of_traffic),
	    BAD(nor_of_a_busy_row),
	    BAD(an_ended_wait_outside_the_frame),
	    BAD(long_node_names),
	    BAD(readers_and_a_waiter),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
