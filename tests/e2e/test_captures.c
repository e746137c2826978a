/* SPDX-License-Identifier: MIT */
/*
 * test_captures.c - tests o2top's rows of recorded clusters against the known load.
 *
 * truth.txt of a recording says which files the load used and how. node1.txt and node2.txt of a
 * hang say how long each process waited.
 */
#include "frames.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/*
 * ---- the load: a log that all nodes append to, a spool that all create in, settings that node1
 * writes
 */

struct hot {
	const char *fs;
	json_int_t log, spool, settings;
	json_int_t
	    cold[6]; /* read-only and private files, and directories that paths pass through */
};

static const struct hot ocfs2_hot = {
    "ocfs2", 32264, 32259, 12821, {32263, 12822, 64515, 32265, 32258, 5}};
static const struct hot gfs2_hot = {
    "gfs2", 9291, 9286, 9295, {9290, 9296, 9293, 135201, 9285, 9284}};

static double lost_over(json_t *frames, const struct hot *h, json_int_t ino, bool *ever_hot)
{
	double sum = 0;
	json_t *frame;
	size_t i;

	*ever_hot = false;
	json_array_foreach(frames, i, frame)
	{
		json_t *row = row_of(frame, h->fs, ino);

		if (!row)
			continue;
		sum += real_of(row, "wait_s");
		*ever_hot |= json_is_true(json_object_get(row, "hot"));
	}
	return sum;
}

/* Only these three rows are hot in any frame, section or file system. */
static void only_these_are_hot(json_t *frames, const struct hot *h)
{
	json_t *frame, *row;
	size_t i, j;

	json_array_foreach(frames, i, frame)
	    json_array_foreach(json_object_get(frame, "rows"), j, row)
	{
		json_int_t ino = json_integer_value(json_object_get(row, "ino"));
		bool hot = json_is_true(json_object_get(row, "hot"));

		if (hot)
			assert_true(strcmp(text_of(row, "fs"), h->fs) == 0 &&
				    (ino == h->log || ino == h->spool || ino == h->settings));
		/* the rows of a section of a frame are in the order of their lost time */
		if (hot)
			assert_true(real_of(row, "wait_s_per_s") >= 0.001 ||
				    real_of(row, "waiting") > 0);
	}
}

static void no_wait_is_longer_than(json_t *frames, double limit)
{
	json_t *frame, *row;
	size_t i, j;

	json_array_foreach(frames, i, frame)
	    json_array_foreach(json_object_get(frame, "rows"), j, row)
	{
		assert_false(real_of(row, "longest_wait_s") > limit);
		assert_false(real_of(row, "oldest_wait_s") > limit);
	}
}

static void check_hot(const char *name, const struct hot *h)
{
	json_t *frames = run_frames(capture(name));
	double log, spool, settings;
	bool hot;

	assert_int_equal(json_array_size(frames), 4);
	only_these_are_hot(frames, h);
	no_wait_is_longer_than(frames, 0.3);
	log = lost_over(frames, h, h->log, &hot);
	assert_true(hot);
	spool = lost_over(frames, h, h->spool, &hot);
	assert_true(hot);
	settings = lost_over(frames, h, h->settings, &hot);
	assert_true(hot);
	assert_true(log > spool && spool > settings);
	for (size_t i = 0; i < sizeof(h->cold) / sizeof(h->cold[0]); i++) {
		lost_over(frames, h, h->cold[i], &hot);
		assert_false(hot);
	}
	json_decref(frames);
}

static void ocfs2_hot_files_are_found(void **state)
{
	(void)state;
	check_hot("ocfs2-hot", &ocfs2_hot);
}

static void gfs2_hot_files_are_found(void **state)
{
	(void)state;
	check_hot("gfs2-hot", &gfs2_hot);
}

/*
 * The counters of the recording itself say how much was waited. Missing lines must not add to it.
 */
static void ocfs2_hot_loses_no_more_than_was_waited(void **state)
{
	json_t *frames = run_frames(capture("ocfs2-hot"));
	bool hot;
	double log, spool, settings;

	(void)state;
	log = lost_over(frames, &ocfs2_hot, ocfs2_hot.log, &hot);
	spool = lost_over(frames, &ocfs2_hot, ocfs2_hot.spool, &hot);
	settings = lost_over(frames, &ocfs2_hot, ocfs2_hot.settings, &hot);
	/* last minus first sum of fields 79 and 80 of all lines: 36.349, 13.424 and 1.671 s */
	assert_true(log > 29 && log < 36.36);
	assert_true(spool > 7.5 && spool < 13.43);
	assert_true(fabs(settings - 1.671) < 0.001);
	json_decref(frames);
}

