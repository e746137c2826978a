/* SPDX-License-Identifier: MIT */
/*
 * bad_trace.c - tests GFS2's trace of requests to the DLM.
 *
 * The right events count, once each, in the file system to which they belong. Glock 0x200 is inode
 * 512.
 */
#include "scene.h"

#include <stdio.h>
#include <string.h>

static void clocks(struct scene *s, int n)
{
	for (int t = 0; t < n; t++)
		scene_clock(s, t, "node1");
}

static void trace_head(struct scene *s, int t, const char *counts)
{
	char path[64];

	snprintf(path, sizeof(path), "t%d/node1/trace", t);
	scene_file(s, path, "# tracer: nop\n#\n# entries-in-buffer/entries-written: %s   #P:1\n#\n",
		   counts);
}

/* An event of the file system on device 254:minor. */
static void event_on(struct scene *s, int t, unsigned minor, double at, unsigned number, int status,
		     double tdiff, unsigned long long srttb)
{
	char path[64];

	snprintf(path, sizeof(path), "t%d/node1/trace", t);
	scene_file(s, path,
		   "  kworker/0:1H-77      [000] .....  %.6f: gfs2_glock_lock_time: 254,%u glock "
		   "2:%u status:%d flags:00 tdiff:%.0f "
		   "srtt:1000/500 srttb:%llu/500 sirt:1000/500 dcnt:105 qcnt:500\n",
		   at, minor, number, status, tdiff * 1e9, srttb);
}

static void event(struct scene *s, int t, double at, unsigned number, int status, double tdiff,
		  unsigned long long srttb)
{
	event_on(s, t, 0, at, number, status, tdiff, srttb);
}

static void stats_for_trace(struct scene *s, int n)
{
	clocks(s, n);
	for (int t = 0; t < n; t++)
		for (unsigned ino = 0x200; ino <= 0x201; ino++) {
			scene_stats(s, t, "node1", 2, ino, t ? 5000 : 1000, 100 + 8 * (unsigned)t,
				    500 + 8 * (unsigned)t);
			scene_glock(s, t, "node1", 2, ino, "SH", NULL, NULL, 0, NULL);
		}
}

/* The frame is t0..t1, and uptime goes from 5000 to 5005. */
static void trace_events(void **state)
{
	struct scene *s = *state;
	json_t *row;

	stats_for_trace(s, 2);
	trace_head(s, 1, "9/9");
	event(s, 1, UP0 - 1, 512, 0, 0.9, 900);         /* before the frame */
	event(s, 1, UP0 + 1, 512, 0, 0.3, 1200);        /* moved srttb: a wait of 0.3 s */
	event(s, 1, UP0 + 2, 512, -11, 0.2, 1200);      /* -EAGAIN after 0.2 s */
	event(s, 1, UP0 + 3, 512, -35, 0.1, 1200);      /* -EDEADLK after 0.1 s */
	event(s, 1, UP0 + 3.5, 512, -65538, 5.0, 1200); /* a release */
	event(s, 1, UP0 + 4, 512, 0, 4.0, 1200);        /* srttb stays: a demote */
	event(s, 1, UP0 + 0.5, 513, -11, 2.0, 1000); /* began 1.5 s before the frame: 0.5 s in it */
	scene_json(s);
	row = row_of(frame(s, 0), 512);
	assert_near(number(row, "wait_s"), 0.6, 1e-5);
	assert_near(number(row, "longest_wait_s"), 0.3, 1e-5);
	assert_true(json_is_false(json_object_get(row, "estimated")));
	assert_near(waited(s, 0, 513), 0.5, 1e-5);
	assert_near(number(row_of(frame(s, 0), 513), "longest_wait_s"), 2, 1e-5);
}

/*
 * A wait of 2 s that t1 showed in progress, once. It ended 0.5 s after t1. No frame counted a part
 * of it before, so the frame of its end has all of it. With a second wait of 7 s, 5 s are a
 * frame's, and the rest is late.
 */
