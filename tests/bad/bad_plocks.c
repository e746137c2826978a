/* SPDX-License-Identifier: MIT */
/*
 * bad_plocks.c - tests the warning about files that fcntl(2) locks of several nodes do not protect.
 *
 * The device of the OCFS2 is 254:16, which /proc/locks prints as fe:10.
 */
#include "scene.h"

#include <stdio.h>
#include <string.h>

#define FILE_12827 "fe:10:12827"

/* Writes the clock of both nodes in sample t, a lock that is idle, and the stack. */
static void nodes_with(struct scene *s, int t, const char *stack)
{
	static const char *const nodes[] = {"node1", "node2"};
	char path[96];

	for (int i = 0; i < 2; i++) {
		scene_clock(s, t, nodes[i]);
		LINE(t, nodes[i], .ino = 512);
		snprintf(path, sizeof(path), "t%d/%s/ocfs2/" UUID "/fs_state", t, nodes[i]);
		scene_file(s, path,
			   "    Device => Id: 254,16  Uuid: " UUID "  Gen: 0x1385027F  Label: o2\n"
			   "    Volume => State: 2  Flags: 0x0\n");
		if (stack)
			scene_file(s, path, "   Cluster => Stack: %s  Name: x  Version: 1.0\n",
				   stack);
	}
}

static void lock(struct scene *s, int t, const char *node, const char *line)
{
	char path[64];

	snprintf(path, sizeof(path), "t%d/%s/plocks", t, node);
	scene_file(s, path, "%s\n", line);
}

static json_t *found(const struct scene *s, size_t n)
{
	return json_array_get(json_object_get(frame(s, n), "unprotected"), 0);
}

/* Two nodes write: the banner and the JSON name both processes, though no row loses time. */
static void two_writers(void **state)
{
	struct scene *s = *state;
	json_t *process;

	nodes_with(s, 0, "o2cb");
	lock(s, 0, "node1", "1: POSIX  ADVISORY  WRITE 1234 " FILE_12827 " 0 EOF sqlite3");
	lock(s, 0, "node2", "POSIX ADVISORY WRITE 77 " FILE_12827 " 100 100 the other");
	scene_json(s);
	assert_true(has_banner(frame(s, 0), "inode 12827 is unprotected"));
	assert_true(
	    has_banner(frame(s, 0), "sqlite3 (1234) on node1 writes, the other (77) on node2"));
	assert_non_null(found(s, 0));
	assert_near(number(found(s, 0), "ino"), 12827, 0);
	assert_string_equal(word(found(s, 0), "lockspace"), UUID);
	process = json_array_get(json_object_get(found(s, 0), "processes"), 1);
	assert_string_equal(word(process, "node"), "node2");
	assert_string_equal(word(process, "command"), "the other");
	assert_near(number(process, "pid"), 77, 0);
	assert_near(number(process, "start"), 100, 0);
	assert_near(number(process, "end"), 100, 0);
	assert_true(json_is_true(json_object_get(process, "writes")));
}

/* A recording in one file has the locks, too. */
static void in_one_file(void **state)
{
	struct scene *s = *state;

	nodes_with(s, 0, "o2cb");
	lock(s, 0, "node1", "POSIX ADVISORY READ 1234 " FILE_12827 " 0 EOF a");
	lock(s, 0, "node2", "OFDLCK ADVISORY WRITE -1 " FILE_12827 " 0 EOF");
	scene_json_replayed(s);
	assert_non_null(found(s, 0));
	assert_true(has_banner(frame(s, 0), "a process on node2 writes, a (1234) on node1 reads"));
}

