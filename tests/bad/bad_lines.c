/* SPDX-License-Identifier: MIT */
/*
 * bad_lines.c - tests broken lines and files: each is counted and named, and the rest is shown.
 *
 * In most tests inode 200 is sound. Between t0 and t1 it has 10 acquisitions and 1 s of waiting,
 * and the longest wait grows to 0.2 s. So its row has wait_s 1, because all of the wait fits into
 * the frame of 5 s.
 */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATE(t, node) "t" #t "/" node "/ocfs2/" UUID "/locking_state"

static void sound(struct scene *s, int t, const char *node)
{
	LINE(t, node, .ino = 200, .level = 5, .gets = {0, 100 + (unsigned)t * 10},
	     .total_ns = {0, 1000000000ull * (unsigned)(t + 1)},
	     .max = {0, 100000 * (unsigned)(t + 1)});
}

static void check_sound(struct scene *s)
{
	json_t *row = row_of(frame(s, 0), 200);

	assert_non_null(row);
	assert_near(number(row, "wait_s"), 1, 1e-6);
	assert_int_equal(number(row, "acquired"), 10);
	assert_near(number(row, "longest_wait_s"), 0.2, 1e-6);
}

/*
 * A line of inode 100 as text. `wrong` replaces the field of that number, counted from 1. Field 0
 * replaces none.
 */
static void broken_line(struct scene *s, int field, const char *wrong, const char *end)
{
	char text[2048] = "";

	for (int i = 1; i <= 86; i++) {
		char one[64];

		snprintf(one, sizeof(one), "%s\t",
			 i == field           ? wrong
			 : i == 1             ? "0x4"
			 : i == 2             ? "M000000000000000000006400000000"
			 : i == 4             ? "0x41"
			 : i == 5 || i == 6   ? "0x0"
			 : i >= 11 && i <= 74 ? "0x0"
					      : "77");
		strcat(text, one);
	}
	scene_file(s, STATE(1, "node1"), "%s%s", text, end);
}

static void begin(struct scene *s)
{
	scene_clock(s, 0, "node1");
	scene_clock(s, 1, "node1");
	LINE(0, "node1", .ino = 100, .level = 5, .gets = {70, 70}, .total_ns = {70, 70},
	     .max = {70, 70});
	sound(s, 0, "node1");
}

static void truncated_line(void **state)
{
	struct scene *s = *state;

	begin(s);
	sound(s, 1, "node1");
	/* the numbers of the last line end with "17", which may be the start of 170 or 17000000 */
	scene_file(s, STATE(1, "node1"),
		   "0x4\tM000000000000000000006400000000\t5\t0x41\t0x0\t0x0\t0\t0\t5\t-1\t0x0\t17");
	scene_json(s);
	assert_int_equal(s->status, 0);
	check_sound(s);
	assert_null(row_of(frame(s, 0), 100));
	assert_true(says(frame(s, 0), STATE(1, "node1") ":2: "));
	assert_int_equal(number(json_object_get(frame(s, 0), "totals"), "bad_lines"), 1);
	assert_string_equal(word(node_in(frame(s, 0), "node1"), "state"), "ok");
}

/* One line for each field. */
static void text_for_numbers(void **state)
{
	static const int fields[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 42, 74,
				     75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86};
	enum { N = sizeof(fields) / sizeof(fields[0]) };
	struct scene *s = *state;

	begin(s);
	for (int i = 0; i < N; i++)
		broken_line(s, fields[i], "many", "\n");
	sound(s, 1, "node1");
	scene_json(s);
	assert_int_equal(s->status, 0);
	check_sound(s);
	assert_null(row_of(frame(s, 0), 100));
	assert_int_equal(number(json_object_get(frame(s, 0), "totals"), "bad_lines"), N);
	assert_true(says(frame(s, 0), STATE(1, "node1") ":1: "));
	assert_true(says(frame(s, 0), STATE(1, "node1") ":14: "));
	/* 20 lines are kept word for word, and the others are counted */
	assert_true(says(frame(s, 0), "and 9 more lines"));
}