/* ---- hangs: node3 frozen while node1 and node2 want its file ------------------------------- */

struct hang {
	const char *name, *fs;
	json_int_t victim;
	double truth[2]; /* seconds that node1 and node2 waited */
	double age[2];   /* the age of these waits at t1 */
};

/*
 * Ages at t1. For OCFS2, the wait of node1 ended at 1795154852.03 (its last PR) after 8.2248 s. t1
 * is 1795154849.664, so the wait was 5.86 s old. The wait of node2 ended at ...851.93 after 8.231
 * s. t1 is ...850.826: 7.12 s. For GFS2, the DLM's stamps tell the beginnings: 844.673 and 844.199
 * s. t1 is 850.68 and 851.41 s.
 */
static const struct hang hangs[] = {
    {"ocfs2-hang", "ocfs2", 32272, {8.234, 8.234}, {5.86, 7.12}},
    {"gfs2-hang", "gfs2", 9907, {8.259, 8.242}, {6.01, 7.21}},
};

static const char *const waiters[] = {"node1", "node2"};

static void only_victim_is_hot(json_t *frames, const struct hang *h)
{
	json_t *frame, *row;
	size_t i, j;

	json_array_foreach(frames, i, frame) json_array_foreach(
	    json_object_get(frame, "rows"), j, row) if (json_is_true(json_object_get(row, "hot")))
	    assert_true(row == row_of(frame, h->fs, h->victim));
}

static void check_while_it_hangs(json_t *frame, const struct hang *h)
{
	json_t *row = row_of(frame, h->fs, h->victim);

	assert_non_null(row);
	assert_int_equal(json_integer_value(json_object_get(row, "waiting")), 2);
	assert_string_equal(text_of(node_of(frame, "node3"), "state"), "not answering");
	for (int i = 0; i < 2; i++) {
		json_t *node = node_of(row, waiters[i]);

		assert_non_null(node);
		assert_int_equal(json_integer_value(json_object_get(node, "waiting")), 1);
		assert_true(real_of(node, "oldest_wait_s") <= h->age[i] + 0.02);
		assert_true(real_of(node, "oldest_wait_max_s") >= h->age[i] - 0.02);
		/* the wait lasted for the whole frame, and no longer */
		assert_true(fabs(real_of(node, "wait_s") -
				 real_of(node_of(frame, waiters[i]), "interval_s")) < 0.001);
	}
	assert_null(node_of(row, "node3"));
}

static void check_after_it(json_t *frame, const struct hang *h, json_t *while_it)
{
	json_t *row = row_of(frame, h->fs, h->victim);
	json_t *before = row_of(while_it, h->fs, h->victim);

	assert_non_null(row);
	assert_int_equal(json_integer_value(json_object_get(row, "waiting")), 0);
	assert_string_equal(text_of(node_of(frame, "node3"), "state"), "ok");
	for (int i = 0; i < 2; i++) {
		json_t *node = node_of(row, waiters[i]);
		double rest = real_of(node, "wait_s"),
		       counted = real_of(node_of(before, waiters[i]), "wait_s");

		/* its whole length is shown ... */
		assert_true(fabs(real_of(node, "longest_wait_s") - h->truth[i]) < 0.05);
		/* ... and each second of it counts one time: the rest after t1 */
		assert_true(fabs(rest - (h->truth[i] - h->age[i])) < 0.05);
		assert_true(counted + rest < h->truth[i] + 0.05);
	}
}

static void check_hang(const struct hang *h)
{
	json_t *frames = run_frames(capture(h->name));

	assert_int_equal(json_array_size(frames), 2);
	only_victim_is_hot(frames, h);
	check_while_it_hangs(json_array_get(frames, 0), h);
	check_after_it(json_array_get(frames, 1), h, json_array_get(frames, 0));
	json_decref(frames);
}

static void ocfs2_hang_is_shown(void **state)
{
	(void)state;
	check_hang(&hangs[0]);
}

static void gfs2_hang_is_shown(void **state)
{
	(void)state;
	check_hang(&hangs[1]);
}

