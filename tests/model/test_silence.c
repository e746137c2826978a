/* SPDX-License-Identifier: MIT */
/*
 * test_silence.c - tests how long a node may take for an answer before it is called silent.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "o2top/model/model.h"
#include "o2top/sources/sources.h"
#include "open_nothing.h"

/* The node's last sample took `took_s`. Returns whether it is silent after `silent_s`. */
static bool silent_after(double took_s, double silent_s)
{
	static const struct collector_ops ops = {.open = open_nothing};
	static char name[] = "node1";
	struct collector collector = {.ops = &ops};
	struct node_sample node = {.name = name, .present = true, .took_s = took_s};
	struct sample sample = {.label = "", .n_nodes = 1, .nodes = &node};
	struct model m = {.sources = source_list};
	bool silent;

	assert_int_equal(model_sample(&m, &collector, &sample), 0);
	/* two frames without it */
	node = (struct node_sample){.name = name, .silent_s = silent_s / 2};
	assert_int_equal(model_sample(&m, &collector, &sample), 0);
	node.silent_s = silent_s;
	assert_int_equal(model_sample(&m, &collector, &sample), 0);
	silent = node_overdue(&m, &m.nodes[0], 2);
	model_free(&m);
	return silent;
}

static void a_slow_node_is_not_silent(void **state)
{
	(void)state;
	assert_false(silent_after(0.1, 1.9));
	assert_true(silent_after(0.1, 2.1));
	assert_false(silent_after(2.1, 2.5));
	assert_false(silent_after(2.1, 4.1));
	assert_true(silent_after(2.1, 4.3));
}

/*
 * Two nodes answer, the second one `late_s` after the request. Then the first one is silent for
 * `silent_s`, while the second one answers in time. Returns whether the first one counts as silent.
 */
static bool silent_beside(double late_s, double silent_s)
{
	static const struct collector_ops ops = {.open = open_nothing};
	static char first[] = "node1", second[] = "node2";
	struct collector collector = {.ops = &ops};
	struct node_sample nodes[2] = {{.name = first, .present = true, .took_s = 0.1},
				       {.name = second, .present = true, .late_s = late_s}};
	struct sample sample = {.label = "", .n_nodes = 2, .nodes = nodes};
	struct model m = {.sources = source_list};
	bool silent;

	assert_int_equal(model_sample(&m, &collector, &sample), 0);
	nodes[0] = (struct node_sample){.name = first, .silent_s = silent_s};
	nodes[1].late_s = 0;
	assert_int_equal(model_sample(&m, &collector, &sample), 0);
	silent = node_overdue(&m, &m.nodes[0], 2);
	model_free(&m);
	return silent;
}

/* Where another node needed 5 s, 3 s without an answer tell nothing. */
static void a_busy_cluster_is_not_silent(void **state)
{
	(void)state;
	assert_true(silent_beside(0, 3));
	assert_false(silent_beside(5, 3));
	assert_false(silent_beside(5, 4.9));
	assert_true(silent_beside(5, 5.1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_slow_node_is_not_silent),
					   cmocka_unit_test(a_busy_cluster_is_not_silent)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
