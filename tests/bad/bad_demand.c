/* SPDX-License-Identifier: MIT */
/*
 * bad_demand.c - tests the demands of nodes that are not watched, as the node shows that has the
 * lock.
 *
 * A sample comes each 5 s. The inode is 512.
 */
#include "scene.h"

#include <string.h>

enum { SAMPLES = 3 };

/* Writes a GFS2 glock of node1 with these flags, demanded for `us` by the kernel's own clock. */
static void gfs2_demand(struct scene *s, int type, const char *state, const char *flags,
			unsigned us)
{
	for (int t = 0; t < SAMPLES; t++) {
		char path[64];

		scene_clock(s, t, "node1");
		scene_stats(s, t, "node1", type, 0x200, 1000, 100, 500);
		snprintf(path, sizeof(path), "t%d/node1/gfs2/" TABLE "/glocks", t);
		scene_file(s, path,
			   "G:  s:%s n:%d/200 f:%s t:%s d:UN/%u a:0 v:0 r:3 m:50 p:1\n"
			   " H: s:%s f:H e:0 p:77 [holder] gfs2_open+0x1c/0x40 [gfs2]\n",
			   state, type, flags, state, us ? us + 5000000 * (unsigned)t : 0, state);
	}
}

/* Writes an OCFS2 lock of node1 in EX with a demand for EX. */
static void ocfs2_demand(struct scene *s, int version, unsigned gets)
{
	for (int t = 0; t < SAMPLES; t++) {
		scene_clock(s, t, "node1");
		LINE(t, "node1", .version = version, .ino = 512, .level = 5, .flags = 0x145,
		     .requested = 5, .blocking = 5, .holders = {0, 1},
		     .gets = {version == 1 ? 0 : 9, version == 1 ? 0 : 9 + gets * (unsigned)t});
		LINE(t, "node1", .version = version, .type = 'W', .ino = 512,
		     .gets = {version == 1 ? 0 : 9, 0});
	}
}

static json_t *row(struct scene *s)
{
	scene_json(s);
	return row_of(frame(s, 1), 512);
}

static void check(struct scene *s, int status, const char *text)
{
	scene_run(s, "--check", "@", NULL);
	if (s->status != status || !strstr(s->out, text))
		fail_msg("%d: %s", s->status, s->out);
}

/* The kernel of the node that has the glock says how old the demand is. */
static void gfs2_tells_the_age(void **state)
{
	struct scene *s = *state;
	json_t *r;

	gfs2_demand(s, 2, "EX", "DIqob", 60000000);
	r = row(s);
	assert_near(number(r, "oldest_wait_s"), 70, 1e-6);
	assert_near(number(r, "oldest_wait_max_s"), 70, 1e-6);
	assert_near(number(r, "demanded"), 1, 0);
	assert_non_null(strstr(word(r, "sentence"), "pid 77 holder on node1 holds EX; another node "
						    "has asked for it in EX for 70.0 s"));
	check(s, 2, "[WAIT_LONG]");
}

/* A young demand is traffic, and a node that has nothing has nothing to give. */
static void traffic_is_no_alarm(void **state)
{
	struct scene *s = *state;

	for (int t = 0; t < SAMPLES; t++) {
		scene_clock(s, t, "node1");
		scene_stats(s, t, "node1", 2, 0x200, 1000, 100, 500);
	}
	scene_file(s, "t1/node1/gfs2/" TABLE "/glocks",
		   "G:  s:EX n:2/200 f:DIqob t:EX d:UN/90000 a:0 v:0 r:3 m:50 p:1\n"
		   "G:  s:UN n:2/201 f:lDpfiI t:UN d:UN/71000000 a:0 v:0 r:2 m:50 p:0\n");
	check(s, 0, "no waits");
}

/* The node that deleted an open file stopped waiting for its iopen glock long ago. */
static void an_open_file_is_no_wait(void **state)
{
	struct scene *s = *state;

	gfs2_demand(s, 5, "SH", "Dqob", 60000000);
	check(s, 0, "no waits");
}

/* Two samples show one demand if the node counted no acquisition in EX in between. */
static void ocfs2_tells_since_which_sample(void **state)
{
	struct scene *s = *state;
	json_t *r;

	ocfs2_demand(s, 4, 0);
	r = row(s);
	assert_near(number(r, "oldest_wait_s"), 10, 1e-6);
	assert_non_null(strstr(word(r, "sentence"), "another node has asked for it in EX for at "
						    "least 10.0 s"));
	check(s, 1, "[WAIT_LONG]");
}

static void an_acquisition_between_is_traffic(void **state)
{
	struct scene *s = *state;

	ocfs2_demand(s, 4, 1);
	check(s, 0, "no waits");
}

/* Without counters no sample proves that the demand is the same one. */
static void without_counters_nothing_is_proved(void **state)
{
	struct scene *s = *state;
	json_t *r;

	ocfs2_demand(s, 1, 0);
	r = row(s);
	assert_true(is_null(r, "oldest_wait_s"));
	assert_true(json_is_true(json_object_get(r, "hot")));
	assert_non_null(strstr(word(r, "sentence"), "each sample of the last 10.0 s shows this"));
	check(s, 3, "[AGE_UNKNOWN]");
}

/* If a watched node waits, the demand is its wait, and proves how old it is. */
static void a_demand_is_the_wait_of_a_watched_node(void **state)
{
	struct scene *s = *state;
	json_t *r;

	gfs2_demand(s, 2, "EX", "DIqob", 60000000);
	for (int t = 0; t < SAMPLES; t++) {
		scene_clock(s, t, "node2");
		scene_stats(s, t, "node2", 2, 0x200, 1000, 100, 500);
		scene_glock(s, t, "node2", 2, 0x200, "UN", "AW", "EX", 88, "waiter");
	}
	r = row(s);
	assert_near(number(r, "waiting"), 1, 0);
	assert_near(number(r, "demanded"), 0, 0);
	assert_near(number(r, "oldest_wait_s"), 70, 1e-6);
	/* node1 has EX, and node2 only waits for it */
	assert_int_equal(json_array_size(json_object_get(r, "writers")), 1);
	assert_string_equal(json_string_value(json_array_get(json_object_get(r, "writers"), 0)),
			    "node1");
}

/* Samples without clocks prove no age, and a wait in them may be long. */
static void a_wait_without_clocks_is_hot(void **state)
{
	struct scene *s = *state;
	json_t *r;

	for (int t = 0; t < SAMPLES; t++) {
		scene_stats(s, t, "node1", 2, 0x200, 1000, 100, 500);
		scene_glock(s, t, "node1", 2, 0x200, "UN", "AW", "SH", 77, "hotload");
	}
	r = row(s);
	assert_true(json_is_true(json_object_get(r, "hot")));
	assert_true(is_null(r, "oldest_wait_s"));
	check(s, 3, "[AGE_UNKNOWN]");
}

int main(void)
{
#define BAD(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
	    BAD(gfs2_tells_the_age),
	    BAD(traffic_is_no_alarm),
	    BAD(an_open_file_is_no_wait),
	    BAD(ocfs2_tells_since_which_sample),
	    BAD(an_acquisition_between_is_traffic),
	    BAD(without_counters_nothing_is_proved),
	    BAD(a_demand_is_the_wait_of_a_watched_node),
	    BAD(a_wait_without_clocks_is_hot),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