/* One sample already shows the waiters, and no other process. */
static void check_first_sample(const struct hang *h)
{
	char args[4200];
	json_t *frames, *row;

	snprintf(args, sizeof(args), "%s/t0", capture(h->name));
	frames = run_frames(args);
	assert_int_equal(json_array_size(frames), 1);
	assert_int_equal(json_array_size(json_object_get(json_array_get(frames, 0), "rows")), 1);
	row = row_of(json_array_get(frames, 0), h->fs, h->victim);
	assert_non_null(row);
	assert_int_equal(json_integer_value(json_object_get(row, "waiting")), 2);
	assert_true(json_is_true(json_object_get(row, "hot")));
	json_decref(frames);
}

static void one_sample_shows_who_waits(void **state)
{
	(void)state;
	check_first_sample(&hangs[0]);
	check_first_sample(&hangs[1]);
}

/* A row names the waiting process if the kernel names it. */
static void gfs2_hang_names_processes(void **state)
{
	static const json_int_t pids[] = {1770, 1757};
	json_t *frames = run_frames(capture("gfs2-hang"));
	json_t *row = row_of(json_array_get(frames, 0), "gfs2", 9907);

	(void)state;
	for (int i = 0; i < 2; i++) {
		json_t *list = json_object_get(node_of(row, waiters[i]), "processes");
		json_t *process = json_array_get(list, 0);

		assert_int_equal(json_array_size(list), 1);
		assert_int_equal(json_integer_value(json_object_get(process, "pid")), pids[i]);
		assert_string_equal(text_of(process, "command"), "hotload");
		assert_true(json_is_true(json_object_get(process, "waits")));
	}
	json_decref(frames);
}

/* Returns how many banners of a frame hold a text. */
static unsigned banners_with(json_t *frame, const char *text)
{
	unsigned n = 0;
	json_t *banner;
	size_t i;

	json_array_foreach(json_object_get(frame, "banners"), i, banner) n +=
	    strstr(json_string_value(banner), text) != NULL;
	return n;
}

/*
 * node2 lost its power after t1. Two processes of each survivor wait in each file system. The
 * banner says so once, and no row blames a survivor.
 */
static void a_power_cut_has_one_cause(void **state)
{
	static const char cause[] = ": 8 waits on 4 files began then; no recovery is seen";
	json_t *frames = run_frames(capture("power-cut")), *row;
	size_t n;

	(void)state;
	assert_int_equal(json_array_size(frames), 6);
	assert_int_equal(banners_with(json_array_get(frames, 0), "silent"), 0);
	for (size_t i = 1; i < 6; i++) {
		json_t *frame = json_array_get(frames, i);

		assert_int_equal(banners_with(frame, cause), 1);
		assert_int_equal(banners_with(frame, "silent"), 1);
		assert_non_null(strstr(text_of(row_of(frame, "ocfs2", 32277), "sentence"),
				       "(node3 -> node1 -> node2)"));
		json_array_foreach(json_object_get(frame, "rows"), n,
				   row) if (json_integer_value(json_object_get(row, "waiting")))
		{
			assert_string_equal(text_of(row, "advice_code"), "WAIT_NODE_SILENT");
			assert_non_null(strstr(text_of(row, "advice"), "node2 does not answer"));
			assert_non_null(strstr(text_of(row, "sentence"), "node2 holds"));
		}
	}
	json_decref(frames);
}

/* The survivors' samples alone: no sample tells that node2 is dead. */
static void the_survivors_alone(void **state)
{
	char args[4200];
	json_t *frames;

	(void)state;
	snprintf(args, sizeof(args), "-n node1 -n node3 %s/t6", capture("power-cut"));
	frames = run_frames(args);
	assert_int_equal(banners_with(json_array_get(frames, 0), "is dead or not watched"), 1);
	assert_non_null(
	    strstr(text_of(row_of(json_array_get(frames, 0), "gfs2", 136711), "sentence"),
		   "the DLM's node 2, which is dead or not watched, holds EX"));
	json_decref(frames);
}

/* ---- advice -------------------------------------------------------------------------------- */

static void says(json_t *frame, const char *fs, json_int_t ino, const char *advice)
{
	json_t *row = row_of(frame, fs, ino);

	assert_non_null(row);
	assert_string_equal(text_of(row, "advice"), advice);
}

#define ALL_WRITE                                                                          \
	"node1, node2 and node3 write it and take the lock from each other: let one node " \
	"write it, or give each node its own file"
