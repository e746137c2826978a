/* SPDX-License-Identifier: MIT */
/*
 * test_quorum.c - tests corosync's reports of members and quorum, and their consequences.
 */
#include "check.h"
#include "fake_cmap.h"
#include "fake_quorum.h"
#include "lockman/dlm/dlm_cluster.h"

static struct glock__quorum q;

static int setup(void **state)
{
	(void)state;
	glock__quorum_open(&q);
	assert_true(q.there);
	assert_true(glock__quorum_there(&q));
	assert_false(glock__quorum_apart(&q));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	glock__quorum_close(&q);
	assert_int_equal(fake_quorum_open(), 0);
	assert_int_equal(fake_cmap_open(), 0);
	for (uint32_t id = 1; id <= 4; id++)
		fake_cmap_count(id, 1);
	return 0;
}

/*
 * Members now, joined, left. The first two lines are real: three machines, of which the third had
 * stood still, were told so.
 */
static const struct {
	const char *what;
	uint32_t members[8], joined[8], left[8];
	bool apart;
} changes[] = {
    {"who stood still", {1, 2, 3}, {1, 2}, {1, 2}, true},
    {"the others, at that", {1, 2, 3}, {3}, {0}, false},
    {"the others, as they missed it", {1, 2}, {0}, {3}, false},
    {"the others, both at once", {1, 2, 3}, {3}, {3}, false},
    {"nothing was missed", {1, 2, 3}, {0}, {0}, false},
    {"the other of two has died", {1}, {0}, {2}, false},
    {"one of two, nobody knows which", {1, 2}, {2}, {2}, true},
    {"half of four", {1, 2, 3, 4}, {3, 4}, {3, 4}, true},
    {"two of five", {1, 2, 3, 4, 5}, {3, 4, 5}, {3, 4, 5}, true},
    {"three of five", {1, 2, 3, 4, 5}, {4, 5}, {4, 5}, false},
    {"one of three, and another does not come back", {1, 3}, {1}, {1, 2}, true},
    {"most go for good", {3}, {0}, {1, 2}, false}, /* after this there is no quorum */
    {"a new one comes", {1, 2, 3, 4}, {4}, {0}, false},
};

static void who_is_apart(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		fake_quorum_nodes(changes[i].members, changes[i].joined, changes[i].left);
		assert_true(glock__quorum_there(&q));
		if (glock__quorum_apart(&q) != changes[i].apart)
			fail_msg("%s", changes[i].what);
		/* a report is given one time */
		assert_true(glock__quorum_there(&q));
		assert_false(glock__quorum_apart(&q));
	}
}

/* Names are corosync's, or the address of a link, or the number. */
/* Promises: glock_nodes: "At once; with". */
static void names_of_nodes(void **state)
{
	char name[64];
	int open = fake_cmap_open();

	(void)state;
	glock__dlm_node_name(7, name, sizeof(name));
	assert_string_equal(name, "alpha");
	glock__dlm_node_name(8, name, sizeof(name));
	assert_string_equal(name, "10.0.0.8");
	glock__dlm_node_name(9, name, sizeof(name));
	assert_string_equal(name, "node 9");
	fake_cmap_refuse(true);
	glock__dlm_node_name(7, name, sizeof(name));
	fake_cmap_refuse(false);
	assert_string_equal(name, "node 7");
	assert_int_equal(fake_cmap_open(), open);
}

static const uint32_t none[] = {0}, all[] = {1, 2, 3, 0};

static bool apart_with(const uint32_t *members)
{
	fake_quorum_nodes(members, none, none);
	assert_true(glock__quorum_there(&q));
	return glock__quorum_apart(&q);
}

/*
 * If one ring replaces another, corosync may tell empty lists. The counts of joins are real: three
 * machines had them after the third had stood still.
 */
static void lists_that_were_lost(void **state)
{
	static const struct {
		const char *what;
		uint32_t members[5], counts[5];
		bool apart;
	} rings[] = {
	    {"the first that is told", {1, 2, 3}, {1, 1, 1}, false},
	    {"a token was lost, nobody was away", {1, 2, 3}, {1, 1, 1}, false},
	    {"who stood still", {1, 2, 3}, {2, 2, 1}, true},
	    {"it is said once", {1, 2, 3}, {2, 2, 1}, false},
	    {"the others", {1, 2, 3}, {2, 2, 2}, false},
	    {"who stood still, and another goes", {2, 3}, {2, 3, 2}, true},
	    {"that one comes", {1, 2, 3}, {3, 3, 2}, false},
	    {"another comes who was seen before", {1, 2, 3, 4}, {3, 3, 2, 7}, false},
	    {"half of four", {1, 2, 3, 4}, {4, 4, 2, 7}, true},
	    {"one of four", {1, 2, 3, 4}, {4, 4, 2, 8}, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rings); i++) {
		for (uint32_t id = 1; id <= 4; id++)
			fake_cmap_count(id, rings[i].counts[id - 1]);
		if (apart_with(rings[i].members) != rings[i].apart)
			fail_msg("%s", rings[i].what);
	}
}

