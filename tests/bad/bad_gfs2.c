/* SPDX-License-Identifier: MIT */
/*
 * bad_gfs2.c - tests which GFS2 holders are waits, and what means and counts of glocks say.
 *
 * Glock 0x200 is inode 512.
 */
#include "gfs2.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The same process waits for the same mode, and no request was answered. So this is one wait: 5 s
 * of it lie in each frame.
 */
static void same_wait(void **state)
{
	struct scene *s = *state;
	json_t *row;

	clocks(s, 3);
	for (int t = 0; t < 3; t++) {
		scene_stats(s, t, "node1", 2, 0x200, 1000, 100, 500);
		scene_glock(s, t, "node1", 2, 0x200, "UN", "AW", "SH", 77, "hotload");
	}
	scene_json(s);
	for (size_t n = 0; n < 2; n++) {
		row = row_of(frame(s, n), 512);
		assert_int_equal(number(row, "waiting"), 1);
		assert_near(number(row, "wait_s"), 5, 1e-6);
		assert_near(number(row, "oldest_wait_s"), 5 * (double)(n + 1), 1e-6);
		/* t0 showed the wait already: it may have any age */
		assert_true(is_null(row, "oldest_wait_max_s"));
		assert_true(json_is_false(json_object_get(row, "estimated")));
	}
}

/*
 * A request was answered in between. So the process waits again: these are two waits. The second
 * one counts as a wait in progress, because the sample shows the process. Its seconds are not
 * known.
 */
static void another_wait(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	for (int t = 0; t < 2; t++) {
		scene_stats(s, t, "node1", 2, 0x200, 1000, 100 + (unsigned)t, 500);
		scene_glock(s, t, "node1", 2, 0x200, "UN", "AW", "SH", 77, "hotload");
	}
	scene_json(s);
	assert_int_equal(number(row_of(frame(s, 0), 512), "waiting"), 1);
	assert_near(number(row_of(frame(s, 0), 512), "oldest_wait_s"), 0, 1e-9);
	assert_near(waited(s, 0, 512), 0, 1e-9);
}

/* Another mode or another process is not the same wait. */
static void another_mode_or_process(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	for (int t = 0; t < 2; t++) {
		scene_stats(s, t, "node1", 2, 0x200, 1000, 100, 500);
		scene_glock(s, t, "node1", 2, 0x200, "UN", "W", t ? "EX" : "SH", 77, "hotload");
		scene_stats(s, t, "node1", 2, 0x300, 1000, 100, 500);
		scene_glock(s, t, "node1", 2, 0x300, "UN", "W", "SH", 77 + t, "hotload");
	}
	scene_json(s);
	assert_int_equal(number(json_object_get(frame(s, 0), "totals"), "waiting"), 2);
	assert_near(number(json_object_get(frame(s, 0), "totals"), "oldest_wait_s"), 0, 1e-9);
	assert_near(waited(s, 0, 512) + waited(s, 0, 0x300), 0, 1e-9);
}

/*
 * node2 is away for 15 s, in which one request was answered. The frame has a quarter of that time.
 * A quarter of one request rounds to none, but the wait is another one.
 */
static void another_wait_after_a_gap(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 5; t++) {
		scene_clock(s, t, "node1");
		scene_stats(s, t, "node1", 2, 0x200, 1000, 100, 500);
		scene_glock(s, t, "node1", 2, 0x200, "SH", NULL, NULL, 0, NULL);
		if (t != 0 && t != 4)
			continue;
		scene_clock(s, t, "node2");
		scene_stats(s, t, "node2", 2, 0x200, 1000, 100 + (t == 4), 500);
		scene_glock(s, t, "node2", 2, 0x200, "UN", "AW", "SH", 77, "hotload");
	}
	scene_json(s);
	assert_int_equal(number(json_object_get(frame(s, 3), "totals"), "waiting"), 1);
	assert_near(number(json_object_get(frame(s, 3), "totals"), "oldest_wait_s"), 0, 1e-9);
	assert_near(waited(s, 3, 512), 0, 1e-9);
}

/*
 * A new glock inherits the mean of other glocks, and few requests leave it there. A mean that moved
 * tells the glock's own time from the second request on. The mean of a new glock tells it, too, if
 * the node asked in SH alone, as a scan does: 100 ms here.
 */
