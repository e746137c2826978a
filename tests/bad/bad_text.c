/* SPDX-License-Identifier: MIT */
/*
 * bad_text.c - tests foreign names on their way to a terminal, JSON, and o2top's endings.
 *
 * A foreign name must not reach a terminal raw, and JSON can always be read.
 */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Clears a screen, rings, turns text around, is not UTF-8, and is a C1 control. */
#define NASTY "\x1b[2J\a\xe2\x80\xae\xff\xc2\x9b"

static void check_clean(const char *text)
{
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' && *p != '\n')
			fail_msg("byte %02x after %zu others: %.*s", (unsigned)*p,
				 (size_t)(p - text), (int)(p - text < 60 ? p - text : 60),
				 p - text < 60 ? text : p - 60);
	assert_null(strstr(text, "\x7f"));
	assert_null(strstr(text, "\xff"));
	assert_null(strstr(text, "\xc2\x9b"));
	assert_null(strstr(text, "\xe2\x80\xae"));
}

static void hot(struct scene *s, int t, const char *node)
{
	scene_clock(s, t, node);
	LINE(t, node, .ino = 100, .gets = {0, 10 + (unsigned)t},
	     .total_ns = {0, 1000000000ull * (unsigned)(t + 1)},
	     .max = {0, 1000000u * (unsigned)(t + 1)});
}

static void check_json(const char *text)
{
	json_t *o = json_loads(text, 0, NULL);

	assert_non_null(o);
	json_decref(o);
}

static void check_both(struct scene *s)
{
	scene_run(s, "-b", "--details", "-d", "--no-color", "@", NULL);
	assert_int_equal(s->status, 0);
	check_clean(s->out);
	check_clean(s->err);
	scene_json(s);
	assert_int_equal(s->status, 0);
	assert_true(s->n_frames > 0);
	check_clean(s->err);
}

static void node_names(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 2; t++)
		hot(s, t, "node" NASTY);
	check_both(s);
}

/* A message names a file of such a node. */
static void node_names_in_messages(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 2; t++)
		hot(s, t, "node" NASTY);
	scene_file(s, "t1/node" NASTY "/ocfs2/" UUID "/locking_state", "0x4\tbroken\n");
	check_both(s);
}

static void commands(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 2; t++) {
		scene_clock(s, t, "node1");
		scene_stats(s, t, "node1", 2, 0x200, 1000, 100, 500 + (unsigned)t);
		scene_glock(s, t, "node1", 2, 0x200, "UN", "W", "SH", 7, "a] [" NASTY);
	}
	check_both(s);
}

static void paths(void **state)
{
	struct scene *s = *state;
	char names[128];

	for (int t = 0; t < 2; t++)
		hot(s, t, "node1");
	scene_file(s, "names", "100 /mnt/" NASTY "file\n");
	snprintf(names, sizeof(names), "%s/names", s->root);
	scene_run(s, "-b", "--details", "--no-color", "--names", names, "@", NULL);
	assert_int_equal(s->status, 0);
	assert_non_null(strstr(s->out, "\\x1b[2J"));
	check_clean(s->out);
	scene_run(s, "--json", "--names", names, "@", NULL);
	assert_int_equal(s->status, 0);
	check_json(s->out);
	assert_non_null(strstr(s->out, "/mnt/"));
}

/* A path that is not UTF-8 keeps its letters in JSON. Only the bytes that are none become "?". */
static void letters_beside_a_bad_byte(void **state)
{
	struct scene *s = *state;
	char names[128];

	for (int t = 0; t < 2; t++)
		hot(s, t, "node1");
	scene_file(s, "names", "100 /mnt/d\xc3\xa4ten/\xff\xe6\x97\xa5\n");
	snprintf(names, sizeof(names), "%s/names", s->root);
	scene_run(s, "--json", "--names", names, "@", NULL);
	check_json(s->out);
	assert_non_null(strstr(s->out, "/mnt/d\xc3\xa4ten/?\xe6\x97\xa5\""));
}

static void lock_spaces_and_samples(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 2; t++) {
		char path[256];

		snprintf(path, sizeof(path), "t%d" NASTY "/node1/gfs2/lab:" NASTY "/glstats", t);
		scene_file(s, path, "G: n:1/3 rtt:1/1 rttb:%d/1 irt:1/1 dcnt: %d qcnt: %d\n",
			   1 + t * 99999999, 100 + 20 * t, 500 + t);
		snprintf(path, sizeof(path), "t%d" NASTY "/node1/realtime", t);
		scene_file(s, path, "%f\n", REAL0 + 5 * t);
	}
	check_both(s);
}