static void numbers_that_do_not_fit(void **state)
{
	static const struct {
		int field;
		const char *text;
	} wrong[] = {{3, "2147483648"},
		     {4, "0x10000000000000000"},
		     {7, "4294967296"},
		     {75, "4294967296"},
		     {76, "-1"},
		     {79, "18446744073709551616"},
		     {80, "99999999999999999999"},
		     {81, "4294967296"},
		     {84, "+1"},
		     {86, "1.5"},
		     {11, "0x100"},
		     {12, "0xffffff7f"}};
	enum { N = sizeof(wrong) / sizeof(wrong[0]) };
	struct scene *s = *state;

	begin(s);
	for (int i = 0; i < N; i++)
		broken_line(s, wrong[i].field, wrong[i].text, "\n");
	sound(s, 1, "node1");
	scene_json(s);
	check_sound(s);
	assert_null(row_of(frame(s, 0), 100));
	assert_int_equal(number(json_object_get(frame(s, 0), "totals"), "bad_lines"), N);
}

static void unknown_versions(void **state)
{
	struct scene *s = *state;

	begin(s);
	broken_line(s, 1, "0x0", "\n");
	broken_line(s, 1, "4", "\n");
	broken_line(s, 1, "v4", "\n");
	broken_line(s, 1, "0xfffffffff", "\n");
	sound(s, 1, "node1");
	scene_json(s);
	check_sound(s);
	assert_null(row_of(frame(s, 0), 100));
	assert_int_equal(number(json_object_get(frame(s, 0), "totals"), "bad_lines"), 4);
}

/* The fields of a later version are unknown. The fields before them are known. */
static void later_version(void **state)
{
	struct scene *s = *state;

	begin(s);
	/* all statistics go from 70 to 77, so there are 14 acquisitions */
	broken_line(s, 1, "0x7", "new\t0x1\t\n");
	sound(s, 1, "node1");
	scene_json(s);
	check_sound(s);
	assert_int_equal(number(row_of(frame(s, 0), 100), "acquired"), 14);
	assert_int_equal(number(json_object_get(frame(s, 0), "totals"), "bad_lines"), 0);
}

/* A line has more fields than its version. Their meaning is unknown. */
static void too_many_fields(void **state)
{
	struct scene *s = *state;

	begin(s);
	broken_line(s, 0, "", "5\t\n");
	sound(s, 1, "node1");
	scene_json(s);
	check_sound(s);
	assert_int_equal(number(json_object_get(frame(s, 0), "totals"), "bad_lines"), 1);
}

static void blank_and_binary_lines(void **state)
{
	struct scene *s = *state;
	FILE *f;
	char path[512];

	begin(s);
	scene_file(s, STATE(1, "node1"), "\n\t\n \n");
	snprintf(path, sizeof(path), "%s/" STATE(1, "node1"), s->root);
	f = fopen(path, "a");
	assert_non_null(f);
	for (int i = 0; i < 100000; i++)
		fputc(i % 256 == '\n' ? 0 : i % 256, f);
	fputc('\n', f);
	fclose(f);
	sound(s, 1, "node1");
	scene_json(s);
	assert_int_equal(s->status, 0);
	check_sound(s);
	assert_int_equal(number(json_object_get(frame(s, 0), "totals"), "bad_lines"), 4);
}

static void empty_file(void **state)
{
	struct scene *s = *state;

	begin(s);
	scene_file(s, STATE(1, "node1"), "%s", "");
	for (int t = 0; t < 2; t++) {
		scene_clock(s, t, "node2");
		sound(s, t, "node2");
	}
	scene_json(s);
	assert_int_equal(s->status, 0);
	check_sound(s);
	assert_string_equal(word(node_in(frame(s, 0), "node1"), "state"), "unusable");
	assert_string_equal(word(node_in(frame(s, 0), "node2"), "state"), "ok");
	assert_null(node_in(row_of(frame(s, 0), 200), "node1"));
	assert_true(says(frame(s, 0), STATE(1, "node1")));
}

/* No file of any node can be used. Then nothing is known, and no line says that no request waits.
 */
static void nothing_usable_is_no_all_clear(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 2; t++) {
		scene_clock(s, t, "node1");
		scene_file(s, STATE(t, "node1"), "damaged\n");
	}
	scene_run(s, "@", NULL);
	assert_null(strstr(s->out, "no waits"));
	assert_non_null(strstr(s->out, "no node gave usable data: nothing is known"));
}