/* Pairs of lines that do not contradict each other, or that OCFS2 protects. */
static void harmless_pairs(void **state)
{
	static const struct {
		const char *stack, *one, *two;
	} pairs[] = {
	    /* another stack, or an unknown one */
	    {"pcmk", "POSIX ADVISORY WRITE 1 " FILE_12827 " 0 EOF",
	     "POSIX ADVISORY WRITE 2 " FILE_12827 " 0 EOF"},
	    {"o2cbx", "POSIX ADVISORY WRITE 1 " FILE_12827 " 0 EOF",
	     "POSIX ADVISORY WRITE 2 " FILE_12827 " 0 EOF"},
	    {NULL, "POSIX ADVISORY WRITE 1 " FILE_12827 " 0 EOF",
	     "POSIX ADVISORY WRITE 2 " FILE_12827 " 0 EOF"},
	    /* readers only */
	    {"o2cb", "POSIX ADVISORY READ 1 " FILE_12827 " 0 EOF",
	     "POSIX ADVISORY READ 2 " FILE_12827 " 0 EOF"},
	    /* other inodes; another device */
	    {"o2cb", "POSIX ADVISORY WRITE 1 " FILE_12827 " 0 EOF",
	     "POSIX ADVISORY WRITE 2 fe:10:12828 0 EOF"},
	    {"o2cb", "POSIX ADVISORY WRITE 1 fe:11:12827 0 EOF",
	     "POSIX ADVISORY WRITE 2 fe:11:12827 0 EOF"},
	    /* flocks, leases, mandatory locks, and a waiter */
	    {"o2cb", "1: FLOCK  ADVISORY  WRITE 1 " FILE_12827 " 0 EOF",
	     "1: FLOCK  ADVISORY  WRITE 2 " FILE_12827 " 0 EOF"},
	    {"o2cb", "1: LEASE  ACTIVE    WRITE 1 " FILE_12827 " 0 EOF",
	     "1: LEASE  ACTIVE    WRITE 2 " FILE_12827 " 0 EOF"},
	    {"o2cb", "1: POSIX  MANDATORY WRITE 1 " FILE_12827 " 0 EOF",
	     "1: POSIX  MANDATORY WRITE 2 " FILE_12827 " 0 EOF"},
	    {"o2cb", "1: POSIX  ADVISORY  WRITE 1 " FILE_12827 " 0 EOF",
	     "1: -> POSIX  ADVISORY  WRITE 2 " FILE_12827 " 0 EOF"},
	    {"o2cb", "1: POSIX  ADVISORY  WRITE 1 <none>:0 0 EOF", "1: ACCESS ADVISORY  WRITE 2"},
	};
	struct scene *s = *state;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		assert_int_equal(scene_teardown(state), 0);
		assert_int_equal(scene_setup(state), 0);
		s = *state;
		nodes_with(s, 0, pairs[i].stack);
		lock(s, 0, "node1", pairs[i].one);
		lock(s, 0, "node2", pairs[i].two);
		scene_json(s);
		if (found(s, 0) || has_banner(frame(s, 0), "unprotected"))
			fail_msg("pair %zu gives a warning: %s", i, s->out);
	}
}

/*
 * SQLite locks single bytes of a file. A reader and a writer lock different ones, and neither knows
 * of the other. A reader on the node of the only writer is not named.
 */
static void ranges_side_by_side(void **state)
{
	struct scene *s = *state;

	nodes_with(s, 0, "o2cb");
	lock(s, 0, "node1", "POSIX ADVISORY READ 1 " FILE_12827 " 1073741826 1073742335 reader");
	lock(s, 0, "node2", "POSIX ADVISORY WRITE 2 " FILE_12827 " 1073741825 1073741825 writer");
	lock(s, 0, "node2", "POSIX ADVISORY READ 3 " FILE_12827 " 1073741826 1073742335 local");
	scene_json(s);
	assert_true(
	    has_banner(frame(s, 0), "writer (2) on node2 writes, reader (1) on node1 reads"));
	assert_false(has_banner(frame(s, 0), "local"));
}

/* Two processes of one node exclude each other. */
static void one_node(void **state)
{
	struct scene *s = *state;

	nodes_with(s, 0, "o2cb");
	lock(s, 0, "node1", "POSIX ADVISORY WRITE 1 " FILE_12827 " 0 9");
	lock(s, 0, "node1", "POSIX ADVISORY WRITE 2 " FILE_12827 " 5 9");
	scene_json(s);
	assert_null(found(s, 0));
}

/* The warning stays for a while after the locks were seen, and says so. */
static void the_warning_stays(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 3; t++)
		nodes_with(s, t, "o2cb");
	lock(s, 0, "node1", "POSIX ADVISORY WRITE 1 " FILE_12827 " 0 EOF a");
	lock(s, 0, "node2", "POSIX ADVISORY WRITE 2 " FILE_12827 " 0 EOF b");
	scene_json(s);
	assert_true(has_banner(frame(s, 1), "last seen 2 samples ago"));
	assert_near(number(found(s, 1), "samples_ago"), 2, 0);
}