/* A path of 4000 bytes fits no column. The frame is still whole. */
static void long_paths(void **state)
{
	struct scene *s = *state;
	char names[128], path[4001];

	for (int t = 0; t < 2; t++)
		hot(s, t, "node1");
	memset(path, 'x', 4000);
	path[4000] = '\0';
	scene_file(s, "names", "100 %s\n", path);
	snprintf(names, sizeof(names), "%s/names", s->root);
	scene_run(s, "-b", "--details", "--names", names, "@", NULL);
	assert_int_equal(s->status, 0);
	memcpy(path + 2000, NASTY, sizeof(NASTY) - 1);
	scene_file(s, "names2", "100 %s\n", path);
	snprintf(names, sizeof(names), "%s/names2", s->root);
	scene_run(s, "--json", "--names", names, "@", NULL);
	assert_int_equal(s->status, 0);
	check_json(s->out);
}

/* ---- exit statuses ------------------------------------------------------------------------- */

static void exit_no_known_form(void **state)
{
	struct scene *s = *state;

	scene_run(s, "--json", "@", NULL);
	assert_int_equal(s->status, 2);
	assert_string_equal(s->out, "");
	assert_non_null(strstr(s->err, s->root));
	scene_run(s, "-b", "@", NULL);
	assert_int_equal(s->status, 2);
	/* the node's folder has no file system */
	scene_clock(s, 0, "node1");
	scene_clock(s, 1, "node1");
	scene_run(s, "--json", "@", NULL);
	assert_int_equal(s->status, 1);
}

static void exit_usage(void **state)
{
	static const char *const wrong[][3] = {{"--no-such-option"},
					       {"-Z"},
					       {"-i", "many"},
					       {"-i", "0"},
					       {"-i", "-1"},
					       {"-i"},
					       {"-l", "1x"},
					       {"-t", "0"},
					       {"-t", "nan"},
					       {"-t", "-5"},
					       {"-t", "1e9"},
					       {"-t", "inf"},
					       {"-s", "beauty"},
					       {"--inode", "0x"},
					       {"--inode", "18446744073709551616"},
					       {"--writers", "-1"},
					       {"--min-lost", "much"},
					       {"--names", "/nowhere/at/all"},
					       {"-o", "/nowhere/at/all"}};
	struct scene *s = *state;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		if (wrong[i][1])
			scene_run(s, wrong[i][0], wrong[i][1], "@", NULL);
		else
			scene_run(s, "@", wrong[i][0], NULL);
		if (s->status != 2)
			fail_msg("%s %s ends with %d", wrong[i][0], wrong[i][1] ? wrong[i][1] : "",
				 s->status);
		assert_string_not_equal(s->err, "");
		assert_string_equal(s->out, "");
	}
	scene_run(s, "-b", "/nowhere/at/all", NULL);
	assert_int_equal(s->status, 2);
	assert_non_null(strstr(s->err, "/nowhere/at/all"));
	scene_run(s, "--help", NULL);
	assert_int_equal(s->status, 0);
	scene_run(s, "-V", NULL);
	assert_int_equal(s->status, 0);
}

/* o2top cannot show a file of this kind alone. */
static void exit_unknown_file(void **state)
{
	struct scene *s = *state;
	char path[128];

	scene_file(s, "letter", "Dear o2top\n");
	snprintf(path, sizeof(path), "%s/letter", s->root);
	scene_run(s, "-b", path, NULL);
	assert_int_equal(s->status, 2);
	assert_non_null(strstr(s->err, path));
	snprintf(path, sizeof(path), "%s/pipe", s->root);
	assert_int_equal(mkfifo(path, 0600), 0);
	scene_run(s, "-b", path, NULL);
	assert_int_equal(s->status, 2);
}

static void exit_nothing_usable(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 2; t++)
		for (int n = 0; n < 2; n++) {
			char path[128];

			scene_clock(s, t, n ? "node2" : "node1");
			snprintf(path, sizeof(path), "t%d/%s/ocfs2/" UUID "/locking_state", t,
				 n ? "node2" : "node1");
			scene_file(s, path, "%s", n ? "" : "what\n");
		}
	scene_json(s);
	assert_int_equal(s->status, 3);
	assert_int_equal(s->n_frames, 1);
	assert_true(says(frame(s, 0), "t1/node1/ocfs2/" UUID "/locking_state:1: "));
	assert_non_null(strstr(s->err, "locking_state"));
	scene_run(s, "-b", "@", NULL);
	assert_int_equal(s->status, 3);
}

/* If one sample is usable, the recording is usable. */
static void exit_done(void **state)
{
	struct scene *s = *state;

	hot(s, 0, "node1");
	scene_clock(s, 1, "node1");
	scene_file(s, "t1/node1/ocfs2/" UUID "/locking_state", "%s", "");
	scene_json(s);
	assert_int_equal(s->status, 0);
	assert_string_equal(word(node_in(frame(s, 0), "node1"), "state"), "unusable");
}

/* An empty locking_state is given alone. A second file vanishes after the first one was read. */
static void single_files(void **state)
{
	struct scene *s = *state;
	char one[256], two[256];

	hot(s, 0, "node1");
	hot(s, 1, "node1");
	snprintf(one, sizeof(one), "%s/t0/node1/ocfs2/" UUID "/locking_state", s->root);
	snprintf(two, sizeof(two), "%s/t1/node1/ocfs2/" UUID "/locking_state", s->root);
	scene_run(s, "--json", one, NULL);
	assert_int_equal(s->status, 0);
	scene_run(s, "--json", one, two, NULL);
	assert_int_equal(s->status, 0);
	scene_file(s, "empty", "%s", "");
	snprintf(two, sizeof(two), "%s/empty", s->root);
	scene_run(s, "--json", two, NULL);
	assert_int_equal(s->status, 3);
	assert_non_null(strstr(s->err, two));
	scene_run(s, "--json", one, two, NULL);
	assert_int_equal(s->status, 0);
}