static void vanished_file(void **state)
{
	struct scene *s = *state;

	begin(s);
	scene_file(s, "t1/node1/ocfs2/" UUID "/fs_state", "%s", "");
	for (int t = 0; t < 2; t++) {
		scene_clock(s, t, "node2");
		sound(s, t, "node2");
	}
	scene_json(s);
	assert_int_equal(s->status, 0);
	check_sound(s);
	assert_string_equal(word(node_in(frame(s, 0), "node1"), "state"), "unusable");
	assert_null(node_in(row_of(frame(s, 0), 200), "node1"));
	assert_true(says(frame(s, 0), "locking_state"));
	assert_true(says(frame(s, 0), "node1"));
}

/* The file system was unmounted on node1. Its last files are not current. */
static void vanished_space(void **state)
{
	struct scene *s = *state;

	begin(s);
	for (int t = 0; t < 2; t++) {
		scene_clock(s, t, "node2");
		sound(s, t, "node2");
	}
	scene_json(s);
	assert_int_equal(s->status, 0);
	check_sound(s);
	assert_null(node_in(row_of(frame(s, 0), 200), "node1"));
	assert_null(row_of(frame(s, 0), 100));
}

/* One of two lock spaces vanishes. The other one stays and counts. */
static void one_space_of_two_vanishes(void **state)
{
	struct scene *s = *state;

	begin(s);
	scene_stats(s, 0, "node1", 2, 0x500, 1000, 100, 100);
	scene_glock(s, 0, "node1", 2, 0x500, "SH", NULL, NULL, 0, NULL);
	sound(s, 1, "node1");
	scene_json(s);
	assert_int_equal(s->status, 0);
	check_sound(s);
	assert_null(row_of(frame(s, 0), 0x500));
	assert_string_equal(word(node_in(frame(s, 0), "node1"), "state"), "ok");
}

/* GFS2's files are broken in the same ways. Inode 0x200 is sound: 4 more holders queued. */
static void gfs2_lines(void **state)
{
	struct scene *s = *state;
	static const char *const glstats[] = {
	    "G: n:2/100 rtt:1/1 rttb:1/1 irt:1/1 dcnt: x qcnt: 5",
	    "G: n:2/ rtt:1/1 rttb:1/1 irt:1/1 dcnt: 1 qcnt: 5",
	    "G: n:2/100 rtt:1 rttb:1/1 irt:1/1 dcnt: 1 qcnt: 5",
	    "G: n:99/100 rtt:1/1 rttb:1/1 irt:1/1 dcnt: 1 qcnt: 5",
	    "G: n:2/100 rtt:1/1 rttb:1/1 irt:1/1 dcnt: 1",
	    "hello"};
	static const char *const glocks[] = {
	    "G:  s:XX n:2/100 f: t:SH d:EX/0 a:0 r:3", " H: s:SH f:W e:0 p:x [a] b",
	    " I: n:1/x t:8", "G:  s:SH n:2/100 f:#! t:SH d:EX/0 a:0 r:3", " Z: what"};

	for (int t = 0; t < 2; t++) {
		scene_clock(s, t, "node1");
		for (unsigned i = 0; t && i < sizeof(glstats) / sizeof(glstats[0]); i++)
			scene_file(s, "t1/node1/gfs2/" TABLE "/glstats", "%s\n", glstats[i]);
		for (unsigned i = 0; t && i < sizeof(glocks) / sizeof(glocks[0]); i++)
			scene_file(s, "t1/node1/gfs2/" TABLE "/glocks", "%s\n", glocks[i]);
		scene_stats(s, t, "node1", 2, 0x200, 1000, 100, 100 + 4 * (unsigned)t);
		scene_glock(s, t, "node1", 2, 0x200, "SH", NULL, NULL, 0, NULL);
	}
	scene_file(s, "t1/node1/gfs2/" TABLE "/sbstats", "inode srtt: many\ninode srtt: 1");
	scene_json(s);
	assert_int_equal(s->status, 0);
	assert_int_equal(number(row_of(frame(s, 0), 0x200), "acquired"), 4);
	assert_null(row_of(frame(s, 0), 0x100));
	assert_int_equal(number(json_object_get(frame(s, 0), "totals"), "bad_lines"), 6 + 5 + 2);
	assert_true(says(frame(s, 0), "t1/node1/gfs2/" TABLE "/glstats:1: "));
	assert_true(says(frame(s, 0), "t1/node1/gfs2/" TABLE "/glocks:2: "));
	assert_true(says(frame(s, 0), "t1/node1/gfs2/" TABLE "/sbstats:1: "));
}

