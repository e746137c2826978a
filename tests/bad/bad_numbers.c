/* SPDX-License-Identifier: MIT */
/*
 * bad_numbers.c - tests the nodes that have the numbers in the DLMs' dumps.
 */
#include "scene.h"

#include <stdio.h>
#include <string.h>

#define M512 "M000000000000000000020000000000"

/* A machine is in the recording under two names. The problems tell it. */
static void one_machine_has_two_names(void **state)
{
	struct scene *s = *state;
	static const char *const names[] = {"node1", "node1b", "node2"};

	for (int t = 0; t < 2; t++)
		for (int n = 0; n < 3; n++) {
			char path[128];

			scene_clock(s, t, names[n]);
			snprintf(path, sizeof(path), "t%d/%s/o2dlm/" UUID "/dlm_state", t,
				 names[n]);
			scene_file(s, path, "Thread Pid: 209  Node: %d  State: JOINED\n",
				   n == 2 ? 2 : 1);
			if (n < 2)
				LINE(t, names[n], .ino = 512, .level = 0, .flags = 0x443,
				     .action = 2, .requested = 3, .gets = {9, 9},
				     .wait_us = STAMP(-3));
			else
				LINE(t, names[n], .ino = 512, .level = 5, .flags = 0x145,
				     .holders = {0, 1}, .gets = {1, 1});
		}
	scene_json(s);
	if (!strstr(s->err, "node1b: it has number 1 in the DLM, as node1: "))
		fail_msg("%s", s->err);
	if (strstr(s->err, "node2: it has number"))
		fail_msg("%s", s->err);
}

/*
 * node1 is the master of a glock, for which it waits. The DLM's node 3 has it in EX. Nothing tells
 * which number node2 and node3 have, so node 3 may be any of them.
 */
static void a_number_without_a_name(void **state)
{
	struct scene *s = *state;
	json_t *row;

	for (int t = 0; t < 2; t++) {
		char path[128];

		for (int n = 1; n <= 3; n++) {
			char node[8];

			snprintf(node, sizeof(node), "node%d", n);
			scene_clock(s, t, node);
			scene_stats(s, t, node, 2, n == 1 ? 0x200 : 0x300, 1000, 100, 500);
			scene_glock(s, t, node, 2, n == 1 ? 0x200 : 0x300, "UN",
				    n == 1 ? "W" : NULL, "SH", 88, "hotload");
		}
		snprintf(path, sizeof(path), "t%d/node1/dlm/fs1_all", t);
		scene_file(s, path,
			   "rsb 00 0 0 0 0 0 0 24 str        2             200\n"
			   "lkb 5f7 3 1c6 1766 0 1c 10000 2 5 -1 5 0 0 2 4990000000000 0\n"
			   "lkb 5fb 0 0 1757 0 1c 0 3 0 3 0 0 0 4 4998000000000 0\n");
	}
	scene_json(s);
	row = row_of(frame(s, 0), 512);
	if (!strstr(word(row, "sentence"), "the DLM's node 3, whose name is not known, holds EX"))
		fail_msg("%s", word(row, "sentence"));
	if (!strstr(word(row, "advice"), "find the node with this number"))
		fail_msg("%s", word(row, "advice"));
	assert_null(strstr(s->out, "dead or not watched"));
}

/*
 * node2 falls silent, and node3 comes back with node2's number in the DLM. This number holds the
 * lock for which node1 waits.
 */
static void a_number_goes_to_another_node(void **state)
{
	struct scene *s = *state;
	const char *text;

	for (int t = 0; t < 4; t++)
		for (int n = 1; n <= 3; n++) {
			int number = n == 3 && t > 1 ? 2 : n;
			char node[8], path[128];

			if (n == 2 && t > 1)
				continue;
			snprintf(node, sizeof(node), "node%d", n);
			scene_clocks(s, t, node, REAL0 + STEP * t,
				     n == 3 && t > 1 ? STEP * t : UP0 + STEP * t);
			snprintf(path, sizeof(path), "t%d/%s/o2dlm/" UUID "/dlm_state", t, node);
			scene_file(s, path, "Thread Pid: 209  Node: %d  State: JOINED\n", number);
			snprintf(path, sizeof(path), "t%d/%s/o2dlm/" UUID "/locking_state", t,
				 node);
			scene_file(s, path,
				   "NAME:" M512
				   "\nLRES:1,1,16,0,0,0,0,0,0,0,4\nRMAP:\nLVBX:00\n%s\n",
				   n > 1 ? "" : "LOCK:1,0,5,-1,2,2:36,0,0,0,0,1,0,0,0,2\n");
			if (n == 1)
				LINE(t, node, .ino = 512, .level = 0, .flags = 0x443, .action = 2,
				     .requested = 3, .gets = {9, 9}, .wait_us = STAMP(-3));
			else
				LINE(t, node, .ino = n == 3 && t > 1 ? 512 : 600, .level = 5,
				     .flags = 0x145, .holders = {0, 1}, .gets = {1, 1});
		}
	scene_json(s);
	text = word(row_of(frame(s, 2), 512), "sentence");
	if (!strstr(text, "on node3 holds EX; node1"))
		fail_msg("%s", text);
}

int main(void)
{
#define SCENE(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
	    SCENE(one_machine_has_two_names),
	    SCENE(a_number_without_a_name),
	    SCENE(a_number_goes_to_another_node),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
