/* SPDX-License-Identifier: MIT */
/*
 * bad_waits.c - tests which states of OCFS2 are waits, their ages, and that seconds count once.
 */
#include "scene.h"

#include <stdio.h>

#define S 1000000000ull /* in ns */

static void clocks(struct scene *s, int n)
{
	for (int t = 0; t < n; t++)
		scene_clock(s, t, "node1");
}

/*
 * A wait with a stamp, from t0 + 1 s to t0 + 12 s. The first frame has 4 s and the second 5 s. The
 * third sees the end and has 2 s: the total grows by 11 s.
 */
static void stamped_wait(void **state)
{
	struct scene *s = *state;
	json_t *row;

	clocks(s, 4);
	LINE(0, "node1", .ino = 100, .gets = {9, 0}, .total_ns = {S, 0}, .max = {500000, 0});
	for (int t = 1; t < 3; t++)
		LINE(t, "node1", .ino = 100, .gets = {9, 0}, .total_ns = {S, 0}, .max = {500000, 0},
		     .requested = 3, .flags = 0x443, .action = 2, .wait_us = STAMP(1));
	LINE(3, "node1", .ino = 100, .gets = {10, 0}, .total_ns = {12 * S, 0}, .max = {11000000, 0},
	     .last_us = {STAMP(12), 0});
	scene_json(s);
	row = row_of(frame(s, 0), 100);
	assert_near(number(row, "wait_s"), 4, 1e-5);
	assert_near(number(row, "oldest_wait_s"), 4, 1e-5);
	assert_near(number(row, "oldest_wait_max_s"), 4, 1e-5);
	assert_int_equal(number(row, "waiting"), 1);
	assert_near(number(row, "longest_wait_s"), 4, 1e-5);
	row = row_of(frame(s, 1), 100);
	assert_near(number(row, "wait_s"), 5, 1e-5);
	assert_near(number(row, "oldest_wait_s"), 9, 1e-5);
	row = row_of(frame(s, 2), 100);
	assert_near(number(row, "wait_s"), 2, 1e-5);
	assert_near(number(row, "longest_wait_s"), 11, 1e-5);
	assert_int_equal(number(row, "waiting"), 0);
	assert_true(is_null(row, "oldest_wait_s"));
}

/* The same after a longer wait of 60 s, so the maximum of the lock's life does not tell. */
static void stamped_wait_not_the_longest(void **state)
{
	struct scene *s = *state;

	clocks(s, 4);
	LINE(0, "node1", .ino = 100, .gets = {9, 0}, .total_ns = {90 * S, 0}, .max = {60000000, 0});
	for (int t = 1; t < 3; t++)
		LINE(t, "node1", .ino = 100, .gets = {9, 0}, .total_ns = {90 * S, 0},
		     .max = {60000000, 0}, .requested = 3, .flags = 0x443, .action = 2,
		     .wait_us = STAMP(1));
	LINE(3, "node1", .ino = 100, .gets = {10, 0}, .total_ns = {101 * S, 0},
	     .max = {60000000, 0}, .last_us = {STAMP(12), 0});
	scene_json(s);
	assert_near(waited(s, 0, 100) + waited(s, 1, 100) + waited(s, 2, 100), 11, 1e-4);
	assert_near(waited(s, 2, 100), 2, 1e-4);
	assert_near(number(row_of(frame(s, 2), 100), "longest_wait_s"), 11, 1e-4);
}

/*
 * A wait without a stamp, from t0 + 1 s to t0 + 12 s. The lock is BUSY with a convert at t1 and t2.
 * The time before has two known points: an acquisition 1 s before t0, and t0 with an idle lock. So
 * at t2 the wait is 5 s old (seen at t1) up to 10 s (since t0). It counts from t1 on, and 2 s up to
 * its end.
 */
