/* SPDX-License-Identifier: MIT */
/*
 * bad_away.c - tests what o2top says of nodes that did not answer for a while.
 */
#include "scene.h"

#include <stdio.h>
#include <string.h>

/*
 * Three nodes: node3 held the lock and did not answer. The sample of node1 is missing, too, but
 * node1 waited itself, so it is not the cause.
 */
static void a_waiter_that_was_away_is_no_cause(void **state)
{
	struct scene *s = *state;
	const char *advice;

	for (int t = 0; t < 3; t++) {
		for (int n = 1; n <= 3; n++) {
			char node[8];

			snprintf(node, sizeof(node), "node%d", n);
			if (t == 1 && n != 2)
				continue;
			scene_clock(s, t, node);
			LINE(t, node, .ino = 7, .gets = {1, 1});
			if (n < 3 && t < 2)
				LINE(t, node, .ino = 512, WAITING, .gets = {9, 9},
				     .wait_us = STAMP(-3));
			else if (n < 3)
				LINE(t, node, .ino = 512, .gets = {10, 9},
				     .total_ns = {9000000000ull, 0}, .max = {9000000, 0},
				     .last_us = {STAMP(6), 0});
		}
	}
	scene_json(s);
	advice = word(row_of(frame(s, 1), 512), "advice");
	if (!strstr(advice, "check what node3 did"))
		fail_msg("%s", advice);
}

/*
 * node1 waited for 30 s. node2 missed a sample, so it was silent for 10 s at most. The wait began
 * long before, so node2 is not its cause.
 */
static void a_short_silence_is_no_cause_of_a_long_wait(void **state)
{
	struct scene *s = *state;
	const char *advice;

	for (int t = 0; t < 8; t++) {
		bool over = t == 7;

		scene_clock(s, t, "node1");
		LINE(t, "node1", .ino = 512, .flags = over ? 0x41 : 0x43, .action = over ? 0 : 2,
		     .requested = 3, .gets = {9 + over, 0},
		     .total_ns = {over ? 30000000000ull : 0, 0}, .max = {over ? 30000000 : 0, 0},
		     .last_us = {over ? STAMP(33) : 0, 0}, .wait_us = over ? 0 : STAMP(3));
		if (t == 6)
			continue;
		scene_clock(s, t, "node2");
		LINE(t, "node2", .ino = 512, .gets = {1, 1});
	}
	scene_json(s);
	advice = word(row_of(frame(s, 6), 512), "advice");
	if (!strstr(advice, "check what the node that held the lock did"))
		fail_msg("%s", advice);
}

/* Sample t: node2 is in t0 only. node1 has waited since `since` seconds after t0. */
static void sample_of_node1(struct scene *s, int t, double since)
{
	scene_clock(s, t, "node1");
	if (!t) {
		scene_clock(s, t, "node2");
		LINE(t, "node2", .ino = 512, .level = 5, .gets = {1, 1});
	}
	LINE(t, "node1", .ino = 512, .level = 0, .flags = t ? 0x443 : 0, .action = t ? 2 : 0,
	     .requested = t ? 3 : -1, .gets = {9, 9}, .wait_us = t ? STAMP(since) : 0);
}

/* t1 lacks node2. */
static void a_sample_without_node2(struct scene *s, double since)
{
	for (int t = 0; t < 2; t++)
		sample_of_node1(s, t, since);
	scene_json(s);
}

/* A busy machine misses a frame now and then. Meanwhile there are short waits. */
static void a_late_node_is_no_cause(void **state)
{
	struct scene *s = *state;

	a_sample_without_node2(s, 4);
	assert_false(has_banner(frame(s, 0), "node2 silent"));
}

static void a_silent_node_is_the_cause(void **state)
{
	struct scene *s = *state;

	a_sample_without_node2(s, 0.5);
	assert_true(
	    has_banner(frame(s, 0), "node2 silent for 5.00 s: 1 wait on 1 file began then"));
}

/* The files are those of the waits that began then. A later wait has a file of its own. */
static void files_of_the_waits_that_began_then(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 3; t++) {
		sample_of_node1(s, t, 0.5);
		LINE(t, "node1", .ino = 513, .level = 0, .flags = t == 2 ? 0x443 : 0,
		     .action = t == 2 ? 2 : 0, .requested = t == 2 ? 3 : -1, .gets = {9, 9},
		     .wait_us = t == 2 ? STAMP(8) : 0);
	}
	scene_json(s);
	assert_true(has_banner(frame(s, 1), ": 1 wait on 1 file began then, 1 more since"));
}

/* The answering node's daemons know more: of quorum, of fencing, of lock spaces. */
static void daemons_tell_of_the_trouble(void **state)
{
	struct scene *s = *state;

	scene_file(
	    s, "t1/node1/daemons",
	    "= corosync-quorumtool -s\nQuorum information\nNodes:            2\n"
	    "Quorate:          Yes\nExpected votes:   3\n"
	    "= dlm_tool status\ncluster nodeid 1 quorate 1 ring seq 13 13\n"
	    "daemon now 1210 fence_pid 0\n"
	    "fence 2 nodedown pid 0 actor 0 fail 1201 fence 0 now 1210\n"
	    "node 1 M add 36 rem 0 fail 0 fence 0 at 0 0\n"
	    "node 2 X add 36 rem 1201 fail 1201 fence 0 at 0 0\n"
	    "= dlm_tool ls\ndlm lockspaces\nname          fs1\nid            0x5de61953\n"
	    "change        member 3 joined 1 remove 0 failed 0 seq 3,3\nmembers       1 2 3\n"
	    "new change    member 2 joined 0 remove 1 failed 1 seq 4,4\n"
	    "new status    wait fencing\nnew members   1 3\n");
	a_sample_without_node2(s, 0.5);
	assert_true(
	    has_banner(frame(s, 0), "no recovery is seen; the others have quorum; fencing of "));
	assert_true(has_banner(frame(s, 0), "fencing of node 2 is not done; lock space fs1: wait "
					    "fencing; check its power and its fencing"));
	/* a recording has the answers */
	scene_json_replayed(s);
	assert_true(has_banner(frame(s, 0), "fencing of node 2 is not done"));
}

/* Without quorum no node is fenced. A daemon that hangs is trouble, too. */
static void daemons_without_quorum(void **state)
{
	struct scene *s = *state;

	scene_file(s, "t1/node1/daemons",
		   "= dlm_tool status\ncluster nodeid 1 quorate 0 ring seq 13 13\nlate\n");
	a_sample_without_node2(s, 0.5);
	assert_true(has_banner(frame(s, 0),
			       "; no quorum on node1; corosync or dlm_controld does not "
			       "answer on 1 node; check its power"));
}

int main(void)
{
#define SCENE(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
	    SCENE(a_waiter_that_was_away_is_no_cause),
	    SCENE(a_short_silence_is_no_cause_of_a_long_wait),
	    SCENE(a_late_node_is_no_cause),
	    SCENE(a_silent_node_is_the_cause),
	    SCENE(files_of_the_waits_that_began_then),
	    SCENE(daemons_tell_of_the_trouble),
	    SCENE(daemons_without_quorum),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
