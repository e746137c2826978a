/* SPDX-License-Identifier: MIT */
/*
 * A sample that names a node or a lock space twice: recordings and agents may. Nodes are read by several
 * threads at once, so that one that is named twice would be read by two of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdatomic.h>

#include "model.h"
#include "sources/ocfs2_line.h"

static atomic_uint reads;

static int open_file(struct collector *c, const struct node_sample *node,
		     const struct space_sample *space, enum file_kind kind, struct input *in)
{
	static char text[1024];
	struct ocfs2_line line = {.version = 4,
				  .name = "M0000000000000000007e0000000000",
				  .level = 3,
				  .requested = 3,
				  .blocking = -1};
	size_t n;

	(void)c;
	(void)node;
	(void)space;
	if (kind != FILE_LOCKING_STATE)
		return -ENOENT;
	n = ocfs2_line_print(&line, text, sizeof(text));
	reads++;
	input_open_memory(in, text, n, "locking_state");
	return 0;
}

static void each_is_read_once(void **state)
{
	static const struct collector_ops ops = {.open = open_file};
	static char space[] = "2AAE8B67B17D4F169DF133216A14ED3D", name[] = "node1";
	struct collector collector = {.ops = &ops};
	struct space_sample spaces[] = {{FS_OCFS2, space, NULL}, {FS_OCFS2, space, NULL}};
	struct node_sample nodes[3];
	struct sample sample = {.label = "", .n_nodes = 3, .nodes = nodes};
	struct model m = {0};

	(void)state;
	for (int i = 0; i < 3; i++)
		nodes[i] = (struct node_sample){.name = name,
						.present = true,
						.has_clock = true,
						.n_spaces = 2,
						.spaces = spaces};
	for (unsigned n = 1; n <= 3; n++) {
		for (int i = 0; i < 3; i++)
			nodes[i].real_us = nodes[i].mono_us = 5000000 * (int64_t)n;
		reads = 0;
		assert_int_equal(model_sample(&m, &collector, &sample), 0);
		assert_int_equal(m.n_nodes, 1);
		assert_int_equal(m.n_spaces, 1);
		assert_int_equal(reads, 1);
		assert_int_equal(m.nodes[0].spaces[0]->table.n_used, 1);
		/* two nodes too many, and a lock space of the first one */
		assert_int_equal(m.problems.count, 3);
	}
	model_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_is_read_once),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