#define ONE_WRITES                                                                            \
	"node1 writes it, and node2 and node3 read it: write less often and more at a time, " \
	"because a write takes the lock from all readers"
#define HANGS                                                                              \
	"node1 and node2 wait while node3 does not answer: first check whether that node " \
	"hangs, or is dead and not fenced yet"
#define HUNG                                                                 \
	"node1 and node2 waited up to %s s, too long for normal use: check " \
	"what node3 did at that time"

static void advice_fits_the_load(void **state)
{
	json_t *ocfs2 = run_frames(capture("ocfs2-hot")), *gfs2 = run_frames(capture("gfs2-hot"));

	(void)state;
	says(json_array_get(ocfs2, 3), "ocfs2", 32264, ALL_WRITE);
	/* the kernel never printed node1's line of the spool's lock */
	says(json_array_get(ocfs2, 3), "ocfs2", 32259,
	     "node2 and node3 create, remove or rename in this directory and take EX from "
	     "each other: give each node its own directory");
	says(json_array_get(ocfs2, 3), "ocfs2", 12821, ONE_WRITES);
	for (size_t i = 0; i < 4; i++) {
		says(json_array_get(gfs2, i), "gfs2", 9291, ALL_WRITE);
		says(json_array_get(gfs2, i), "gfs2", 9286,
		     "node1, node2 and node3 create, remove or rename in this directory and "
		     "take EX from each other: give each node its own directory");
	}
	/* In the other frames this row lost less than 2 % of the time. */
	says(json_array_get(gfs2, 0), "gfs2", 9295, "as far as seen, " ONE_WRITES);
	says(json_array_get(gfs2, 2), "gfs2", 9295, "");
	json_decref(ocfs2);
	json_decref(gfs2);
}

static void advice_fits_the_hang(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		json_t *frames = run_frames(capture(hangs[i].name));
		char hung[256];

		snprintf(hung, sizeof(hung), HUNG, i ? "8.3" : "8.2");
		says(json_array_get(frames, 0), hangs[i].fs, hangs[i].victim, HANGS);
		says(json_array_get(frames, 1), hangs[i].fs, hangs[i].victim, hung);
		json_decref(frames);
	}
}

/* Writers and readers are counted for OCFS2 and seen for GFS2. truth.txt agrees with both. */
static void writers_and_readers_are_told(void **state)
{
	json_t *ocfs2 = run_frames(capture("ocfs2-hot")), *gfs2 = run_frames(capture("gfs2-hot"));
	json_t *row = row_of(json_array_get(ocfs2, 3), "ocfs2", 12821);

	(void)state;
	assert_int_equal(json_array_size(json_object_get(row, "writers")), 1);
	assert_true(has_text(json_object_get(row, "writers"), "node1"));
	assert_true(has_text(json_object_get(row, "readers"), "node2"));
	assert_true(has_text(json_object_get(row, "readers"), "node3"));
	assert_true(json_is_false(json_object_get(row, "access_seen")));
	assert_int_equal(json_integer_value(json_object_get(row, "size")), 100);
	assert_string_equal(text_of(row, "kind"), "file");
	row = row_of(json_array_get(gfs2, 3), "gfs2", 9295);
	assert_int_equal(json_array_size(json_object_get(row, "writers")), 1);
	assert_true(has_text(json_object_get(row, "writers"), "node1"));
	assert_true(json_is_true(json_object_get(row, "access_seen")));
	row = row_of(json_array_get(gfs2, 3), "gfs2", 9286);
	assert_string_equal(text_of(row, "kind"), "directory");
	json_decref(ocfs2);
	json_decref(gfs2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ocfs2_hot_files_are_found),
	    cmocka_unit_test(gfs2_hot_files_are_found),
	    cmocka_unit_test(ocfs2_hot_loses_no_more_than_was_waited),
	    cmocka_unit_test(ocfs2_hang_is_shown),
	    cmocka_unit_test(gfs2_hang_is_shown),
	    cmocka_unit_test(one_sample_shows_who_waits),
	    cmocka_unit_test(gfs2_hang_names_processes),
	    cmocka_unit_test(a_power_cut_has_one_cause),
	    cmocka_unit_test(the_survivors_alone),
	    cmocka_unit_test(advice_fits_the_load),
	    cmocka_unit_test(advice_fits_the_hang),
	    cmocka_unit_test(writers_and_readers_are_told),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
