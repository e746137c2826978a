/* SPDX-License-Identifier: MIT */
/*
 * bad_blame.c - tests the sentence about waits: each cause by itself, and no false claim.
 */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define M512                      \
	"M0000000000000000000200" \
	"00000000"

/* node1 has waited for the M lock of inode 512 since 3 s before t0. node2 is idle. */
static void ocfs2_wait(struct scene *s)
{
	for (int t = 0; t < 2; t++) {
		scene_clock(s, t, "node1");
		scene_clock(s, t, "node2");
		LINE(t, "node1", .ino = 512, WAITING, .gets = {9, 9}, .wait_us = STAMP(-3));
		LINE(t, "node1", .type = 'W', .ino = 512, .gets = {9, 9}, .total_ns = {5, 5});
	}
}

/* Writes the o2dlm files of a node: its number, the lock's master, and the locks. */
static void o2dlm(struct scene *s, const char *node, int number, int master, int recovering,
		  const char *locks)
{
	for (int t = 0; t < 2; t++) {
		char path[128];

		snprintf(path, sizeof(path), "t%d/%s/o2dlm/" UUID "/dlm_state", t, node);
		scene_file(s, path, "Thread Pid: 209  Node: %d  State: JOINED\n", number);
		snprintf(path, sizeof(path), "t%d/%s/o2dlm/" UUID "/locking_state", t, node);
		scene_file(s, path,
			   "NAME:" M512 "\nLRES:1,%d,16,0,0,0,%d,0,0,0,4\nRMAP:\nLVBX:00\n%s\n",
			   master, recovering, locks);
	}
}

/*
 * 60 nodes with long names wait for a lock that 10 readers have. No name is cut off, and the line
 * tells how many wait.
 */
static void many_waiters(void **state)
{
	struct scene *s = *state;
	const char *text;

	for (int t = 0; t < 2; t++)
		for (int n = 0; n < 61; n++) {
			char node[64];

			snprintf(node, sizeof(node), "storage-node-%03d.building-7.example.com", n);
			scene_clock(s, t, node);
			if (n)
				LINE(t, node, .ino = 512, .level = 0, .flags = 0x443, .action = 2,
				     .requested = 5, .gets = {9, 9}, .wait_us = STAMP(-3));
			else
				LINE(t, node, .ino = 512, .level = 5, .flags = 0x145,
				     .holders = {0, 1}, .gets = {1, 1});
		}
	scene_json(s);
	text = word(row_of(frame(s, 0), 512), "sentence");
	if (!strstr(text, "012.building-7.example.com and 48 more nodes wait 8.00 s"))
		fail_msg("%s", text);
}

static const char *sentence(struct scene *s)
{
	json_t *row = row_of(frame(s, 0), 512);

	assert_non_null(row);
	return is_null(row, "sentence") ? "" : word(row, "sentence");
}

static void assert_says(struct scene *s, const char *text)
{
	if (!strstr(sentence(s), text))
		fail_msg("'%s' does not say '%s'", sentence(s), text);
}

static void a_process_is_inside_ocfs2(void **state)
{
	struct scene *s = *state;

	ocfs2_wait(s);
	for (int t = 0; t < 2; t++)
		LINE(t, "node2", .ino = 512, .level = 5, .flags = 0x145, .holders = {0, 1},
		     .gets = {1, 1});
	o2dlm(s, "node1", 1, 2, 0, "LOCK:1,1,0,3,1,1:36,0,0,0,0,1,0,0,0,2\n");
	o2dlm(s, "node2", 2, 2, 0,
	      "LOCK:1,0,5,-1,2,2:50,0,0,0,0,0,0,0,0,2\nLOCK:1,1,0,3,1,1:36,0,0,0,0,1,0,0,0,2\n");
	scene_json(s);
	assert_says(s, "<512>: 1 process on node2 holds EX; node1 waits 8.00 s");
}

