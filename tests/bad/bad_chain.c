/* SPDX-License-Identifier: MIT */
/*
 * bad_chain.c - tests that a sentence follows a wait to its root, and names a deadlock.
 *
 * Glock 2/200 is inode 512, 2/201 is inode 513. Each node waits since before t0.
 */
#include "scene.h"

#include <stdio.h>
#include <string.h>

static void clocks(struct scene *s, int nodes)
{
	char name[16];

	for (int t = 0; t < 2; t++)
		for (int n = 1; n <= nodes; n++) {
			snprintf(name, sizeof(name), "node%d", n);
			scene_clock(s, t, name);
		}
}

/* A glock in both samples, with a holder and a waiter; pid 0: there is none. */
static void glock(struct scene *s, const char *node, unsigned ino, const char *state, int holder,
		  int waiter)
{
	char path[128];

	for (int t = 0; t < 2; t++) {
		scene_stats(s, t, node, 2, ino, 1000, 100, 500);
		scene_glock(s, t, node, 2, ino, state, holder ? "H" : NULL, "EX", holder, "holder");
		snprintf(path, sizeof(path), "t%d/%s/gfs2/" TABLE "/glocks", t, node);
		if (waiter)
			scene_file(s, path, " H: s:EX f:W e:0 p:%d [waiter] gfs2_open+0x1 [gfs2]\n",
				   waiter);
	}
}

static const char *sentence_of(struct scene *s, unsigned ino)
{
	json_t *row = row_of(frame(s, 0), ino);

	assert_non_null(row);
	return is_null(row, "sentence") ? "" : word(row, "sentence");
}

static void tells(struct scene *s, unsigned ino, const char *text)
{
	if (!strstr(sentence_of(s, ino), text))
		fail_msg("'%s' does not say '%s'", sentence_of(s, ino), text);
}

static void tells_not(struct scene *s, unsigned ino, const char *text)
{
	if (strstr(sentence_of(s, ino), text))
		fail_msg("'%s' says '%s'", sentence_of(s, ino), text);
}

/*
 * node3 waits for 2/200. Pid 10 of node1 holds it, and waits for 2/201. Pid 20 of node2 holds that.
 */
static void the_root_is_named(void **state)
{
	struct scene *s = *state;
	const char *advice;

	clocks(s, 3);
	glock(s, "node3", 0x200, "UN", 0, 30);
	glock(s, "node1", 0x200, "EX", 10, 0);
	glock(s, "node1", 0x201, "UN", 0, 10);
	glock(s, "node2", 0x201, "EX", 20, 0);
	scene_json(s);
	tells(s, 0x200, "(node3 -> node1 -> node2)");
	tells(s, 0x200, "pid 20 holder on node2 holds EX");
	advice = word(row_of(frame(s, 0), 0x200), "advice");
	/* the command is about the file that node2 holds */
	if (!strstr(advice, "on node2: gfs2_edit -p 513"))
		fail_msg("%s", advice);
}

/*
 * The process that took 2/200 has ended. Its number belongs to another process now, which waits for
 * 2/201.
 */
static void an_ended_process_is_no_chain(void **state)
{
	struct scene *s = *state;

	clocks(s, 3);
	glock(s, "node3", 0x200, "UN", 0, 30);
	for (int t = 0; t < 2; t++) {
		scene_stats(s, t, "node1", 2, 0x200, 1000, 100, 500);
		scene_glock(s, t, "node1", 2, 0x200, "EX", "H", "EX", 10, "(ended)");
	}
	glock(s, "node1", 0x201, "UN", 0, 10);
	glock(s, "node2", 0x201, "EX", 20, 0);
	scene_json(s);
	tells_not(s, 0x200, "->");
	tells(s, 0x200, "pid 10, which has ended on node1, holds EX; node3 (pid 30 waiter) waits");
	assert_non_null(strstr(word(row_of(frame(s, 0), 0x200), "advice"), "gfs2_edit -p 512"));
}

/* The process of node1 that waits for 2/201 is not the one that holds 2/200: no chain. */
static void another_process_is_no_chain(void **state)
{
	struct scene *s = *state;

	clocks(s, 3);
	glock(s, "node3", 0x200, "UN", 0, 30);
	glock(s, "node1", 0x200, "EX", 10, 0);
	glock(s, "node1", 0x201, "UN", 0, 11);
	glock(s, "node2", 0x201, "EX", 20, 0);
	scene_json(s);
	tells_not(s, 0x200, "->");
	tells(s, 0x200, "pid 10 holder on node1 holds EX");
}

/* Pid 10 of node1 holds 2/200 and waits for 2/201. Pid 20 of node2 does the reverse. */
static void a_cycle_is_a_deadlock(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	glock(s, "node1", 0x200, "EX", 10, 0);
	glock(s, "node1", 0x201, "UN", 0, 10);
	glock(s, "node2", 0x201, "EX", 20, 0);
	glock(s, "node2", 0x200, "UN", 0, 20);
	scene_json(s);
	tells(s, 0x200, "deadlock (node2 -> node1 -> node2)");
	tells(s, 0x201, "deadlock (node1 -> node2 -> node1)");
	tells_not(s, 0x200, "perhaps");
	assert_string_equal(word(row_of(frame(s, 0), 0x200), "advice_code"), "DEADLOCK");
}