static void all_joined(uint32_t times)
{
	for (uint32_t id = 1; id <= 3; id++)
		fake_cmap_count(id, times);
}

/* The library asks again for a missing count, although corosync reports nothing more. */
static void a_count_that_is_not_to_be_had(void **state)
{
	(void)state;
	fake_cmap_refuse(true);
	assert_false(apart_with(all));
	fake_cmap_refuse(false);
	assert_true(glock__quorum_there(&q));
	all_joined(2);
	fake_cmap_count(3, 0);
	assert_false(apart_with(all));
	fake_cmap_count(3, 1);
	assert_true(glock__quorum_there(&q));
	assert_true(glock__quorum_apart(&q));
}

/*
 * Two nodes restart one after the other while this process stands still. corosync reports all of
 * it, and no majority was away.
 */
static void lists_that_were_late(void **state)
{
	static const uint32_t without_3[] = {1, 2, 0}, without_2[] = {1, 3, 0}, two[] = {2, 0},
			      three[] = {3, 0};

	(void)state;
	assert_false(apart_with(all));
	fake_cmap_count(2, 2);
	fake_cmap_count(3, 2);
	fake_quorum_nodes(without_3, none, three);
	fake_quorum_nodes(all, three, none);
	fake_quorum_nodes(without_2, none, two);
	fake_quorum_nodes(all, two, none);
	assert_true(glock__quorum_there(&q));
	assert_false(glock__quorum_apart(&q));
}

/* A connection that reports nothing does not count, so the library makes another one. */
static void a_connection_that_is_not_told(void **state)
{
	(void)state;
	fake_quorum_break();
	glock__quorum_there(&q);
	fake_quorum_untold(true);
	assert_true(glock__quorum_there(&q));
	assert_false(q.there);
	fake_quorum_untold(false);
	fake_quorum_quorate(0);
	assert_false(glock__quorum_there(&q));
	assert_true(q.there);
	fake_quorum_quorate(1);
	assert_true(glock__quorum_there(&q));
}

/* The new corosync counts from the beginning. That is no join of a node. */
static void counts_of_another_corosync(void **state)
{
	(void)state;
	all_joined(5);
	assert_false(apart_with(all));
	fake_quorum_break();
	glock__quorum_there(&q);
	all_joined(1);
	assert_false(apart_with(all));
	fake_cmap_count(1, 2);
	fake_cmap_count(2, 2);
	assert_true(apart_with(all));
}

/* corosync ends right after the report. The report still counts. */
static void apart_as_corosync_ends(void **state)
{
	static const uint32_t others[] = {1, 2, 0};

	(void)state;
	fake_quorum_nodes(all, others, others);
	fake_quorum_break_after_telling();
	glock__quorum_there(&q);
	assert_false(q.there);
	assert_true(glock__quorum_apart(&q));
}

/*
 * Quorum is lost and returns between two checks. A part that had quorum meanwhile may have our
 * locks.
 */
static void a_moment_without_quorum(void **state)
{
	(void)state;
	fake_quorum_quorate(0);
	fake_quorum_quorate(1);
	assert_false(glock__quorum_there(&q));
	assert_true(glock__quorum_there(&q));
	fake_quorum_quorate(0);
	assert_false(glock__quorum_there(&q));
	assert_false(glock__quorum_there(&q));
	fake_quorum_quorate(1);
	assert_true(glock__quorum_there(&q));
}

static void corosync_ends_and_comes_back(void **state)
{
	(void)state;
	fake_quorum_break();
	assert_true(glock__quorum_there(&q)); /* dlm_controld ends, too; other tests cover this */
	assert_false(q.there);
	fake_quorum_quorate(0);
	assert_false(glock__quorum_there(&q));
	assert_true(q.there);
	fake_quorum_quorate(1);
	assert_true(glock__quorum_there(&q));
	assert_int_equal(fake_quorum_open(), 1);
	assert_false(apart_with(all));
	assert_int_equal(fake_cmap_open(), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(who_is_apart, setup, teardown),
	    cmocka_unit_test_setup_teardown(names_of_nodes, setup, teardown),
	    cmocka_unit_test_setup_teardown(lists_that_were_lost, setup, teardown),
	    cmocka_unit_test_setup_teardown(counts_of_another_corosync, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_count_that_is_not_to_be_had, setup, teardown),
	    cmocka_unit_test_setup_teardown(lists_that_were_late, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_connection_that_is_not_told, setup, teardown),
	    cmocka_unit_test_setup_teardown(apart_as_corosync_ends, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_moment_without_quorum, setup, teardown),
	    cmocka_unit_test_setup_teardown(corosync_ends_and_comes_back, setup, teardown),
	};

	return RUN_TESTS(tests);
}