static void wait_without_stamp(void **state)
{
	struct scene *s = *state;
	json_t *row;

	clocks(s, 4);
	LINE(0, "node1", .ino = 100, .gets = {9, 0}, .total_ns = {S, 0}, .max = {500000, 0},
	     .last_us = {STAMP(-1), 0});
	for (int t = 1; t < 3; t++)
		LINE(t, "node1", .ino = 100, .gets = {9, 0}, .total_ns = {S, 0}, .max = {500000, 0},
		     .requested = 3, .flags = 0x443, .action = 2, .last_us = {STAMP(-1), 0});
	LINE(3, "node1", .ino = 100, .gets = {10, 0}, .total_ns = {12 * S, 0}, .max = {11000000, 0},
	     .last_us = {STAMP(12), 0});
	scene_json(s);
	assert_near(waited(s, 0, 100), 0, 1e-9);
	row = row_of(frame(s, 1), 100);
	assert_int_equal(number(row, "waiting"), 1);
	assert_near(number(row, "oldest_wait_s"), 5, 1e-5);
	assert_near(number(row, "oldest_wait_max_s"), 10, 1e-5);
	assert_near(number(row, "wait_s"), 5, 1e-5);
	row = row_of(frame(s, 2), 100);
	assert_near(number(row, "wait_s"), 2, 1e-5);
	assert_near(number(row, "longest_wait_s"), 11, 1e-5);
	assert_true(waited(s, 0, 100) + waited(s, 1, 100) + waited(s, 2, 100) <= 11 + 1e-5);
}

/*
 * The same on the kernel's DLM, whose dump says that the lock converts since t0 + 1 s. The wait is
 * exactly 4 s old at t1, and 9 s at t2. The master copy in between belongs to another node.
 */
static void wait_with_dlm_stamp(void **state)
{
	struct scene *s = *state;
	char path[128];
	json_t *row;

	clocks(s, 3);
	for (int t = 0; t < 3; t++) {
		LINE(t, "node1", .ino = 100, .gets = {9, 0}, .total_ns = {S, 0}, .max = {500000, 0},
		     .requested = 3, .flags = t ? 0x443 : 0x41, .action = t ? 2 : 0);
		snprintf(path, sizeof(path), "t%d/node1/dlm/" UUID "_all", t);
		scene_file(
		    s, path,
		    "rsb 00000000d40c03c4 2 0 0 0 0 0 31 str M000000000000000000006400000000\n");
		scene_file(s, path, "lkb 1c6 2 5f7 1 0 1c 0 %d 0 3 5 0 0 2 %.0f 0\n", t ? 3 : 2,
			   (UP0 + (t ? 1 : -100)) * 1e9);
		scene_file(s, path, "lkb 1c7 3 5f8 1 0 1c 10000 3 0 3 5 0 0 2 1000 0\n");
	}
	scene_json(s);
	for (int n = 0; n < 2; n++) {
		row = row_of(frame(s, (size_t)n), 100);
		assert_int_equal(number(row, "waiting"), 1);
		assert_near(number(row, "oldest_wait_s"), n ? 9 : 4, 1e-5);
		assert_near(number(row, "oldest_wait_max_s"), n ? 9 : 4, 1e-5);
		assert_near(number(row, "wait_s"), n ? 5 : 4, 1e-5);
	}
}

/*
 * A dentry's lock in the DLM. The DLM prints the directory (5) in the name. The child follows as 8
 * bytes: 0x1c602, of which OCFS2 prints the low 32 bits. The lock is BUSY in one sample only, but
 * the DLM says since when.
 */
static void dentry_with_dlm_stamp(void **state)
{
	struct scene *s = *state;
	char path[128];
	json_t *row;

	clocks(s, 2);
	for (int t = 0; t < 2; t++) {
		LINE(t, "node1", .ino = 5, .gets = {9, 0});
		snprintf(path, sizeof(path), "t%d/node1/ocfs2/" UUID "/locking_state", t);
		scene_file(s, path,
			   "0x4\tN00000000000000050001c602\t0\t0x%x\t0x%d\t0x0\t0\t0\t3\t-1\t",
			   t ? 0x443 : 0x41, t ? 2 : 0);
		for (int i = 0; i < 64; i++)
			scene_file(s, path, "0x0\t");
		scene_file(s, path, "7\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t\n");
		snprintf(path, sizeof(path), "t%d/node1/dlm/" UUID "_all", t);
		scene_file(s, path,
			   "rsb 00000000d40c03c4 2 0 0 0 0 0 31 hex 4e 30 30 30 30 30 30 30 30 30 "
			   "30 30 30 30 30 30 35 00 "
			   "00 00 00 00 00 01 c6 02 00 00 00 00 00\n");
		scene_file(s, path, "lkb 1c6 2 5f7 1 0 1c 0 %d 0 3 5 0 0 2 %.0f 0\n", t ? 3 : 2,
			   (UP0 + (t ? 2 : -100)) * 1e9);
	}
	scene_json(s);
	row = row_of(frame(s, 0), 0x1c602);
	assert_int_equal(number(row, "waiting"), 1);
	assert_near(number(row, "oldest_wait_s"), 3, 1e-5);
	assert_near(number(row, "wait_s"), 3, 1e-5);
}

