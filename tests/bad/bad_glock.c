/* SPDX-License-Identifier: MIT */
/*
 * bad_glock.c - tests the lock spaces of libglock.
 *
 * Waits are exact and count once, in the frames in which they lasted. The tests also cover the
 * names that a program gives its objects, and bad lines.
 */
#include "scene.h"

#include <stdio.h>
#include <string.h>

#define SPACE "shop"
#define NS(seconds) ((long long)((seconds)*1e9))

/* A node's file begins with the node's name. */
static void node(struct scene *s, int t, const char *name)
{
	char path[128];

	scene_clock(s, t, name);
	snprintf(path, sizeof(path), "t%d/%s/glock/" SPACE "/node", t, name);
	scene_file(s, path, "N 1 77 [%s]\n", name);
}

static void line(struct scene *s, int t, const char *name, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "t%d/%s/glock/" SPACE "/node", t, name);
	scene_file(s, path, "%s\n", text);
}

static void glock(struct scene *s, int t, const char *name, const char *glock, const char *mode,
		  long long queued, long long waits, double waited, double longest)
{
	char text[256];

	snprintf(text, sizeof(text), "G %s s:%s t:%s d:%lld q:%lld b:0 w:%lld/%lld/%lld", glock,
		 mode, mode, queued / 10, queued, waits, NS(waited), NS(longest));
	line(s, t, name, text);
}

/* `since` counts seconds after the first sample. */
static void holder(struct scene *s, int t, const char *name, const char *mode, char flag,
		   double since, int pid)
{
	char text[256];

	snprintf(text, sizeof(text), "H s:%s f:%c at:%lld p:%d [a [b]] x.c:1", mode, flag,
		 NS(UP0 + since), pid);
	line(s, t, name, text);
}

static void a_wait_counts_once_in_the_frames_it_lasted(void **state)
{
	struct scene *s = *state;
	json_t *row;

	for (int t = 0; t < 5; t++) {
		node(s, t, "a-1");
		glock(s, t, "a-1", "2:17", "EX", 100 + 10 * t, 0, 0, 0);
		holder(s, t, "a-1", "EX", 'H', -3, 1);
		node(s, t, "b-2");
		/* it waits from 2 s to 13 s; another holder waited 0.5 s before */
		glock(s, t, "b-2", "2:17", "UN", 50, t >= 3 ? 2 : 1, t >= 3 ? 11.5 : 0.5,
		      t >= 3 ? 11 : 0.5);
		if (t == 1 || t == 2)
			holder(s, t, "b-2", "EX", 'W', 2, 2);
	}
	scene_json(s);
	assert_near(waited(s, 0, 0x17), 3, 0.001);
	assert_near(waited(s, 1, 0x17), 5, 0.001);
	assert_near(waited(s, 2, 0x17), 3, 0.001);
	assert_near(waited(s, 3, 0x17), 0, 0.001);
	row = row_of(frame(s, 0), 0x17);
	assert_string_equal(word(row, "fs"), "glock");
	assert_string_equal(word(row, "lockspace"), SPACE);
	assert_string_equal(word(row, "section"), "files");
	assert_false(json_is_true(json_object_get(row, "estimated")));
	assert_int_equal(number(row, "waiting"), 1);
	assert_near(number(row, "oldest_wait_s"), 3, 0.001);
	assert_near(number(row, "oldest_wait_max_s"), 3, 0.001);
	row = row_of(frame(s, 2), 0x17);
	assert_int_equal(number(row, "waiting"), 0);
	assert_near(number(row, "longest_wait_s"), 11, 0.001);
}

/* Several waits end in one frame. One of them began before the frame. */
static void many_waits_are_summed(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 3; t++) {
		node(s, t, "a-1");
		glock(s, t, "a-1", "2:17", "SH", 100, t == 2 ? 40 : 0, t == 2 ? 12 : 0, 6);
		if (t == 1)
			holder(s, t, "a-1", "SH", 'W', 1, 1);
	}
	scene_json(s);
	assert_near(waited(s, 0, 0x17), 4, 0.001);
	assert_near(waited(s, 1, 0x17), 8, 0.001);
}

static void one_sample_shows_who_waits(void **state)
{
	struct scene *s = *state;
	json_t *row;

	node(s, 0, "a-1");
	glock(s, 0, "a-1", "6:cafe", "UN", 3, 0, 0, 0);
	line(s, 0, "a-1", "O at:5 extra");
	holder(s, 0, "a-1", "SH", 'W', -2, 1);
	line(s, 0, "a-1", "O at:5 P: the till");
	scene_json(s);
	row = json_array_get(json_object_get(frame(s, 0), "rows"), 0);
	assert_string_equal(word(row, "path"), "the till");
	assert_true(is_null(row, "ino"));
	assert_near(number(row, "oldest_wait_s"), 2, 0.001);
}

/*
 * A glock that was created anew has no past. A glock that was created between samples brings all of
 * its own counts.
 */