static void trace_wait_over_a_sample(void **state)
{
	struct scene *s = *state;

	clocks(s, 3);
	for (int t = 0; t < 3; t++) {
		scene_stats(s, t, "node1", 2, 0x200, 1000, 100, 500);
		scene_stats(s, t, "node1", 2, 0x201, 1000, 100, 500);
		scene_glock(s, t, "node1", 2, 0x200, "UN", t == 1 ? "AW" : NULL, "EX", 77,
			    "hotload");
		scene_glock(s, t, "node1", 2, 0x201, "SH", NULL, NULL, 0, NULL);
	}
	for (int t = 1; t < 3; t++) {
		trace_head(s, t, "3/3");
		event(s, t, UP0 + 0.1, 777, -11, 0.05, 1000);
	}
	event(s, 2, UP0 + 5.5, 512, -11, 2.0, 1000);
	event(s, 2, UP0 + 9.9, 513, -11, 7.0, 1000);
	scene_json(s);
	assert_near(waited(s, 0, 512), 0, 1e-5);
	assert_near(waited(s, 1, 512), 2, 1e-5);
	assert_near(rate(s, 1, 512), 2 / STEP, 1e-5);
	assert_near(waited(s, 1, 513), 7, 1e-5);
	assert_near(rate(s, 1, 513), 4.9 / STEP, 1e-5);
}

/* Two samples showed the wait, so the frame between them counted its 5 s. The rest is 1.5 s. */
static void trace_wait_that_was_followed(void **state)
{
	struct scene *s = *state;

	clocks(s, 4);
	for (int t = 0; t < 4; t++) {
		bool waits = t == 1 || t == 2;

		scene_stats(s, t, "node1", 2, 0x200, 1000, 100, 500);
		scene_glock(s, t, "node1", 2, 0x200, "UN", waits ? "AW" : NULL, "EX", 77,
			    "hotload");
	}
	for (int t = 1; t < 4; t++) {
		trace_head(s, t, "3/3");
		event(s, t, UP0 + 0.1, 777, -11, 0.05, 1000);
	}
	event(s, 3, UP0 + 10.5, 512, -11, 6.5, 1000);
	scene_json(s);
	assert_near(waited(s, 0, 512), 0, 1e-5);
	assert_near(waited(s, 1, 512), 5, 1e-5);
	assert_near(waited(s, 2, 512), 1.5, 1e-5);
	assert_near(number(row_of(frame(s, 2), 512), "longest_wait_s"), 6.5, 1e-5);
}

/*
 * node2 has a trace in t1, and is missing from t2. A wait of node1 in t2 has no phases then, and
 * node2's clocks of t2 are not read. A sanitizer sees if they are.
 */
static void trace_of_a_missing_node(void **state)
{
	struct scene *s = *state;
	char path[64];

	stats_for_trace(s, 3);
	for (int t = 0; t < 2; t++) {
		scene_clock(s, t, "node2");
		scene_stats(s, t, "node2", 2, 0x200, 1000, 100, 500);
		scene_glock(s, t, "node2", 2, 0x200, "SH", NULL, NULL, 0, NULL);
	}
	for (int t = 1; t < 3; t++) {
		trace_head(s, t, "2/2");
		event(s, t, UP0 + 1, 512, -11, 0.3, 1000);
	}
	snprintf(path, sizeof(path), "t1/node2/trace");
	scene_file(s, path,
		   "# entries-in-buffer/entries-written: 2/2   #P:1\n"
		   "  kworker/0:1H-77 [000] ..... %.6f: gfs2_glock_lock_time: 254,0 glock 2:512 "
		   "status:-11 flags:00 tdiff:9 srtt:1/1 srttb:1/1 sirt:1/1 dcnt:105 qcnt:500\n",
		   UP0 + 1);
	event(s, 2, UP0 + 7, 512, -11, 0.25, 1000);
	scene_json(s);
	assert_near(waited(s, 1, 512), 0.25, 1e-5);
	assert_true(is_null(row_of(frame(s, 1), 512), "phases"));
}

/* The trace of t2 includes that of t1. Each event counts once. */
static void trace_events_once(void **state)
{
	struct scene *s = *state;

	stats_for_trace(s, 3);
	for (int t = 1; t < 3; t++) {
		trace_head(s, t, "2/2");
		event(s, t, UP0 + 1, 512, -11, 0.3, 1000);
		/* written while t1 was read */
		event(s, t, UP0 + 5.1, 512, -11, 0.1, 1000);
	}
	event(s, 2, UP0 + 7, 512, -11, 0.25, 1000);
	scene_json(s);
	assert_near(waited(s, 0, 512) + waited(s, 1, 512), 0.65, 1e-5);
	assert_near(waited(s, 0, 512), 0.4, 1e-5);
}