/* A line of a hang. At t1 `at_t1` replaces it. */
static void busy_twice(struct scene *s, struct state_line at_t1)
{
	clocks(s, 3);
	scene_line(s, 0, "node1",
		   (struct state_line){.ino = 100,
				       .gets = {9, 0},
				       .total_ns = {S, 0},
				       .max = {900000, 0},
				       .requested = 3,
				       .flags = 0x43,
				       .action = 2});
	scene_line(s, 1, "node1", at_t1);
	at_t1.gets[0] += 1; /* moves on, so that t2 shows no wait in either case */
	at_t1.flags = 0x41;
	at_t1.action = 0;
	scene_line(s, 2, "node1", at_t1);
	scene_json(s);
}

static void busy_twice_is_one_wait(void **state)
{
	struct scene *s = *state;

	busy_twice(s, (struct state_line){.ino = 100,
					  .gets = {9, 0},
					  .total_ns = {S, 0},
					  .max = {900000, 0},
					  .requested = 3,
					  .flags = 0x43,
					  .action = 2});
	assert_int_equal(number(row_of(frame(s, 0), 100), "waiting"), 1);
	assert_near(waited(s, 0, 100), 5, 1e-6);
}

/* 700 acquisitions lie between, so these are two waits. All of them took 0.07 s. */
static void busy_with_traffic_between(void **state)
{
	struct scene *s = *state;

	busy_twice(s, (struct state_line){.ino = 100,
					  .gets = {709, 0},
					  .total_ns = {S + S / 100 * 7, 0},
					  .max = {900000, 0},
					  .requested = 3,
					  .flags = 0x43,
					  .action = 2});
	assert_int_equal(number(row_of(frame(s, 0), 100), "waiting"), 0);
	assert_near(waited(s, 0, 100), 0.07, 1e-6);
}

/* The level, the requested level or only the total changed: not the same wait. */
static void busy_at_another_point(void **state)
{
	struct scene *s = *state;

	busy_twice(s, (struct state_line){.ino = 100,
					  .level = 3,
					  .gets = {9, 0},
					  .total_ns = {S, 0},
					  .max = {900000, 0},
					  .requested = 3,
					  .flags = 0x43,
					  .action = 2});
	assert_near(waited(s, 0, 100), 0, 1e-9);
}

static void busy_for_another_mode(void **state)
{
	struct scene *s = *state;

	busy_twice(s, (struct state_line){.ino = 100,
					  .gets = {9, 0},
					  .total_ns = {S, 0},
					  .max = {900000, 0},
					  .requested = 5,
					  .flags = 0x43,
					  .action = 2});
	assert_near(waited(s, 0, 100), 0, 1e-9);
}

/* Action 3 gives the lock up for another node. This is no wait, however long it takes. */
static void downconvert_is_no_wait(void **state)
{
	struct scene *s = *state;

	clocks(s, 4);
	for (int t = 0; t < 4; t++)
		LINE(t, "node1", .ino = 100, .level = 5, .gets = {9, 0}, .total_ns = {S, 0},
		     .max = {900000, 0}, .flags = 0x47, .action = 3);
	scene_json(s);
	for (size_t n = 0; n < 3; n++)
		assert_int_equal(number(json_object_get(frame(s, n), "totals"), "waiting"), 0);
	assert_near(waited(s, 2, 100), 0, 1e-9);
}