static void inherited_means(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	scene_stats(s, 0, "node1", 2, 0x200, 100000000, 1, 10);
	/* 100 ms x 7/8 + 900 ms / 8 */
	scene_stats(s, 1, "node1", 2, 0x200, 200000000, 2, 20);
	/* created since t0 */
	scene_stats(s, 0, "node1", 2, 0x201, 3000000000, 1, 1);
	for (unsigned ino = 0x202; ino <= 0x204; ino++)
		scene_stats(s, 1, "node1", 2, ino, 100000000, 1, 4);
	scene_glock(s, 1, "node1", 2, 0x202, "SH", NULL, NULL, 0, NULL);
	scene_glock(s, 1, "node1", 2, 0x203, "EX", NULL, NULL, 0, NULL);
	scene_json(s);
	assert_near(waited(s, 0, 0x200), 0.9, 1e-6);
	assert_near(waited(s, 0, 0x201), 0, 1e-9);
	assert_near(waited(s, 0, 0x202), 0.1, 1e-6);
	assert_near(waited(s, 0, 0x203), 0, 1e-9);
	assert_near(waited(s, 0, 0x204), 0, 1e-9);
	assert_int_equal(number(row_of(frame(s, 0), 512), "acquired"), 10);
}

/* There is no estimate if the pair did not change, however many requests there were. */
static void mean_did_not_move(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	for (int t = 0; t < 2; t++)
		scene_stats(s, t, "node1", 2, 0x200, 50000000, 100 + 60 * (unsigned)t, 500);
	scene_json(s);
	assert_near(waited(s, 0, 512), 0, 1e-9);
}

/*
 * 8 of 14 requests took the lock. q = (7/8)^8 = 0.34361. Eight waits of 100 ms move a mean of 1 ms
 * to 1 ms x 0.34361 + 100 ms x 0.65639 = 65.98 ms. So 8 x 0.1 s were lost. This is an estimate.
 */
static void estimate(void **state)
{
	struct scene *s = *state;
	json_t *row;

	clocks(s, 2);
	scene_stats(s, 0, "node1", 2, 0x200, 1000000, 100, 500);
	scene_stats(s, 1, "node1", 2, 0x200, 65982709, 114, 532);
	scene_json(s);
	row = row_of(frame(s, 0), 512);
	assert_near(number(row, "wait_s"), 0.8, 0.001);
	/* A mean tells nothing of the longest wait. */
	assert_true(is_null(row, "longest_wait_s"));
	assert_true(json_is_true(json_object_get(row, "estimated")));
	assert_int_equal(number(row, "acquired"), 32);
	assert_int_equal(number(row, "requests"), 14);
	assert_near(number(row, "hit_ratio"), 1 - 14. / 32, 1e-6);
}

/*
 * If dcnt falls, the glock was created anew. All that it counts now is new, but its mean is
 * inherited.
 */
static void made_anew(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	scene_stats(s, 0, "node1", 2, 0x200, 1000000, 1000, 5000);
	scene_stats(s, 1, "node1", 2, 0x200, 900000000, 2, 7);
	scene_json(s);
	assert_near(waited(s, 0, 512), 0, 1e-9);
	assert_int_equal(number(row_of(frame(s, 0), 512), "acquired"), 7);
	assert_int_equal(number(row_of(frame(s, 0), 512), "requests"), 2);
}

/* The mean moves from one end of 64 bits to the other while a process waits. */
static void means_from_end_to_end(void **state)
{
	struct scene *s = *state;

	clocks(s, 3);
	for (int t = 0; t < 3; t++) {
		scene_stats(s, t, "node1", 2, 0x200, t == 1 ? INT64_MAX : INT64_MIN,
			    100 + (unsigned)t, 500);
		scene_glock(s, t, "node1", 2, 0x200, "UN", "AW", "SH", 77, "hotload");
		scene_stats(s, t, "node1", 2, 0x300, t ? INT64_MAX : INT64_MIN, 100 + (t == 2),
			    500);
		scene_glock(s, t, "node1", 2, 0x300, "UN", t == 2 ? NULL : "AW", "SH", 77,
			    "hotload");
	}
	scene_json(s);
	assert_int_equal(s->status, 0);
}

/*
 * The DLM's means tell of one request at a time. 15 processes of a node wait for a glock in each
 * sample, and other ones each time. Beside it a glock has the same means and no second process.
 */