/* If a line of a glock is bad, its holders do not belong to the glock before it. */
static void holders_of_a_bad_glock(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 2; t++) {
		scene_clock(s, t, "node1");
		scene_stats(s, t, "node1", 2, 0x200, 1000, 100, 100);
		scene_glock(s, t, "node1", 2, 0x200, "SH", NULL, NULL, 0, NULL);
		scene_file(s,
			   t ? "t1/node1/gfs2/" TABLE "/glocks" : "t0/node1/gfs2/" TABLE "/glocks",
			   "G:  s:SH n:2/zz f: t:SH d:EX/0 a:0 r:3\n H: s:EX f:W e:0 p:7 [a] b\n");
	}
	scene_json(s);
	assert_null(row_of(frame(s, 0), 0x200));
	assert_int_equal(number(json_object_get(frame(s, 0), "totals"), "waiting"), 0);
}

/* GFS2 has no glstats there. OCFS2 beside it has all its files. */
static void one_space_without_statistics(void **state)
{
	struct scene *s = *state;

	begin(s);
	sound(s, 1, "node1");
	for (int t = 0; t < 2; t++) {
		scene_glock(s, t, "node1", 2, 0x500, "SH", NULL, NULL, 0, NULL);
		scene_clock(s, t, "node2");
		scene_glock(s, t, "node2", 2, 0x500, "SH", NULL, NULL, 0, NULL);
	}
	scene_json(s);
	check_sound(s);
	assert_string_equal(word(node_in(frame(s, 0), "node1"), "state"), "ok");
	assert_true(says(frame(s, 0), "node1: " TABLE ": no statistics"));
	/* of all this, only the state tells */
	assert_string_equal(word(node_in(frame(s, 0), "node2"), "state"), "no statistics");
	assert_false(says(frame(s, 0), "node2: " TABLE ": no statistics"));
}

/* GFS2 cannot be read at all. OCFS2 still has statistics. */
static void one_space_without_anything(void **state)
{
	struct scene *s = *state;

	begin(s);
	sound(s, 1, "node1");
	scene_stats(s, 0, "node1", 2, 0x500, 1000, 100, 100);
	scene_glock(s, 0, "node1", 2, 0x500, "SH", NULL, NULL, 0, NULL);
	scene_file(s, "t1/node1/gfs2/" TABLE "/glstats", "%s", "");
	scene_file(s, "t1/node1/gfs2/" TABLE "/glocks", "%s", "");
	scene_json(s);
	check_sound(s);
	assert_string_equal(word(node_in(frame(s, 0), "node1"), "state"), "ok");
	assert_true(says(frame(s, 0), "t1/node1/gfs2/" TABLE "/glstats: no line is usable"));
	assert_true(says(frame(s, 0), "t1/node1/gfs2/" TABLE "/glocks: no line is usable"));
}

/* Files that came through Windows end lines with CR LF. Their meaning is the same. */
static void lines_of_windows(void **state)
{
	struct scene *s = *state;
	char command[256], *before;

	begin(s);
	sound(s, 1, "node1");
	for (int t = 0; t < 2; t++) {
		char path[128];

		snprintf(path, sizeof(path), "t%d/node1/ocfs2/" UUID "/fs_state", t);
		scene_file(s, path, "  Recovery => Pid: -1  Nodes: None\n");
		scene_stats(s, t, "node1", 2, 0x500, 1000, 100, 100 + 4 * (unsigned)t);
		scene_glock(s, t, "node1", 2, 0x500, "UN", "AW", "SH", 77, "hotload");
	}
	scene_run(s, "--json", "@", NULL);
	before = strdup(s->out);
	assert_non_null(before);
	snprintf(command, sizeof(command), "find %s -type f -exec sed -i 's/$/\r/' {} +", s->root);
	assert_int_equal(system(command), 0);
	scene_run(s, "--json", "@", NULL);
	assert_string_equal(s->out, before);
	free(before);
	scene_json(s);
	check_sound(s);
	assert_int_equal(json_array_size(json_object_get(frame(s, 0), "banners")), 0);
	assert_int_equal(json_array_size(json_object_get(frame(s, 0), "problems")), 0);
}