/* Flags 0x51 with action 0: an orphan scan lock can stay like this for good. */
static void needs_refresh_is_no_wait(void **state)
{
	struct scene *s = *state;

	clocks(s, 3);
	for (int t = 0; t < 3; t++)
		LINE(t, "node1", .type = 'P', .gets = {9, 0}, .flags = 0x51);
	scene_json(s);
	assert_int_equal(number(json_object_get(frame(s, 1), "totals"), "waiting"), 0);
}

/*
 * No sample shows a wait of 30 s, as in versions without stamps while the lock is not BUSY. The
 * wait ends in this frame of 5 s, so one acquisition has at most 5 s of it here. An earlier wait
 * was longer: 60 s.
 */
static void unseen_wait_ends(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	LINE(0, "node1", .version = 3, .ino = 100, .gets = {9, 0}, .total_ns = {90 * S, 0},
	     .max = {60000000, 0});
	LINE(1, "node1", .version = 3, .ino = 100, .gets = {10, 0}, .total_ns = {120 * S, 0},
	     .max = {60000000, 0});
	scene_json(s);
	assert_true(waited(s, 0, 100) <= STEP + 1e-6);
}

/* The same if the wait is the longest of all: 30 s, 5 s of them in this frame. */
static void unseen_longest_wait_ends(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	LINE(0, "node1", .version = 3, .ino = 100, .gets = {9, 0}, .total_ns = {9 * S, 0},
	     .max = {2000000, 0});
	LINE(1, "node1", .version = 3, .ino = 100, .gets = {10, 0}, .total_ns = {39 * S, 0},
	     .max = {30000000, 0});
	scene_json(s);
	assert_near(waited(s, 0, 100), 5, 1e-6);
	assert_near(number(row_of(frame(s, 0), 100), "longest_wait_s"), 30, 1e-6);
}

/*
 * Ten processes wait together for 4 s. 40 s in a frame of 5 s is right, because the mean number of
 * waiters may be above one.
 */
static void many_wait_together(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	LINE(0, "node1", .ino = 100, .gets = {9, 0}, .total_ns = {9 * S, 0}, .max = {2000000, 0});
	LINE(1, "node1", .ino = 100, .gets = {19, 0}, .total_ns = {49 * S, 0}, .max = {4000000, 0},
	     .last_us = {STAMP(5), 0});
	scene_json(s);
	assert_near(waited(s, 0, 100), 40, 1e-6);
	assert_near(number(row_of(frame(s, 0), 100), "wait_s_per_s"), 8, 1e-6);
}

/* A flocked file has a line for each open file, all with one name. Their statistics never move. */
static void flock_lines(void **state)
{
	struct scene *s = *state;
	json_t *row;

	clocks(s, 2);
	for (int t = 0; t < 2; t++) {
		LINE(t, "node1", .type = 'M', .ino = 100, .gets = {9, 0});
		LINE(t, "node1", .type = 'F', .ino = 100, .generation = 7, .flags = 0x240,
		     .wait_us = t ? STAMP(2) : 0);
		LINE(t, "node1", .type = 'F', .ino = 100, .generation = 7, .flags = 0x240,
		     .wait_us = 0);
		LINE(t, "node1", .type = 'F', .ino = 100, .generation = 7, .flags = 0x240,
		     .wait_us = t ? STAMP(3) : 0);
	}
	scene_json(s);
	row = row_of(frame(s, 0), 100);
	/* since t0 + 2 s and t0 + 3 s: 3 s and 2 s of this frame */
	assert_int_equal(number(row, "waiting"), 2);
	assert_near(number(row, "wait_s"), 5, 1e-5);
	assert_near(number(row, "oldest_wait_s"), 3, 1e-5);
	assert_string_equal(word(row, "section"), "files");
}