static void new_glocks_bring_their_own(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 3; t++) {
		node(s, t, "a-1");
		glock(s, t, "a-1", "2:17", "SH", t == 2 ? 5 : 100, t == 2 ? 1 : 9,
		      t == 2 ? 0.25 : 30, 10);
		if (t)
			glock(s, t, "a-1", "2:18", "SH", 7, 2, 0.75, 0.5);
	}
	scene_json(s);
	assert_near(waited(s, 0, 0x17), 0, 0.001);
	assert_near(waited(s, 1, 0x17), 0.25, 0.001);
	assert_near(waited(s, 0, 0x18), 0.75, 0.001);
	assert_near(waited(s, 1, 0x18), 0, 0.001);
}

static void bad_lines_are_named_and_left_out(void **state)
{
	static const char *const bad[] = {
	    "G 2:17",
	    "G 99:1 s:SH t:SH d:1 q:1 b:0 w:0/0/0",
	    "G 2:1 s:XX t:SH d:1 q:1 b:0 w:0/0/0",
	    "G 2:1 s:SH t:SH d:-1 q:1 b:0 w:0/0/0",
	    "G 2:1 s:SH t:SH d:1 q:1 b:0 w:0/-5/0",
	    "G 2:18 s:SH t:SH d:1 q:1 b:0 w:0/0/0",
	    "H s:UN f:H at:1 p:1 [x] y",
	    "H s:SH f:H at:1 p:1 x",
	    "O at: P: x",
	    "what",
	    "",
	};
	struct scene *s = *state;

	for (int t = 0; t < 2; t++) {
		node(s, t, "a-1");
		glock(s, t, "a-1", "2:18", "SH", 1 + t, 0, 0, 0);
		for (size_t i = 0; t && i < sizeof(bad) / sizeof(bad[0]); i++)
			line(s, t, "a-1", bad[i]);
		glock(s, t, "a-1", "2:19", "SH", 1 + t, t, t, t);
	}
	scene_json(s);
	assert_near(waited(s, 0, 0x19), 1, 0.001);
	assert_int_equal(json_array_size(json_object_get(frame(s, 0), "problems")),
			 sizeof(bad) / sizeof(bad[0]));
	assert_true(says(frame(s, 0), "node:3"));
	assert_true(says(frame(s, 0), "node:13"));
}

/* A glock with a lent record: `more` is the end of its line. */
static void lent(struct scene *s, int t, const char *name, long long queued, const char *more)
{
	char text[256];

	snprintf(text, sizeof(text), "G 2:17 s:UN t:UN d:1 q:%lld b:0 w:0/0/0%s", queued, more);
	line(s, t, name, text);
}

/* The library's counts tell readers and writers, whatever the modes of the moment are. */
static void grants_tell_who_reads_and_writes(void **state)
{
	static const char *const more[][3] = {
	    {" g:5/100/0/7 h:8=3/9=1/", " g:5/0/0/7 h:20=1//", ""},
	    {" g:5/100/0/9 h:8=3,9=99/9=1/10=2", " g:5/2/1/7 h:20=1,21=1/30=1/ new:1", ""},
	    /* the record of the first node was lent anew */
	    {" g:9/1/0/0 h:9=4//", " g:5/2/1/7 h:20=1,21=1/30=1/", " g:8/0/0/3 h://"},
	};
	static const char *const nodes[] = {"a-1", "b-2", "c-3"};
	struct scene *s = *state;
	json_t *row;

	for (int t = 0; t < 3; t++)
		for (int i = 0; i < 3; i++) {
			node(s, t, nodes[i]);
			lent(s, t, nodes[i], 10 + t, more[t][i]);
			if (i == 1)
				holder(s, t, nodes[i], "EX", 'W', 0, 2);
		}
	scene_json(s);
	row = row_of(frame(s, 0), 0x17);
	assert_false(json_is_true(json_object_get(node_in(row, "a-1"), "wrote")));
	assert_true(json_is_true(json_object_get(node_in(row, "a-1"), "read")));
	assert_true(json_is_true(json_object_get(node_in(row, "b-2"), "wrote")));
	assert_true(json_is_true(json_object_get(node_in(row, "b-2"), "read")));
	/* 99 waits below 262.144 us, and one of 1.07 s */
	assert_true(json_is_true(json_object_get(row, "wait_percentiles_rounded")));
	assert_near(number(row, "wait_p50_s"), 262.2e-6, 1e-7);
	assert_near(number(row, "wait_p99_s"), 262.2e-6, 1e-7);
	assert_near(number(json_object_get(row, "holds"), "count"), 1, 0);
	assert_near(number(json_object_get(row, "holds"), "p50_s"), 549.755814, 1e-6);
	assert_near(number(json_object_get(row, "hand_overs"), "count"), 2, 0);
	row = row_of(frame(s, 1), 0x17);
	assert_true(json_is_true(json_object_get(node_in(row, "a-1"), "wrote")));
	assert_false(json_is_true(json_object_get(node_in(row, "a-1"), "read")));
	assert_false(json_is_true(json_object_get(node_in(row, "b-2"), "wrote")));
	assert_true(json_is_true(json_object_get(node_in(row, "c-3"), "read")));
	assert_false(json_is_true(json_object_get(row, "access_seen")));
	assert_true(is_null(row, "hand_overs"));
	assert_near(number(row, "wait_p99_s"), 262.2e-6, 1e-7);
}