static void a_queue_inside_a_node(void **state)
{
	struct scene *s = *state;
	char path[64];

	clocks(s, 4);
	for (int t = 0; t < 4; t++) {
		snprintf(path, sizeof(path), "t%d/node1/gfs2/" TABLE "/glocks", t);
		scene_stats(s, t, "node1", 2, 0x200, 200000000 + t, 100 + 100 * (unsigned)t, 500);
		scene_glock(s, t, "node1", 2, 0x200, "UN", NULL, NULL, 0, NULL);
		for (int i = 0; i < 15; i++)
			scene_file(s, path,
				   " H: s:EX f:W e:0 p:%d [httpd] gfs2_open+0x1c/0x40 [gfs2]\n",
				   100 * t + i + 1);
		scene_stats(s, t, "node1", 2, 0x300, 200000000 + t, 100 + 100 * (unsigned)t, 500);
		scene_glock(s, t, "node1", 2, 0x300, "SH", NULL, NULL, 0, NULL);
	}
	scene_json(s);
	for (size_t i = 0; i < 3; i++) {
		double lost = number(row_of(frame(s, i), 512), "wait_s_per_s"),
		       alone = number(row_of(frame(s, i), 768), "wait_s_per_s");

		if (lost < 7.5 || lost > 15.001 || alone < 0.5 || alone > 1.001)
			fail_msg("frame %zu: %.3f s/s instead of 15, %.3f instead of 1", i, lost,
				 alone);
	}
}

/*
 * The row of an inode includes its iopen glock, its flock and its fcntl locks. Resource groups,
 * quota and so on have rows of their own.
 */
static void types_of_glocks(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	for (int t = 0; t < 2; t++)
		for (int type = 0; type <= 9; type++)
			scene_stats(s, t, "node1", type, 0x200, 1000, 100, 500 + (unsigned)t);
	scene_json(s);
	assert_int_equal(number(row_of(frame(s, 0), 512), "acquired"), 4);
	assert_int_equal(json_array_size(json_object_get(row_of(frame(s, 0), 512), "locks")), 4);
	assert_string_equal(word(row_of_kind(frame(s, 0), "resource groups"), "section"), "system");
	assert_true(is_null(row_of_kind(frame(s, 0), "quota"), "ino"));
}

/* ---- lines that one listing left out -------------------------------------------------------- */

/*
 * t0's glstats omits a glock that t0's glocks lists. The counts of the glock's whole life do not
 * belong to the frame.
 */
static void glstats_left_a_glock_out(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	for (int t = 0; t < 2; t++) {
		scene_stats(s, t, "node1", 2, 0x300, 1000, 100, 500);
		scene_glock(s, t, "node1", 2, 0x200, "SH", NULL, NULL, 0, NULL);
		scene_glock(s, t, "node1", 2, 0x300, "SH", NULL, NULL, 0, NULL);
	}
	scene_stats(s, 1, "node1", 2, 0x200, 50000000, 100000, 900000);
	scene_json(s);
	assert_near(waited(s, 0, 512), 0, 1e-9);
	assert_null(row_of(frame(s, 0), 512));
}

/*
 * t1's glstats omits the glock, which was created anew between t0 and t2. The second frame has its
 * counts, and half of them in its rates.
 */
static void left_out_and_made_anew(void **state)
{
	struct scene *s = *state;

	clocks(s, 3);
	for (int t = 0; t < 3; t++) {
		scene_stats(s, t, "node1", 2, 0x300, 1000, 100, 500);
		scene_glock(s, t, "node1", 2, 0x200, "SH", NULL, NULL, 0, NULL);
	}
	scene_stats(s, 0, "node1", 2, 0x200, 1000000, 1000, 5000);
	scene_stats(s, 2, "node1", 2, 0x200, 900000000, 400, 600);
	scene_json(s);
	assert_int_equal(number(row_of(frame(s, 1), 512), "acquired"), 600);
	assert_near(number(json_object_get(frame(s, 1), "totals"), "acquired_per_s"), 300 / STEP,
		    1e-6);
	assert_true(waited(s, 1, 512) <= 2 * STEP + 1e-6);
	assert_true(rate(s, 1, 512) <= 1 + 1e-6);
}

/* A glock asks for one mode at a time. So the waits of its 16 requests fit into the frame. */
static void no_estimate_exceeds_the_frame(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	scene_stats(s, 0, "node1", 2, 0x200, 1000000, 100, 500);
	scene_stats(s, 1, "node1", 2, 0x200, 100000000000, 116, 532);
	/* created since t0 */
	scene_stats(s, 0, "node1", 2, 0x300, 1000, 100, 500);
	scene_stats(s, 1, "node1", 2, 0x300, 1000, 100, 500);
	scene_stats(s, 1, "node1", 2, 0x400, 100000000, 1000, 5000);
	scene_json(s);
	assert_near(waited(s, 0, 512), STEP, 1e-6);
	assert_near(waited(s, 0, 0x400), STEP, 1e-6);
}

/* ---- holders -------------------------------------------------------------------------------- */

/*
 * A glock that is not listed any more shows no holder: neither its old one nor that of another
 * glock.
 */