/* After 60 samples the warning ends. */
static void the_warning_ends(void **state)
{
	enum { SAMPLES = 62 };
	struct scene *s = *state;
	char *line, *rest;
	int with = 0;

	for (int t = 0; t < SAMPLES; t++)
		nodes_with(s, t, "o2cb");
	lock(s, 0, "node1", "POSIX ADVISORY WRITE 1 " FILE_12827 " 0 EOF a");
	lock(s, 0, "node2", "POSIX ADVISORY WRITE 2 " FILE_12827 " 0 EOF b");
	scene_run(s, "--json", "@", NULL);
	for (rest = s->out; (line = strsep(&rest, "\n"));)
		with += strstr(line, "inode 12827 is unprotected") != NULL;
	/* the first frame comes with the second sample */
	assert_int_equal(with, 59);
}

/* A row of the file has the advice, although the row is not hot. */
static void the_row_has_the_advice(void **state)
{
	struct scene *s = *state;

	nodes_with(s, 0, "o2cb");
	nodes_with(s, 1, "o2cb");
	for (int t = 0; t < 2; t++) {
		lock(s, t, "node1", "POSIX ADVISORY WRITE 1 fe:10:600 0 EOF a");
		lock(s, t, "node2", "POSIX ADVISORY WRITE 2 fe:10:600 0 EOF b");
		LINE(t, "node1", .ino = 600, .gets = {0, 1 + (unsigned)t});
	}
	scene_json(s);
	assert_string_equal(word(row_of(frame(s, 0), 600), "advice_code"), "UNPROTECTED");
	assert_true(json_is_false(json_object_get(row_of(frame(s, 0), 600), "hot")));
}

/* One writer among thousands of readers, whose pairs are over the limit, is found all the same. */
static void one_writer_among_readers(void **state)
{
	struct scene *s = *state;

	nodes_with(s, 0, "o2cb");
	for (int i = 0; i < 5000; i++)
		scene_file(s, "t0/node1/plocks", "POSIX ADVISORY READ %d " FILE_12827 " 0 EOF r\n",
			   100 + i);
	lock(s, 0, "node2", "POSIX ADVISORY WRITE 2 " FILE_12827 " 0 EOF w");
	scene_json(s);
	assert_true(has_banner(frame(s, 0), "w (2) on node2 writes, r (100) on node1 reads"));
	assert_near(number(found(s, 0), "more"), 4993, 0);
}

/* More processes than a warning names, and lines that are broken. */
static void many_and_broken(void **state)
{
	struct scene *s = *state;
	char line[96];

	nodes_with(s, 0, "o2cb");
	for (int i = 0; i < 20; i++) {
		snprintf(line, sizeof(line), "POSIX ADVISORY WRITE %d " FILE_12827 " %d %d a",
			 100 + i, i, i);
		lock(s, 0, "node1", line);
	}
	lock(s, 0, "node1", "POSIX ADVISORY WRITE 1 " FILE_12827 " 9 8 backwards");
	lock(s, 0, "node1", "POSIX ADVISORY WRITE 1 " FILE_12827);
	lock(s, 0, "node1", "POSIX ADVISORY WRITE x " FILE_12827 " 0 EOF");
	lock(s, 0, "node1", "POSIX ADVISORY WRITE 1 fe:10:99999999999999999999999 0 EOF");
	lock(s, 0, "node2", "POSIX ADVISORY READ 2 " FILE_12827 " 0 EOF b");
	scene_json(s);
	assert_int_equal(json_array_size(json_object_get(found(s, 0), "processes")), 8);
	assert_near(number(found(s, 0), "more"), 13, 0);
	assert_true(says(frame(s, 0), "node1/plocks:21: "));
	assert_true(says(frame(s, 0), "node1/plocks:24: "));
	assert_near(number(json_object_get(frame(s, 0), "totals"), "bad_lines"), 4, 0);
}

int main(void)
{
#define BAD(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
	    BAD(two_writers),
	    BAD(in_one_file),
	    BAD(harmless_pairs),
	    BAD(one_node),
	    BAD(ranges_side_by_side),
	    BAD(the_warning_stays),
	    BAD(the_warning_ends),
	    BAD(the_row_has_the_advice),
	    BAD(one_writer_among_readers),
	    BAD(many_and_broken),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