static void a_process_is_inside_gfs2(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 2; t++) {
		char path[64];

		scene_clock(s, t, "node1");
		scene_clock(s, t, "node2");
		scene_stats(s, t, "node1", 2, 0x200, 1000, 100, 500);
		scene_glock(s, t, "node1", 2, 0x200, "UN", "AW", "SH", 77, "hotload");
		scene_stats(s, t, "node2", 2, 0x200, 1000, 100, 500);
		scene_glock(s, t, "node2", 2, 0x200, "EX", "H", "EX", 55, "cp");
		/* the master keeps the pid of another process for node1's lock */
		snprintf(path, sizeof(path), "t%d/node2/dlm/fs1_all", t);
		scene_file(s, path,
			   "rsb 00 0 0 0 0 0 0 24 str        2             200\n"
			   "lkb 5f7 1 1c6 1766 0 1c 10000 3 0 3 0 0 0 2 4999000000000 0\n"
			   "lkb 5fb 0 0 1757 0 1c 0 2 5 -1 5 0 0 4 4990000000000 0\n");
		snprintf(path, sizeof(path), "t%d/node1/dlm/fs1_all", t);
		scene_file(s, path,
			   "rsb 00 2 0 0 0 0 0 24 str        2             200\n"
			   "lkb 1c6 2 5f7 1770 0 1c 0 3 0 3 5 0 0 2 4998000000000 0\n");
	}
	scene_json(s);
	assert_says(s, "pid 55 cp on node2 holds EX; node1 (pid 77 hotload) waits 7.00 s");
	assert_null(strstr(sentence(s), "1766"));
}

static void it_is_being_given_up_ocfs2(void **state)
{
	struct scene *s = *state;

	ocfs2_wait(s);
	for (int t = 0; t < 2; t++)
		LINE(t, "node2", .ino = 512, .level = 5, .flags = 0x145, .gets = {1, 1});
	o2dlm(s, "node2", 2, 2, 0,
	      "LOCK:1,0,5,-1,2,2:50,0,0,0,0,0,0,0,0,2\nLOCK:1,1,0,3,1,1:36,0,0,0,0,1,0,0,0,2\n");
	scene_json(s);
	assert_says(s, "node2 caches it and is demoting it (queued); node1 waits 8.00 s");
}

/* node2 has EX. No process of node2 is inside, and node2 does not know of node1's demand yet. */
static void it_is_cached_and_not_demoted(void **state)
{
	struct scene *s = *state;

	ocfs2_wait(s);
	for (int t = 0; t < 2; t++)
		LINE(t, "node2", .ino = 512, .level = 5, .flags = 0x41, .gets = {1, 1});
	o2dlm(s, "node2", 2, 2, 0,
	      "LOCK:1,0,5,-1,2,2:50,0,0,0,0,0,0,0,0,2\nLOCK:1,1,0,3,1,1:36,0,0,0,0,1,0,0,0,2\n");
	scene_json(s);
	assert_says(s, "<512>: node2 caches it in EX and has not demoted it; node1 waits 8.00 s");
}

/* The master's queue has a waiter and no holder. */
static void no_holder_is_seen(void **state)
{
	struct scene *s = *state;

	ocfs2_wait(s);
	o2dlm(s, "node1", 1, 1, 0, "LOCK:1,1,0,3,1,1:36,0,0,0,0,1,0,0,0,2\n");
	scene_json(s);
	assert_says(s, "<512>: node1 waits 8.00 s; no holder was seen");
}

static void it_is_being_given_up_gfs2(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 2; t++) {
		char path[64];

		scene_clock(s, t, "node1");
		scene_clock(s, t, "node2");
		scene_stats(s, t, "node1", 2, 0x200, 1000, 100, 500);
		scene_glock(s, t, "node1", 2, 0x200, "UN", "AW", "SH", 77, "hotload");
		scene_stats(s, t, "node2", 2, 0x200, 1000, 100, 500);
		snprintf(path, sizeof(path), "t%d/node2/gfs2/" TABLE "/glocks", t);
		scene_file(s, path,
			   "G:  s:EX n:2/200 f:lDpyIqob t:UN d:UN/6000000 a:0 v:0 r:3 m:50 p:1\n");
	}
	scene_json(s);
	/* without a dump of a DLM, the nodes' own files name the holder */
	assert_says(s, "node2 caches it and is demoting it (for 6.00 s); "
		       "node1 (pid 77 hotload) waits at least 6.00 s");
}

/*
 * pid 55 on node1 holds the glock and pid 77 waits beside it. With `others`, node2 waits, too. With
 * `dump`, node2 is the master and has the queue.
 */
