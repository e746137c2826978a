/* SPDX-License-Identifier: MIT */
/*
 * test_clocks.c - tests a node's clocks: the kept past is enough, and does not grow with the days.
 */
#include "o2top/model/model.h"
#include "o2top/sources/sources.h"
#include "open_nothing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static int64_t mono_of(uint32_t sample)
{
	return 5000000 * (int64_t)sample;
}

/* A week of samples, a minute apart. */
static void old_clocks_are_dropped(void **state)
{
	static const struct collector_ops ops = {.open = open_nothing, .live = true};
	enum { SAMPLES = 7 * 24 * 60, TRAIL = 64 };
	struct collector collector = {.ops = &ops};
	struct node_sample node = {.name = "node1", .present = true, .has_clock = true};
	struct sample sample = {.label = "", .n_nodes = 1, .nodes = &node};
	struct model m = {.sources = source_list};
	uint32_t most = 0;

	(void)state;
	for (uint32_t i = 1; i <= SAMPLES; i++) {
		node.real_us = 1795154838700000 + mono_of(i);
		node.mono_us = mono_of(i);
		assert_int_equal(model_sample(&m, &collector, &sample), 0);
		assert_int_equal(m.sample, i);
		if (i - m.nodes[0].dropped > most)
			most = i - m.nodes[0].dropped;
		/* as far back as a Lock's trail and a lost line may ask */
		for (uint32_t back = 0; back < TRAIL && back < i; back++)
			assert_int_equal(node_when(&m.nodes[0], i - back)->mono_us,
					 mono_of(i - back));
	}
	assert_in_range(most, TRAIL, 1000);
	model_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(old_clocks_are_dropped)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