/* A stamp far in the future makes the line a broken one. Later lines count. */
static void trace_stamp_of_the_future(void **state)
{
	struct scene *s = *state;

	stats_for_trace(s, 3);
	for (int t = 1; t < 3; t++) {
		trace_head(s, t, "2/2");
		event(s, t, UP0 + 1, 512, -11, 0.3, 1000);
		event(s, t, 999999999.0, 512, -11, 0.1, 1000);
		event(s, t, 9223372036854.0, 512, -11, 0.1, 1000);
	}
	event(s, 2, UP0 + 7, 512, -11, 0.25, 1000);
	scene_json(s);
	assert_near(waited(s, 0, 512), 0.3, 1e-5);
	assert_near(waited(s, 1, 512), 0.25, 1e-5);
	assert_true(says(frame(s, 0), "t1/node1/trace:6: "));
}

static void trace_broken_lines(void **state)
{
	struct scene *s = *state;

	stats_for_trace(s, 2);
	trace_head(s, 1, "2/2");
	event(s, 1, UP0 + 1, 512, -11, 0.3, 1000);
	scene_file(s, "t1/node1/trace",
		   "x 1.000000: gfs2_glock_lock_time: 254,0 glock 2:512 status:zero\n");
	scene_file(s, "t1/node1/trace", "x: gfs2_glock_lock_time: 254,0 glock\n");
	scene_file(s, "t1/node1/trace",
		   "x 5003.000000: gfs2_glock_queue: 254,0 glock 2:512 queue PR\n");
	event(s, 1, UP0 + 2, 777, -11, 0.3, 1000); /* of a glock that no other file lists */
	scene_file(s, "t1/node1/trace",
		   " a-1 [0] . 5004.000000: gfs2_glock_lock_time: 254,0 glock 2:512 status:-11 "
		   "flags:00 tdiff:9");
	scene_json(s);
	assert_near(waited(s, 0, 512), 0.3, 1e-5);
	assert_true(says(frame(s, 0), "t1/node1/trace:6: "));
	assert_true(says(frame(s, 0), "t1/node1/trace:7: "));
	assert_true(says(frame(s, 0), "t1/node1/trace:10: "));
	assert_false(says(frame(s, 0), "t1/node1/trace:8: "));
}

/* The kernel overwrote events of the frame. The trace is not used, and a message says so. */
static void trace_overwritten(void **state)
{
	struct scene *s = *state;

	stats_for_trace(s, 2);
	trace_head(s, 1, "1/500");
	event(s, 1, UP0 + 4, 512, -11, 0.3, 1000);
	scene_json(s);
	assert_true(says(frame(s, 0), "t1/node1/trace"));
	assert_true(json_is_true(json_object_get(row_of(frame(s, 0), 512), "estimated")) ||
		    waited(s, 0, 512) == 0);
}

/* A second file system with the same glocks. If `id` is NULL, nothing tells its device. */
static void second_space(struct scene *s, int n, const char *id)
{
	char path[96];

	for (int t = 0; t < n; t++) {
		snprintf(path, sizeof(path), "t%d/node1/gfs2/lab:fs2/glstats", t);
		scene_file(s, path,
			   "G: n:2/200 rtt:1000/500 rttb:%d/500 irt:1000/500 dcnt: %d qcnt: %d\n",
			   t ? 5000 : 1000, 100 + 8 * t, 500 + 8 * t);
		snprintf(path, sizeof(path), "t%d/node1/gfs2/lab:fs2/glocks", t);
		scene_file(s, path, "G:  s:SH n:2/200 f:Iqob t:SH d:EX/0 a:0 v:0 r:3 m:50 p:1\n");
		if (!id)
			continue;
		snprintf(path, sizeof(path), "t%d/node1/gfs2/lab:fs2/condition", t);
		scene_file(s, path, "withdraw 0\nid %s\n", id);
		snprintf(path, sizeof(path), "t%d/node1/gfs2/" TABLE "/condition", t);
		scene_file(s, path, "id 254:0\n");
	}
}