static void gfs2_holder_beside_a_waiter(struct scene *s, bool others, bool dump)
{
	for (int t = 0; t < 2; t++) {
		char path[64];

		scene_clock(s, t, "node1");
		scene_clock(s, t, "node2");
		scene_stats(s, t, "node1", 2, 0x200, 1000, 100, 500);
		scene_glock(s, t, "node1", 2, 0x200, "EX", "H", "EX", 55, "cp");
		snprintf(path, sizeof(path), "t%d/node1/gfs2/" TABLE "/glocks", t);
		scene_file(s, path, " H: s:EX f:W e:0 p:77 [hotload] gfs2_open+0x1c/0x40 [gfs2]\n");
		scene_stats(s, t, "node2", 2, others ? 0x200 : 0x300, 1000, 100, 500);
		scene_glock(s, t, "node2", 2, others ? 0x200 : 0x300, "UN", others ? "AW" : NULL,
			    "SH", 88, "hotload");
		if (!dump)
			continue;
		snprintf(path, sizeof(path), "t%d/node2/dlm/fs1_all", t);
		scene_file(s, path,
			   "rsb 00 0 0 0 0 0 0 24 str        2             200\n"
			   "lkb 5f7 1 1c6 1766 0 1c 10000 2 5 -1 5 0 0 2 4990000000000 0\n"
			   "lkb 5fb 0 0 1757 0 1c 0 3 0 3 0 0 0 4 4998000000000 0\n");
		snprintf(path, sizeof(path), "t%d/node1/dlm/fs1_all", t);
		scene_file(s, path,
			   "rsb 00 2 0 0 0 0 0 24 str        2             200\n"
			   "lkb 1c6 2 5f7 1770 0 1c 0 2 5 -1 5 5 0 2 4990000000000 0\n");
	}
	scene_json(s);
	assert_says(s, "node1 (pid 77 hotload)");
	assert_says(s, ": pid 55 cp on node1 holds EX; ");
	assert_null(strstr(sentence(s), "on node2 holds"));
}

static void it_waits_for_its_own_node(void **state)
{
	gfs2_holder_beside_a_waiter(*state, false, false);
}

static void all_wait_for_one_of_them(void **state)
{
	gfs2_holder_beside_a_waiter(*state, true, false);
}

static void all_wait_for_one_of_them_says_the_dlm(void **state)
{
	gfs2_holder_beside_a_waiter(*state, true, true);
}

/* Two nodes wait. A process of one of these nodes holds the lock. */
static void inside_where_others_wait_ocfs2(void **state)
{
	struct scene *s = *state;

	ocfs2_wait(s);
	for (int t = 0; t < 2; t++)
		LINE(t, "node2", .ino = 512, .level = 5, .flags = 0x41, .requested = 5,
		     .holders = {0, 1}, .gets = {1, 1}, .wait_us = STAMP(-3));
	scene_json(s);
	assert_says(s, "1 process on node2 holds EX; node1 and node2 wait 8.00 s");
}

/*
 * The same without a holder. node2 gives up its EX, and a process of node2 waits for that as well.
 */
static void given_up_where_others_wait(struct scene *s, bool dump)
{
	ocfs2_wait(s);
	for (int t = 0; t < 2; t++)
		LINE(t, "node2", .ino = 512, .level = 5, .flags = 0x145, .requested = 5,
		     .gets = {1, 1}, .wait_us = STAMP(-3));
	if (dump)
		o2dlm(s, "node2", 2, 2, 0,
		      "LOCK:1,0,5,-1,2,2:50,0,0,0,0,0,0,0,0,2\n"
		      "LOCK:1,1,0,3,1,1:36,0,0,0,0,1,0,0,0,2\n");
	scene_json(s);
	assert_says(s, "node2 caches it and is demoting it (queued); node1 and node2 wait 8.00 s");
	assert_null(strstr(sentence(s), "node1 caches"));
}

static void given_up_where_others_wait_ocfs2(void **state)
{
	given_up_where_others_wait(*state, false);
}

static void given_up_where_others_wait_says_the_dlm(void **state)
{
	given_up_where_others_wait(*state, true);
}