/*
 * As above, but the samples of node2 come 3 s after those of node1, and the wait of node1 may have
 * begun just before its sample. So it may have ended before node2's.
 */
static void a_short_wait_is_no_deadlock(void **state)
{
	struct scene *s = *state;
	const char *const at = "t1/node1/gfs2/" TABLE "/glocks";

	for (int t = 0; t < 2; t++) {
		scene_clocks(s, t, "node1", REAL0 + STEP * t, UP0 + STEP * t);
		scene_clocks(s, t, "node2", REAL0 + STEP * t + 3, UP0 + STEP * t + 3);
	}
	glock(s, "node1", 0x200, "EX", 10, 0);
	glock(s, "node1", 0x201, "UN", 0, 0);
	scene_file(s, at, " H: s:EX f:W e:0 p:10 [waiter] gfs2_open+0x1 [gfs2]\n");
	glock(s, "node2", 0x201, "EX", 20, 0);
	glock(s, "node2", 0x200, "UN", 0, 20);
	scene_json(s);
	tells(s, 0x200, "perhaps a deadlock (node2 -> node1 -> node2)");
	if (strcmp(word(row_of(frame(s, 0), 0x200), "advice_code"), "DEADLOCK") == 0)
		fail_msg("the wait of node1 may be over");
}

/*
 * node2 has waited for 8 s for the lock `type` of inode 512, which a process of node1 has. A
 * process of node1 has waited for the M lock for `age` seconds, which node3 has.
 */
static void node1_waits_for_meta(struct scene *s, char type, double age)
{
	clocks(s, 3);
	for (int t = 0; t < 2; t++) {
		LINE(t, "node1", .type = type, .ino = 512, .level = 5, .flags = 0x45,
		     .requested = 5, .holders = {0, type != 'F'}, .gets = {0, type != 'F'});
		LINE(t, "node2", .type = type, .ino = 512, .flags = 0x43, .action = 2,
		     .requested = 5, .gets = {0, type != 'F'}, .wait_us = STAMP(-3));
		LINE(t, "node1", .ino = 512, .flags = 0x43, .action = 2, .requested = 3,
		     .gets = {10, 0}, .wait_us = STAMP(STEP * t - age));
		LINE(t, "node3", .ino = 512, .level = 5, .holders = {0, 1}, .gets = {0, 10});
	}
	scene_json(s);
}

/* OCFS2 takes the locks of an inode one after the other, so it is one process. */
static void a_chain_of_one_inode(void **state)
{
	node1_waits_for_meta(*state, 'W', 4);
	tells(*state, 512, "(node2 -> node1 -> node3)");
}

/* A short wait for the M lock is no reason of a long one for the W lock. */
static void a_short_wait_is_no_link(void **state)
{
	const char *advice;

	node1_waits_for_meta(*state, 'W', 0.05);
	tells_not(*state, 512, "node3");
	tells(*state, 512, "1 process on node1 holds EX");
	advice = word(row_of(frame(*state, 0), 512), "advice");
	if (strncmp(advice, "node2 waits long; on node1: ", 28) != 0)
		fail_msg("%s", advice);
}

/*
 * A process of node1 has the W lock, for which node2 waits, and waits for the M lock. No sample has
 * the holder of the M lock, so node1 is not the root.
 */
static void the_end_of_a_chain_is_not_seen(void **state)
{
	struct scene *s = *state;
	const char *advice;

	clocks(s, 3);
	for (int t = 0; t < 2; t++) {
		LINE(t, "node1", .type = 'W', .ino = 512, .level = 5, .flags = 0x45,
		     .holders = {0, 1}, .gets = {0, 1});
		LINE(t, "node2", .type = 'W', .ino = 512, .flags = 0x43, .action = 2,
		     .requested = 5, .gets = {0, 1}, .wait_us = STAMP(-3));
		LINE(t, "node1", .ino = 512, .flags = 0x43, .action = 2, .requested = 3,
		     .gets = {10, 0}, .wait_us = STAMP(-2.9));
		LINE(t, "node3", .ino = 600, .gets = {0, 10});
	}
	scene_json(s);
	tells(s, 512,
	      "512>: RW: 1 process on node1 holds EX, and waits for META, whose holder was "
	      "not seen; node2 waits 8.00 s");
	advice = word(row_of(frame(s, 0), 512), "advice");
	if (strstr(advice, "on node1"))
		fail_msg("%s", advice);
}

/* The process that has a flock is not in the kernel, so another process waits for the M lock. */
static void a_flock_is_no_link(void **state)
{
	node1_waits_for_meta(*state, 'F', 4);
	tells_not(*state, 512, "node3");
	tells(*state, 512, "a process on node1 holds EX (flock); node2 waits 8.00 s");
}

int main(void)
{
#define BAD(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
	    BAD(the_root_is_named),
	    BAD(another_process_is_no_chain),
	    BAD(an_ended_process_is_no_chain),
	    BAD(a_cycle_is_a_deadlock),
	    BAD(a_short_wait_is_no_deadlock),
	    BAD(a_chain_of_one_inode),
	    BAD(a_short_wait_is_no_link),
	    BAD(the_end_of_a_chain_is_not_seen),
	    BAD(a_flock_is_no_link),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