static double waited_on(struct scene *s, size_t n, const char *table)
{
	json_t *rows = json_object_get(frame(s, n), "rows"), *row;
	double sum = 0;
	size_t i;

	json_array_foreach(
	    rows, i,
	    row) if (strcmp(json_string_value(json_object_get(row, "lockspace")), table) == 0 &&
		     number(row, "ino") == 512) sum += number(row, "wait_s");
	return sum;
}

/* Both file systems are in one trace. Each event counts in its own file system, in each frame. */
static void trace_of_two_file_systems(void **state)
{
	struct scene *s = *state;

	stats_for_trace(s, 3);
	second_space(s, 3, "254:16");
	for (int t = 1; t < 3; t++) {
		trace_head(s, t, "4/4");
		event_on(s, t, 0, UP0 + 1, 512, -11, 0.3, 1200);
		event_on(s, t, 16, UP0 + 2, 512, -11, 0.5, 1200);
	}
	event_on(s, 2, 16, UP0 + 6, 512, -11, 0.25, 1200);
	event_on(s, 2, 0, UP0 + 7, 512, -11, 0.125, 1200);
	/* neither's, because this file system is not mounted any more */
	event_on(s, 2, 32, UP0 + 8, 512, -11, 0.7, 1200);
	scene_json(s);
	assert_near(waited_on(s, 0, TABLE), 0.3, 1e-5);
	assert_near(waited_on(s, 0, "lab:fs2"), 0.5, 1e-5);
	assert_near(waited_on(s, 1, TABLE), 0.125, 1e-5);
	assert_near(waited_on(s, 1, "lab:fs2"), 0.25, 1e-5);
	assert_false(says(frame(s, 0), "not used"));
}

/* If nothing tells which device belongs to which file system, neither counts. */
static void trace_of_no_known_device(void **state)
{
	struct scene *s = *state;

	stats_for_trace(s, 2);
	second_space(s, 2, NULL);
	trace_head(s, 1, "1/1");
	event(s, 1, UP0 + 1, 512, -11, 0.3, 1200);
	scene_json(s);
	assert_true(
	    says(frame(s, 0), "not used: the events do not name one of the 2 file systems"));
}

/* ---- phases -------------------------------------------------------------------------------- */

/* An event of any kind in the trace of a node in t1. */
__attribute__((format(printf, 4, 5))) static void raw_event(struct scene *s, const char *node,
							    double at, const char *format, ...)
{
	char path[64], text[128];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(path, sizeof(path), "t1/%s/trace", node);
	scene_file(s, path, "  kworker/0:1H-77      [000] .....  %.6f: %s\n", at, text);
}

/* A reply on a node: a wait has status -11, and a request that gives the lock up has -65538. */
static void reply(struct scene *s, const char *node, double at, unsigned number, int status,
		  double tdiff)
{
	raw_event(s, node, at,
		  "gfs2_glock_lock_time: 254,0 glock 2:%u status:%d flags:00 tdiff:%.0f srtt:1/1 "
		  "srttb:1/1 sirt:1/1 dcnt:5 qcnt:5",
		  number, status, tdiff * 1e9);
}

static void demand(struct scene *s, const char *node, double at, unsigned number, const char *from)
{
	raw_event(s, node, at,
		  "gfs2_demote_rq: 254,0 glock 2:%u demote %s to NL flags:DyIob remote", number,
		  from);
}

static void flush(struct scene *s, const char *node, double at, const char *end)
{
	raw_event(s, node, at, "gfs2_log_flush: 254,0 log flush %s", end);
}

/*
 * node1 waits for glock 512 from 1 s to 2 s after t0. The boot of node2 was 70 s
 * later.
 */
static void two_nodes_until(struct scene *s, double until2)
{
	for (int t = 0; t < 2; t++) {
		scene_clock(s, t, "node1");
		scene_clocks(s, t, "node2", REAL0 + until2 * t, UP0 - 70 + until2 * t);
		for (int n = 1; n < 3; n++) {
			char node[8];

			snprintf(node, sizeof(node), "node%d", n);
			scene_stats(s, t, node, 2, 0x200, 1000, 100, 500);
			scene_glock(s, t, node, 2, 0x200, "SH", NULL, NULL, 0, NULL);
		}
	}
	reply(s, "node1", UP0 + 2, 512, -11, 1);
}