/* node1 gives up its EX for node2, and a process of node1 waits. */
static void given_up_where_others_wait_gfs2(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 2; t++) {
		char path[64];

		scene_clock(s, t, "node1");
		scene_clock(s, t, "node2");
		scene_stats(s, t, "node1", 2, 0x200, 1000, 100, 500);
		snprintf(path, sizeof(path), "t%d/node1/gfs2/" TABLE "/glocks", t);
		scene_file(s, path,
			   "G:  s:EX n:2/200 f:lDpIqob t:UN d:UN/6000000 a:0 v:0 r:3 m:50 p:1\n"
			   " H: s:EX f:W e:0 p:77 [hotload] gfs2_open+0x1c/0x40 [gfs2]\n");
		scene_stats(s, t, "node2", 2, 0x200, 1000, 100, 500);
		scene_glock(s, t, "node2", 2, 0x200, "UN", "AW", "SH", 88, "hotload");
	}
	scene_json(s);
	assert_says(s, "node1 caches it and is demoting it (for 6.00 s); "
		       "node1 (pid 77 hotload) and node2 (pid 88 hotload) wait at least 6.00 s");
}

/* node1 asks for more than its PR, and no other node waits. Its own readers are not the cause. */
static void own_readers_are_in_nobodys_way_ocfs2(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 2; t++) {
		scene_clock(s, t, "node1");
		scene_clock(s, t, "node2");
		LINE(t, "node1", .ino = 512, .level = 3, .flags = 0x443, .action = 2,
		     .requested = 5, .holders = {2, 0}, .gets = {9, 9}, .wait_us = STAMP(-3));
		LINE(t, "node2", .ino = 7);
	}
	scene_json(s);
	assert_says(s, "<512>: node1 waits 8.00 s");
	assert_null(strstr(sentence(s), "on node1 hold"));
}

/*
 * node1 asks for more than PR, and two of its processes have PR. node2 waits, too. node3 has PR,
 * but its line is missing.
 */
static void readers_beside_a_waiter(struct scene *s, int requested)
{
	for (int t = 0; t < 2; t++) {
		scene_clock(s, t, "node1");
		scene_clock(s, t, "node2");
		scene_clock(s, t, "node3");
		LINE(t, "node1", .ino = 512, .level = 3, .flags = 0x443, .action = 2,
		     .requested = 5, .holders = {2, 0}, .gets = {9, 9}, .wait_us = STAMP(-3));
		LINE(t, "node2", .ino = 512, .flags = 0x443, .action = 2, .requested = requested,
		     .gets = {9, 9}, .wait_us = STAMP(-3));
		LINE(t, "node3", .ino = 7);
	}
	scene_json(s);
	assert_says(s, "node1 and node2 wait 8.00 s");
}

/* A reader does not wait for other readers. node1 does not wait for its own readers. */
static void readers_are_in_no_readers_way_ocfs2(void **state)
{
	struct scene *s = *state;

	readers_beside_a_waiter(s, 3);
	assert_null(strstr(sentence(s), "on node1 hold"));
}

static void readers_are_in_a_writers_way_ocfs2(void **state)
{
	struct scene *s = *state;

	readers_beside_a_waiter(s, 5);
	assert_says(s, "<512>: 2 processes on node1 hold PR; ");
}

/* node1 has two open files of one file. One is flocked. The other asks for EX since t0 - 3 s. */
static void flocked_on_its_own_node(struct scene *s, int level, const char *says)
{
	for (int t = 0; t < 2; t++) {
		scene_clock(s, t, "node1");
		LINE(t, "node1", .type = 'F', .ino = 512, .generation = 7, .level = level,
		     .flags = 0x241);
		LINE(t, "node1", .type = 'F', .ino = 512, .generation = 7, .flags = 0x243,
		     .action = 2, .requested = 5, .wait_us = STAMP(-3));
	}
	scene_json(s);
	assert_says(s, says);
	assert_says(s, "; node1 waits 8.00 s");
}

static void its_own_node_has_it_flocked(void **state)
{
	flocked_on_its_own_node(*state, 5, ": a process on node1 holds EX (flock); ");
}

/* A flock in PR conflicts with EX only. The other open file asks for EX. */
static void its_own_node_has_it_flocked_to_read(void **state)
{
	flocked_on_its_own_node(*state, 3, ": a process on node1 holds PR (flock); ");
}