/* The first of the lines is idle and changes place with the lines that wait. */
static void flock_lines_change_places(void **state)
{
	struct scene *s = *state;

	clocks(s, 3);
	for (int t = 0; t < 3; t++) {
		LINE(t, "node1", .type = 'M', .ino = 100, .gets = {9, 0});
		for (int i = 0; i < 3; i++)
			LINE(t, "node1", .type = 'F', .ino = 100, .generation = 7, .flags = 0x240,
			     .wait_us = (i + t) % 3 == 0 ? STAMP(-2) : 0);
	}
	scene_json(s);
	for (size_t n = 0; n < 2; n++) {
		assert_int_equal(number(row_of(frame(s, n), 100), "waiting"), 1);
		assert_near(waited(s, n, 100), 5, 1e-5);
	}
}

/*
 * Two BUSY lines of one flock's name, in version 3 without stamps. The line at t0 and the other
 * line at t1 are not one wait.
 */
static void flock_lines_without_stamps(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	for (int t = 0; t < 2; t++) {
		LINE(t, "node1", .version = 3, .type = 'M', .ino = 100, .gets = {9, 0});
		for (int i = 0; i < 2; i++)
			LINE(t, "node1", .version = 3, .type = 'F', .ino = 100, .generation = 7,
			     .flags = i == t ? 0x242 : 0x240, .action = i == t ? 2 : 0,
			     .requested = 5);
	}
	scene_json(s);
	assert_near(waited(s, 0, 100), 0, 1e-9);
}

/* Locks that belong to no file have rows of their own: in the system section, without an inode. */
static void system_locks(void **state)
{
	static const struct {
		char type;
		unsigned long long ino;
		const char *kind;
	} locks[] = {{'S', 2, "super block"},
		     {'R', 0, "rename"},
		     {'Q', 0, "user quota"},
		     {'Q', 1, "group quota"},
		     {'Y', 0, "NFS sync"},
		     {'P', 0, "orphan scan"},
		     {'I', 0, "trim"},
		     {'T', 77, "refcount tree at block 77"},
		     {'Z', 5, "lock of unknown type Z"}};
	struct scene *s = *state;

	clocks(s, 2);
	for (int t = 0; t < 2; t++)
		for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++)
			LINE(t, "node1", .type = locks[i].type, .ino = locks[i].ino,
			     .gets = {10 + 10 * (unsigned)t, 0},
			     .total_ns = {(unsigned)(t + 1) * S, 0},
			     .max = {100000 * (unsigned)(t + 1), 0});
	scene_json(s);
	for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++) {
		json_t *row = row_of_kind(frame(s, 0), locks[i].kind);

		assert_non_null(row);
		assert_string_equal(word(row, "section"), "system");
		assert_true(is_null(row, "ino"));
		assert_near(number(row, "wait_s"), 1, 1e-6);
	}
}

/* One sample shows the present waiters, each with the age that its stamp says. */
static void single_sample(void **state)
{
	struct scene *s = *state;
	json_t *row;

	clocks(s, 1);
	LINE(0, "node1", .ino = 100, .gets = {9, 0}, .total_ns = {900 * S, 0},
	     .wait_us = STAMP(-7));
	LINE(0, "node1", .ino = 200, .gets = {9, 0}, .total_ns = {900 * S, 0});
	scene_json(s);
	assert_int_equal(s->n_frames, 1);
	row = row_of(frame(s, 0), 100);
	assert_int_equal(number(row, "waiting"), 1);
	assert_near(number(row, "oldest_wait_s"), 7, 1e-5);
	assert_null(row_of(frame(s, 0), 200));
}

int main(void)
{
#define BAD(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
	    BAD(stamped_wait),
	    BAD(stamped_wait_not_the_longest),
	    BAD(wait_without_stamp),
	    BAD(wait_with_dlm_stamp),
	    BAD(dentry_with_dlm_stamp),
	    BAD(busy_twice_is_one_wait),
	    BAD(busy_with_traffic_between),
	    BAD(busy_at_another_point),
	    BAD(busy_for_another_mode),
	    BAD(downconvert_is_no_wait),
	    BAD(needs_refresh_is_no_wait),
	    BAD(unseen_wait_ends),
	    BAD(unseen_longest_wait_ends),
	    BAD(many_wait_together),
	    BAD(flock_lines),
	    BAD(flock_lines_change_places),
	    BAD(flock_lines_without_stamps),
	    BAD(system_locks),
	    BAD(single_sample),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