/* A node has two files of different kinds, or of different lock spaces. */
static void files_that_are_not_alike(void **state)
{
	static const char *const folders[][2] = {
	    {"t0/node1/gfs2/" TABLE "/glocks", "t0/node1/gfs2/" TABLE "/glstats"},
	    {"t0/node1/ocfs2/" UUID "/locking_state", "t1/node1/gfs2/" TABLE "/glocks"},
	    {"t0/node1/gfs2/" TABLE "/glocks", "t1/node1/gfs2/lab:fs2/glocks"},
	};
	struct scene *s = *state;

	hot(s, 0, "node1");
	for (int t = 0; t < 2; t++) {
		scene_stats(s, t, "node1", 2, 0x200, 1000, 100, 500);
		scene_glock(s, t, "node1", 2, 0x200, "SH", NULL, NULL, 0, NULL);
	}
	scene_file(s, "t1/node1/gfs2/lab:fs2/glocks", "G:  s:SH n:2/100 f: t:SH d:EX/0 a:0 r:3\n");
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		char one[256], two[256];

		snprintf(one, sizeof(one), "%s/%s", s->root, folders[i][0]);
		snprintf(two, sizeof(two), "%s/%s", s->root, folders[i][1]);
		scene_run(s, "--json", one, two, NULL);
		assert_int_equal(s->status, 2);
		assert_string_equal(s->out, "");
		assert_non_null(strstr(s->err, one));
		assert_non_null(strstr(s->err, two));
	}
}

/*
 * The files are a copied glocks and an empty file. An empty file may be of any kind, so o2top
 * accepts it.
 */
static void an_empty_file_is_like_any(void **state)
{
	struct scene *s = *state;
	char one[256], two[256];

	scene_file(s, "glocks.1", "G:  s:SH n:2/100 f: t:SH d:EX/0 a:0 v:0 r:3 m:50 p:1\n");
	scene_file(s, "glocks.2", "%s", "");
	snprintf(one, sizeof(one), "%s/glocks.1", s->root);
	snprintf(two, sizeof(two), "%s/glocks.2", s->root);
	scene_run(s, "--json", one, two, NULL);
	assert_int_equal(s->status, 0);
	scene_run(s, "--json", two, one, NULL);
	assert_int_equal(s->status, 0);
}

/*
 * An empty file, first or in between, does not tell its kind. o2top compares the contents of the
 * others. There is no other file system.
 */
static void empty_files_before_and_between(void **state)
{
	struct scene *s = *state;
	char empty[256], one[256], two[256], other[256];

	scene_file(s, "empty", "%s", "");
	for (int t = 1; t < 3; t++)
		scene_file(s, t == 1 ? "glstats.1" : "glstats.2",
			   "G: n:2/200 rtt:1/1 rttb:1/1 irt:1/1 dcnt: %d qcnt: %d\n", t, 100 * t);
	snprintf(empty, sizeof(empty), "%s/empty", s->root);
	snprintf(one, sizeof(one), "%s/glstats.1", s->root);
	snprintf(two, sizeof(two), "%s/glstats.2", s->root);
	snprintf(other, sizeof(other), "%s/other", s->root);
	scene_run(s, "-b", empty, one, two, NULL);
	assert_int_equal(s->status, 0);
	assert_null(strstr(s->out, "ocfs2"));
	assert_null(strstr(s->out, "in gfs2"));
	assert_non_null(strstr(s->out, "/empty: no line is usable"));
	scene_run(s, "-b", one, empty, two, NULL);
	assert_int_equal(s->status, 0);
	assert_non_null(strstr(s->out, "/empty: no line is usable"));
	scene_file(s, "other", "G:  s:SH n:2/100 f: t:SH d:EX/0 a:0 v:0 r:3 m:50 p:1\n");
	scene_run(s, "-b", other, empty, two, NULL);
	assert_int_equal(s->status, 2);
	assert_non_null(strstr(s->err, other));
}

int main(void)
{
#define BAD(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
	    BAD(node_names),
	    BAD(node_names_in_messages),
	    BAD(commands),
	    BAD(paths),
	    BAD(letters_beside_a_bad_byte),
	    BAD(lock_spaces_and_samples),
	    BAD(long_paths),
	    BAD(exit_no_known_form),
	    BAD(exit_usage),
	    BAD(exit_unknown_file),
	    BAD(exit_nothing_usable),
	    BAD(exit_done),
	    BAD(single_files),
	    BAD(files_that_are_not_alike),
	    BAD(an_empty_file_is_like_any),
	    BAD(empty_files_before_and_between),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