/* The only holder of the flock on that node asks for more. No other process asks. */
static void who_has_it_flocked_asks_for_more(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 2; t++) {
		scene_clock(s, t, "node1");
		LINE(t, "node1", .type = 'F', .ino = 512, .generation = 7, .level = 3,
		     .flags = 0x241, .requested = 5, .wait_us = STAMP(-3));
	}
	scene_json(s);
	assert_says(s, "<512>: node1 waits 8.00 s");
	assert_null(strstr(sentence(s), "flock)"));
}

static void its_master_does_not_answer(void **state)
{
	struct scene *s = *state;

	ocfs2_wait(s);
	o2dlm(s, "node1", 1, 3, 0, "LOCK:1,1,0,3,1,1:36,0,0,0,0,1,0,0,0,2\n");
	for (int t = 0; t < 2; t++)
		LINE(t, "node2", .ino = 7);
	o2dlm(s, "node2", 2, 3, 0, "");
	/* node3 answers one time, later */
	scene_clock(s, 2, "node3");
	LINE(2, "node3", .ino = 7);
	scene_json(s);
	assert_says(
	    s,
	    "node3, the lock's master, has not answered for at least 5.00 s; node1 waits 8.00 s");
}

static void it_is_being_recovered(void **state)
{
	struct scene *s = *state;

	ocfs2_wait(s);
	o2dlm(s, "node1", 1, 2, 1, "LOCK:1,1,0,3,1,1:36,0,0,0,0,1,0,0,0,2\n");
	scene_json(s);
	assert_says(s, "the DLM recovers this lock; node1 waits 8.00 s");
}

/* A wait of 8 s, and node2, whose clock is `ahead`, and which gives its sample `later`. */
static void wait_across_samples(struct scene *s, double ahead, double later)
{
	for (int t = 0; t < 2; t++) {
		scene_clock(s, t, "node1");
		scene_clocks(s, t, "node2", REAL0 + STEP * t + ahead + later,
			     UP0 + STEP * t + later);
		LINE(t, "node1", .ino = 512, WAITING, .gets = {9, 9}, .wait_us = STAMP(-3));
		LINE(t, "node2", .ino = 512, .level = 5, .holders = {0, 1}, .gets = {1, 1});
	}
}

/*
 * A clock that is 30 s off is wrong, because a sample of all nodes does not take 30 s. The sentence
 * says so.
 */
static void clocks_that_differ(void **state)
{
	struct scene *s = *state;

	wait_across_samples(s, 30, 0);
	scene_json(s);
	assert_says(s, "1 process on node2 holds EX; node1 waits 8.00 s; the nodes' clocks differ "
		       "by about 30.0 s");
}

/* Two samples that are 4 s apart tell nothing of a wait that may be younger. */
static void no_sentence_across_skewed_samples(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 2; t++) {
		scene_clock(s, t, "node1");
		scene_clocks(s, t, "node2", REAL0 + STEP * t + 4, UP0 + STEP * t + 4);
		LINE(t, "node1", .ino = 512, WAITING, .gets = {9, 9}, .wait_us = STAMP(STEP - 3));
		LINE(t, "node2", .ino = 512, .level = 5, .holders = {0, 1}, .gets = {1, 1});
	}
	scene_json(s);
	assert_string_equal(sentence(s), "");
}

/*
 * Direct I/O takes a glock in DF, which excludes SH. `holder` on node1 keeps `waiter` on node2 out.
 */
static void direct_io(struct scene *s, const char *holder, const char *waiter)
{
	for (int t = 0; t < 2; t++) {
		scene_clock(s, t, "node1");
		scene_clock(s, t, "node2");
		scene_stats(s, t, "node1", 2, 512, 1000, 100, 500);
		scene_glock(s, t, "node1", 2, 512, holder, "H", holder, 55, "holder");
		scene_stats(s, t, "node2", 2, 512, 1000, 100, 500);
		scene_glock(s, t, "node2", 2, 512, "UN", "W", waiter, 77, "waiter");
	}
	scene_json(s);
}

static void direct_io_waits_for_a_reader(void **state)
{
	struct scene *s = *state;

	direct_io(s, "SH", "DF");
	assert_says(s, "pid 55 holder on node1 holds SH; node2 (pid 77 waiter) waits");
}