/* One sample tells who wrote since the record was lent, and no times. */
static void one_sample_of_grants(void **state)
{
	struct scene *s = *state;
	json_t *row;

	node(s, 0, "a-1");
	lent(s, 0, "a-1", 1, " g:5/3/0/0 h:8=3//");
	holder(s, 0, "a-1", "EX", 'W', -0.05, 2);
	node(s, 0, "b-2");
	scene_json(s);
	row = row_of(frame(s, 0), 0x17);
	assert_true(json_is_true(json_object_get(node_in(row, "a-1"), "wrote")));
	assert_true(is_null(row, "wait_p50_s"));
	assert_non_null(strstr(word(row, "advice"), "the next frame tells"));
}

static void bad_grants_are_named(void **state)
{
	static const char *const bad[] = {" g:",
					  " g:5/1/2 h://",
					  " g:5/1/2/3",
					  " g:5/1/2/3 h:32=1//",
					  " g:5/1/2/3 h:1=//",
					  " g:5/1/2/3 h:1=99999999999//",
					  " g:5/1/2/3 h:1=1/1=1"};
	struct scene *s = *state;

	for (int t = 0; t < 2; t++) {
		node(s, t, "a-1");
		glock(s, t, "a-1", "2:18", "SH", 1 + t, 0, 0, 0);
		for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
			lent(s, t, "a-1", 1, bad[i]);
	}
	scene_json(s);
	assert_true(says(frame(s, 0), "no grants and times"));
	assert_near(number(json_object_get(frame(s, 0), "totals"), "bad_lines"),
		    2 * sizeof(bad) / sizeof(bad[0]), 0);
}

static void another_version_is_refused(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 2; t++) {
		node(s, t, "a-1");
		glock(s, t, "a-1", "2:18", "SH", 1 + t, 0, 0, 0);
		scene_clock(s, t, "b-1");
		scene_file(s, t ? "t1/b-1/glock/" SPACE "/node" : "t0/b-1/glock/" SPACE "/node",
			   "N 2 77 [b]\nG 2:18 s:SH t:SH d:1 q:1 b:0 w:0/0/0\n");
	}
	scene_json(s);
	assert_string_equal(word(node_in(frame(s, 0), "b-1"), "state"), "unusable");
	assert_true(says(frame(s, 0), "the version is unknown"));
}

/* A database waits for writers, with a rollback journal and in WAL mode, which needs no WAL. */
static void a_database_in_wal_mode(void **state)
{
	static const char node_file[] = "t%d/a-1/glock/sqlite-fe-0/node";
	struct scene *s = *state;
	char path[64];

	for (int t = 0; t < 2; t++) {
		scene_clock(s, t, "a-1");
		snprintf(path, sizeof(path), node_file, t);
		scene_file(s, path,
			   "N 1 77 [a-1]\n"
			   "G 2:17 s:UN t:UN d:9 q:%d b:0 w:%d/%lld/%lld\nO at:5 P: app.db\n"
			   "G 3:18 s:UN t:UN d:9 q:%d b:0 w:%d/%lld/%lld\nO at:5 P: app.db (WAL "
			   "writers)\n",
			   100 + t, t, NS(4. * t), NS(4. * t), 100 + t, t, NS(4. * t), NS(4. * t));
	}
	scene_json(s);
	for (size_t i = 0; i < 2; i++) {
		json_t *row = json_array_get(json_object_get(frame(s, 0), "rows"), i);
		bool wal = strstr(word(row, "path"), "WAL") != NULL;

		assert_string_equal(word(row, "advice_code"), "SQLITE");
		assert_int_equal(strstr(word(row, "advice"), "journal_mode=WAL") == NULL, wal);
		assert_non_null(strstr(word(row, "advice"), "end long reads"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define SCENE(f) cmocka_unit_test_setup_teardown(f, scene_setup, scene_teardown)
	    SCENE(a_wait_counts_once_in_the_frames_it_lasted),
	    SCENE(many_waits_are_summed),
	    SCENE(one_sample_shows_who_waits),
	    SCENE(new_glocks_bring_their_own),
	    SCENE(bad_lines_are_named_and_left_out),
	    SCENE(grants_tell_who_reads_and_writes),
	    SCENE(one_sample_of_grants),
	    SCENE(bad_grants_are_named),
	    SCENE(another_version_is_refused),
	    SCENE(a_database_in_wal_mode),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