/*
 * Version 2 counts its longest wait in ns, version 3 in us. Neither has stamps. 1 counts nothing.
 */
static void old_versions(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 2; t++) {
		unsigned long long total = 1000000000ull + 2000000000ull * (unsigned)t;

		scene_clock(s, t, "two");
		scene_clock(s, t, "three");
		scene_clock(s, t, "one");
		/* 20 acquisitions waited 2 s, the longest one 0.4 s */
		LINE(t, "two", .version = 2, .ino = 2, .gets = {0, 10 + 20 * (unsigned)t},
		     .total_ns = {0, total}, .max = {0, 100000000 + 300000000 * (unsigned)t});
		LINE(t, "three", .version = 3, .ino = 3, .gets = {0, 10 + 20 * (unsigned)t},
		     .total_ns = {0, total}, .max = {0, 100000 + 300000 * (unsigned)t});
		LINE(t, "one", .version = 1, .ino = 1);
	}
	scene_json(s);
	for (unsigned ino = 2; ino <= 3; ino++) {
		assert_near(waited(s, 0, ino), 2, 1e-6);
		assert_near(number(row_of(frame(s, 0), ino), "longest_wait_s"), 0.4, 1e-6);
		assert_int_equal(number(row_of(frame(s, 0), ino), "acquired"), 20);
	}
	assert_null(row_of(frame(s, 0), 1));
	assert_string_equal(word(node_in(frame(s, 0), "one"), "state"), "no statistics");
	assert_string_equal(word(node_in(frame(s, 0), "two"), "state"), "ok");
}

/* A kernel that was built without statistics has version 4 and only zeros. */
static void no_statistics(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 2; t++) {
		scene_clock(s, t, "node1");
		LINE(t, "node1", .ino = 100);
		LINE(t, "node1", .ino = 200);
	}
	scene_json(s);
	assert_int_equal(s->status, 0);
	assert_string_equal(word(node_in(frame(s, 0), "node1"), "state"), "no statistics");
	assert_int_equal(json_array_size(json_object_get(frame(s, 0), "rows")), 0);
}

static void clock_is_text(void **state)
{
	struct scene *s = *state;

	scene_file(s, "t0/node1/realtime", "noon\n");
	scene_file(s, "t0/node1/uptime", "%f\n", UP0);
	scene_file(s, "t1/node1/realtime", "%s", "");
	scene_file(s, "t1/node1/uptime", "%f\n", UP0 + STEP);
	sound(s, 0, "node1");
	sound(s, 1, "node1");
	scene_json(s);
	check_sound(s);
	assert_near(number(node_in(frame(s, 0), "node1"), "interval_s"), STEP, 1e-6);
	assert_true(says(frame(s, 0), "t1/node1/realtime"));
}

/* The first sample makes no frame of its own. Its errors are in the first frame. */
static void first_sample_is_bad(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 2; t++) {
		scene_clock(s, t, "node1");
		LINE(t, "node1", .ino = 100, .gets = {1, 0});
	}
	scene_file(s, "t0/node1/ocfs2/" UUID "/locking_state", "0x4\tbroken\n");
	scene_json(s);
	assert_int_equal(s->n_frames, 1);
	assert_int_equal(number(json_object_get(frame(s, 0), "totals"), "bad_lines"), 1);
	assert_true(says(frame(s, 0), "t0/node1/ocfs2/" UUID "/locking_state:2: "));
}

int main(void)
{
#define BAD(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
	    BAD(truncated_line),
	    BAD(text_for_numbers),
	    BAD(numbers_that_do_not_fit),
	    BAD(unknown_versions),
	    BAD(later_version),
	    BAD(too_many_fields),
	    BAD(blank_and_binary_lines),
	    BAD(empty_file),
	    BAD(nothing_usable_is_no_all_clear),
	    BAD(vanished_file),
	    BAD(vanished_space),
	    BAD(one_space_of_two_vanishes),
	    BAD(one_space_without_statistics),
	    BAD(one_space_without_anything),
	    BAD(lines_of_windows),
	    BAD(gfs2_lines),
	    BAD(holders_of_a_bad_glock),
	    BAD(old_versions),
	    BAD(no_statistics),
	    BAD(first_sample_is_bad),
	    BAD(clock_is_text),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