static void a_reader_waits_for_direct_io(void **state)
{
	struct scene *s = *state;

	direct_io(s, "DF", "SH");
	assert_says(s, "pid 55 holder on node1 holds DF; node2 (pid 77 waiter) waits");
}

static void direct_io_beside_direct_io(void **state)
{
	struct scene *s = *state;

	direct_io(s, "DF", "DF");
	assert_says(s, "no holder was seen");
}

/* OCFS2 names no process. Their own node names the tasks that sleep in its lock code. */
static void tasks_are_named(void **state)
{
	struct scene *s = *state;

	ocfs2_wait(s);
	for (int t = 0; t < 2; t++) {
		char path[64];

		snprintf(path, sizeof(path), "t%d/node1/tasks", t);
		scene_file(s, path,
			   "task 300 300 io_schedule dd\n[<0>] io_schedule+0x1/0x2\n"
			   "task 310 310 __ocfs2_cluster_lock.isra.0 hot load\nino:\t512\n"
			   "task 311 311 0 other\n[<0>] __ocfs2_cluster_lock+0x1/0x2\nino:\t513\n"
			   "task 312 312 pipe_read cat\n");
	}
	scene_json(s);
	assert_says(s, "<512>: node1 (pid 310 hot load) waits 8.00 s");
}

/* Writes one task in lock code whose file is not known, as that of open(). */
static void one_unnamed_task(struct scene *s)
{
	for (int t = 0; t < 2; t++) {
		char path[64];

		snprintf(path, sizeof(path), "t%d/node1/tasks", t);
		scene_file(s, path, "task 310 310 __ocfs2_cluster_lock.isra.0 hot load\n");
	}
}

/* The only task is named if the node waits for nothing else. */
static void a_task_without_a_file(void **state)
{
	struct scene *s = *state;

	ocfs2_wait(s);
	one_unnamed_task(s);
	scene_json(s);
	assert_says(s, "node1 (pid 310 hot load) waits 8.00 s");
}

/* With two waits on the node, the task may be in the other one. */
static void a_task_of_another_wait(void **state)
{
	struct scene *s = *state;

	ocfs2_wait(s);
	one_unnamed_task(s);
	for (int t = 0; t < 2; t++)
		LINE(t, "node1", .ino = 513, WAITING, .gets = {9, 9}, .wait_us = STAMP(-1));
	scene_json(s);
	assert_says(s, "<512>: node1 waits 8.00 s");
}

/* A task that waits for a flock sleeps interruptibly and is not listed. */
static void a_task_beside_a_flock(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < 2; t++) {
		scene_clock(s, t, "node1");
		LINE(t, "node1", .type = 'F', .ino = 512, .flags = 0x242, .action = 1,
		     .requested = 5, .wait_us = STAMP(-3));
	}
	one_unnamed_task(s);
	scene_json(s);
	assert_says(s, "<512>: node1 waits 8.00 s");
}

/* The DLM lists node2's lock. node2's locking_state does not. */
static void a_line_is_missing(void **state)
{
	struct scene *s = *state;

	ocfs2_wait(s);
	LINE(0, "node2", .ino = 512, .level = 5, .gets = {1, 1});
	LINE(1, "node2", .ino = 600, .level = 5, .gets = {1, 1});
	o2dlm(s, "node2", 2, 2, 0,
	      "LOCK:1,0,5,-1,2,2:50,0,0,0,0,0,0,0,0,2\nLOCK:1,1,0,3,1,1:36,0,0,0,0,1,0,0,0,2\n");
	scene_json(s);
	if (is_null(row_of(frame(s, 0), 512), "note"))
		fail_msg("no note");
	assert_string_equal(word(row_of(frame(s, 0), 512), "note"),
			    "node2's kernel did not list " M512
			    ": its numbers are from an earlier sample");
	/* the mode is known from the DLM; whether a process of node2 is inside is not */
	assert_says(s, "<512>: node2 holds EX; node1 waits 8.00 s");
}