static void two_nodes(struct scene *s)
{
	two_nodes_until(s, 5);
}

#define UP2 (UP0 - 70) /* uptime of node2 at t0 */

static json_t *phases_of(struct scene *s)
{
	scene_json(s);
	return json_object_get(row_of(frame(s, 0), 512), "phases");
}

/* node2 had the demand for 0.6 s, and wrote back in the last 0.2 s of them. */
static void phases_of_a_wait(void **state)
{
	struct scene *s = *state;
	json_t *phases;

	two_nodes(s);
	demand(s, "node2", UP2 + 1.1, 512, "EX");
	flush(s, "node2", UP2 + 1.3, "start 77 1002");   /* of the AIL, for no glock */
	flush(s, "node2", UP2 + 1.5, "start 78 4002");   /* INODE_GO_SYNC */
	flush(s, "node2", UP2 + 1.55, "end 78 4002");    /* data follow the log */
	demand(s, "node2", UP2 + 1.6, 512, "EX");        /* of a third node: the first counts */
	reply(s, "node2", UP2 + 1.65, 512, -65538, 0.6); /* an older request */
	reply(s, "node2", UP2 + 1.8, 512, -65538, 0.1);
	reply(s, "node2", UP2 + 1.95, 512, -65538, 0.01); /* no demand any more */
	phases = phases_of(s);
	assert_near(number(phases, "waits"), 1, 0);
	assert_near(number(phases, "give_s"), 0.6, 1e-5);
	assert_near(number(phases, "write_back_s"), 0.2, 1e-5);
	assert_near(number(phases, "request_s"), 0.4, 1e-5);
	assert_near(number(row_of(frame(s, 0), 512), "wait_p50_s"), 1, 1e-5);
	assert_near(number(row_of(frame(s, 0), 512), "wait_p99_s"), 1, 1e-5);
}

/* Two dirty locks are wanted at once, so the flush may be for either: no write-back is told. */
static void a_flush_for_one_of_two(void **state)
{
	struct scene *s = *state;
	json_t *phases;

	two_nodes(s);
	demand(s, "node2", UP2 + 1.05, 513, "EX");
	demand(s, "node2", UP2 + 1.1, 512, "EX");
	flush(s, "node2", UP2 + 1.5, "start 78 4002");
	reply(s, "node2", UP2 + 1.8, 512, -65538, 0.1);
	phases = phases_of(s);
	assert_near(number(phases, "give_s"), 0.6, 1e-5);
	assert_near(number(phases, "write_back_s"), 0, 1e-9);
}

/* A lock in PR has nothing to write, so the flush is for the other one. */
static void a_flush_beside_a_reader(void **state)
{
	struct scene *s = *state;
	json_t *phases;

	two_nodes(s);
	demand(s, "node2", UP2 + 1.1, 512, "EX");
	demand(s, "node2", UP2 + 1.2, 513, "PR");
	flush(s, "node2", UP2 + 1.5, "start 78 2002");
	reply(s, "node2", UP2 + 1.8, 512, -65538, 0.1);
	phases = phases_of(s);
	assert_near(number(phases, "write_back_s"), 0.2, 1e-5);
}

/* Demands that are local, or for no lock, are no gives. A give outside the wait does not count. */
static void no_gives(void **state)
{
	struct scene *s = *state;
	json_t *phases;

	two_nodes(s);
	demand(s, "node2", UP2 + 0.2, 512, "EX");
	reply(s, "node2", UP2 + 0.9, 512, -65538, 0.1);
	demand(s, "node2", UP2 + 1.1, 512, "NL");
	raw_event(s, "node2", UP2 + 1.2,
		  "gfs2_demote_rq: 254,0 glock 2:512 demote EX to NL flags:DIob local");
	reply(s, "node2", UP2 + 1.5, 512, -65538, 0.1);
	phases = phases_of(s);
	assert_near(number(phases, "give_s"), 0, 1e-9);
	assert_near(number(phases, "request_s"), 1, 1e-5);
}