static void holders_of_an_unlisted_glock(void **state)
{
	struct scene *s = *state;
	bool old, other;
	char *text;

	clocks(s, 2);
	for (int t = 0; t < 2; t++) {
		scene_stats(s, t, "node1", 2, 0x200, 1000, 100, 500 + (unsigned)t);
		scene_stats(s, t, "node1", 2, 0x300, 1000, 100, 500);
	}
	scene_glock(s, 0, "node1", 2, 0x200, "SH", "H", "SH", 7, "alice");
	scene_glock(s, 1, "node1", 2, 0x300, "SH", "H", "SH", 8, "bob");
	scene_json(s);
	text = json_dumps(row_of(frame(s, 0), 512), 0);
	assert_non_null(text);
	old = strstr(text, "alice") != NULL;
	other = strstr(text, "bob") != NULL;
	free(text);
	assert_false(old);
	assert_false(other);
}

/*
 * The files of kernels 6.11 to 7.0 have other letters of flags and no reference of an idle glock.
 * They have holders without a process, and lines of resource groups. Only the waits are waits.
 */
static void newer_kernels(void **state)
{
	static const struct {
		const char *kernel, *asked, *cached;
	} kernels[] = {
	    {"6.11", "lqaob", "LxnNo"},
	    {"6.15", "lRaqobn", "rFLoxnNeEsC"},
	    {"6.18", "lRqobnN", "fyrFLoeEsC"},
	    {"7.0", "lcqobnN", "fyrFLoeEsC"},
	};
	struct scene *s = *state;
	const unsigned n = sizeof(kernels) / sizeof(kernels[0]);

	for (int t = 0; t < 2; t++) {
		char path[64];

		scene_clock(s, t, "node1");
		snprintf(path, sizeof(path), "t%d/node1/gfs2/" TABLE "/glocks", t);
		for (unsigned i = 0; i < n; i++) {
			unsigned ino = 0x200 + 2 * i;

			scene_stats(s, t, "node1", 2, ino, 1000, 100, 500);
			scene_stats(s, t, "node1", 2, ino + 1, 1000, 100, 500);
			scene_file(s, path,
				   "G:  s:UN n:2/%x f:%s t:EX d:EX/0 a:0 v:0 r:3 m:10 p:0\n"
				   " H: s:EX f:W e:0 p:%u [writer] gfs2_open+0x1c/0x40 [gfs2]\n",
				   ino, kernels[i].asked, 70 + i);
			scene_file(s, path,
				   "G:  s:SH n:2/%x f:%s t:SH d:EX/0 a:0 v:0 r:0 m:10 p:1\n"
				   " H: s:SH f:EH e:0 p:0 [(none)] gfs2_lookup+0x1a0/0x3f0 [gfs2]\n"
				   " I: n:1/%u t:8 f:0x00 d:0x00000000 s:%u p:1\n",
				   ino + 1, kernels[i].cached, ino + 1, 4096 + i);
		}
		scene_file(s, path,
			   "G:  s:EX n:3/11 f:Lob t:EX d:EX/0 a:0 v:0 r:2 m:10 p:2\n"
			   " R: n:17 f:30000000 b:1000/1000 i:5 q:0 r:0 e:0\n"
			   "  L: f:30000000 b:1000 i:5\n"
			   "  B: n:300 s:17:5 f:32\n");
	}
	scene_json(s);
	assert_int_equal(json_array_size(json_object_get(frame(s, 0), "problems")), 0);
	assert_int_equal(number(json_object_get(frame(s, 0), "totals"), "waiting"), n);
	for (unsigned i = 0; i < n; i++) {
		json_t *row = row_of(frame(s, 0), 0x200 + 2 * i);

		if (!row || number(row, "waiting") != 1)
			fail_msg("no wait of the glock of Linux %s", kernels[i].kernel);
		assert_near(number(row, "wait_s"), STEP, 1e-6);
	}
}

int main(void)
{
#define BAD(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
	    BAD(same_wait),
	    BAD(another_wait),
	    BAD(another_mode_or_process),
	    BAD(another_wait_after_a_gap),
	    BAD(inherited_means),
	    BAD(mean_did_not_move),
	    BAD(estimate),
	    BAD(made_anew),
	    BAD(means_from_end_to_end),
	    BAD(a_queue_inside_a_node),
	    BAD(types_of_glocks),
	    BAD(glstats_left_a_glock_out),
	    BAD(left_out_and_made_anew),
	    BAD(no_estimate_exceeds_the_frame),
	    BAD(holders_of_an_unlisted_glock),
	    BAD(newer_kernels),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