static void what_no_counter_shows(void **state)
{
	struct scene *s = *state;

	ocfs2_wait(s);
	for (int t = 0; t < 2; t++) {
		char path[128];

		snprintf(path, sizeof(path), "t%d/node1/ocfs2/" UUID "/fs_state", t);
		scene_file(
		    s, path,
		    "    Volume => State: 2  Flags: 0x0\n  Recovery => Pid: 712  Nodes: 2\n");
		snprintf(path, sizeof(path), "t%d/node2/ocfs2/" UUID "/fs_state", t);
		scene_file(s, path, "  Recovery => Pid: -1  Nodes: None\n");
		snprintf(path, sizeof(path), "t%d/node1/ocfs2/" UUID "/locking_filter", t);
		scene_file(s, path, "11\n");
		snprintf(path, sizeof(path), "t%d/node2/ocfs2/" UUID "/locking_filter", t);
		scene_file(s, path, "0\n");
		snprintf(path, sizeof(path), "t%d/node1/o2dlm/" UUID "/dlm_state", t);
		scene_file(s, path,
			   "Dead Node: 3\nRecovery Pid: 210  Master: 255  State: ACTIVE\n");
		scene_stats(s, t, "node2", 2, 0x200, 1000, 100, 500);
		snprintf(path, sizeof(path), "t%d/node2/gfs2/" TABLE "/condition", t);
		scene_file(s, path, "withdraw 1\nfreeze 0\nblock 1\nrecover_status 0x7\n");
	}
	scene_json(s);
	assert_true(has_banner(frame(s, 0), UUID ": node1 recovers the journal of node 2"));
	assert_true(
	    has_banner(frame(s, 0), "on node1: another program set locking_filter to 11 s"));
	assert_true(has_banner(frame(s, 0), "lost node 3"));
	assert_true(has_banner(frame(s, 0), TABLE " on node2: withdrawn"));
	assert_true(
	    has_banner(frame(s, 0), TABLE " on node2: locks are blocked while a node joins"));
	assert_true(has_banner(frame(s, 0), TABLE " on node2: the DLM recovers"));
	assert_int_equal(json_array_size(json_object_get(frame(s, 0), "banners")), 7);
	/* and the cause of the wait follows */
	assert_says(s, "recovery is in progress; node1 waits 8.00 s");
	/* a recording holds all of this, too */
	scene_json_replayed(s);
	assert_true(has_banner(frame(s, 0), TABLE " on node2: withdrawn"));
	assert_int_equal(json_array_size(json_object_get(frame(s, 0), "banners")), 7);
}

int main(void)
{
#define SCENE(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
	    SCENE(a_process_is_inside_ocfs2),
	    SCENE(a_process_is_inside_gfs2),
	    SCENE(it_is_being_given_up_ocfs2),
	    SCENE(it_is_being_given_up_gfs2),
	    SCENE(it_is_cached_and_not_demoted),
	    SCENE(no_holder_is_seen),
	    SCENE(it_waits_for_its_own_node),
	    SCENE(all_wait_for_one_of_them),
	    SCENE(many_waiters),
	    SCENE(all_wait_for_one_of_them_says_the_dlm),
	    SCENE(inside_where_others_wait_ocfs2),
	    SCENE(given_up_where_others_wait_ocfs2),
	    SCENE(given_up_where_others_wait_says_the_dlm),
	    SCENE(given_up_where_others_wait_gfs2),
	    SCENE(own_readers_are_in_nobodys_way_ocfs2),
	    SCENE(readers_are_in_no_readers_way_ocfs2),
	    SCENE(readers_are_in_a_writers_way_ocfs2),
	    SCENE(its_own_node_has_it_flocked),
	    SCENE(its_own_node_has_it_flocked_to_read),
	    SCENE(who_has_it_flocked_asks_for_more),
	    SCENE(its_master_does_not_answer),
	    SCENE(it_is_being_recovered),
	    SCENE(no_sentence_across_skewed_samples),
	    SCENE(clocks_that_differ),
	    SCENE(direct_io_waits_for_a_reader),
	    SCENE(a_reader_waits_for_direct_io),
	    SCENE(direct_io_beside_direct_io),
	    SCENE(tasks_are_named),
	    SCENE(a_task_without_a_file),
	    SCENE(a_task_of_another_wait),
	    SCENE(a_task_beside_a_flock),
	    SCENE(a_line_is_missing),
	    SCENE(what_no_counter_shows),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