/* The sample of node2 is older than the end of the wait, so the phases are not known. */
static void a_wait_after_the_other_sample(void **state)
{
	struct scene *s = *state;
	json_t *phases;

	two_nodes_until(s, 1.5);
	demand(s, "node2", UP2 + 0.1, 512, "EX");
	reply(s, "node2", UP2 + 0.2, 512, -65538, 0.01);
	phases = phases_of(s);
	assert_true(json_is_null(phases));
	assert_near(number(row_of(frame(s, 0), 512), "wait_p50_s"), 1, 1e-5);
}

/* The node asks for the lock again, so the reply to the demand is missing: no give is known. */
static void a_demand_without_reply(void **state)
{
	struct scene *s = *state;
	json_t *phases;

	two_nodes(s);
	demand(s, "node2", UP2 + 0.1, 512, "EX");
	raw_event(s, "node2", UP2 + 0.5,
		  "gfs2_glock_lock_time: 254,0 glock 2:512 status:0 flags:00 tdiff:300000000 "
		  "srtt:1/1 srttb:99999999/1 sirt:1/1 dcnt:5 qcnt:5");
	reply(s, "node2", UP2 + 1.8, 512, -65538, 0.1);
	phases = phases_of(s);
	assert_near(number(phases, "give_s"), 0, 1e-9);
}

/* A trace without the event of a demand does not tell phases, because they may just be untraced. */
static void no_event_of_demands(void **state)
{
	struct scene *s = *state;

	two_nodes(s);
	reply(s, "node2", UP2 + 1.5, 512, -65538, 0.1);
	assert_true(json_is_null(phases_of(s)));
}

static void broken_events(void **state)
{
	struct scene *s = *state;
	json_t *phases;

	two_nodes(s);
	demand(s, "node2", UP2 + 1.1, 512, "EX");
	raw_event(s, "node2", UP2 + 1.2,
		  "gfs2_demote_rq: 254,0 glock 2:x demote EX to NL f: remote");
	raw_event(s, "node2", UP2 + 1.2, "gfs2_demote_rq: ");
	raw_event(s, "node2", UP2 + 1.2,
		  "gfs2_demote_rq: 254,0 glock 99:5 demote EX to NL f: remote");
	raw_event(s, "node2", 9e9, "gfs2_demote_rq: 254,0 glock 2:512 demote EX to NL f: remote");
	flush(s, "node2", UP2 + 1.2, "");
	raw_event(s, "node2", UP2 + 1.2, "gfs2_log_flush: 254 log");
	reply(s, "node2", UP2 + 1.8, 512, -65538, 0.1);
	phases = phases_of(s);
	assert_near(number(phases, "give_s"), 0.6, 1e-5);
	assert_near(number(json_object_get(frame(s, 0), "totals"), "bad_lines"), 5, 0);
}

/* Ten waits of 10 ms to 100 ms. */
static void percentiles(void **state)
{
	struct scene *s = *state;
	json_t *row;

	stats_for_trace(s, 2);
	trace_head(s, 1, "10/10");
	for (int i = 10; i > 0; i--)
		event(s, 1, UP0 + 4 - 0.2 * i, 512, -11, 0.01 * i, 1000);
	scene_json(s);
	row = row_of(frame(s, 0), 512);
	assert_near(number(row, "wait_p50_s"), 0.05, 1e-5);
	assert_near(number(row, "wait_p90_s"), 0.09, 1e-5);
	assert_near(number(row, "wait_p99_s"), 0.1, 1e-5);
	/* one node alone has no other node's trace */
	assert_true(json_is_null(json_object_get(row, "phases")));
}

int main(void)
{
#define BAD(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
	    BAD(trace_events),
	    BAD(trace_events_once),
	    BAD(trace_stamp_of_the_future),
	    BAD(trace_broken_lines),
	    BAD(trace_overwritten),
	    BAD(trace_of_a_missing_node),
	    BAD(trace_wait_over_a_sample),
	    BAD(trace_wait_that_was_followed),
	    BAD(trace_of_two_file_systems),
	    BAD(trace_of_no_known_device),
	    BAD(phases_of_a_wait),
	    BAD(a_flush_for_one_of_two),
	    BAD(a_flush_beside_a_reader),
	    BAD(no_gives),
	    BAD(a_wait_after_the_other_sample),
	    BAD(a_demand_without_reply),
	    BAD(no_event_of_demands),
	    BAD(broken_events),
	    BAD(percentiles),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
