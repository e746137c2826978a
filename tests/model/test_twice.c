/* SPDX-License-Identifier: MIT */
/*
 * test_twice.c - tests a sample that names a node or a lock space twice.
 *
 * Recordings and agents may do so. Several threads read nodes at once, so two of them would read a
 * node that is named twice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdatomic.h>

#include <stdlib.h>
#include <string.h>

#include "../unit/print_lines.h"
#include "o2top/model/model.h"
#include "o2top/rank/rank.h"
#include "o2top/sources/sources.h"

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
	struct model m = {.sources = source_list};

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
		/* two nodes too many, and a second lock space of the first node */
		assert_int_equal(m.problems.count, 3);
	}
	model_free(&m);
}

/* node1 waits for M0x7e. A DLM's dump names a lock of node1 on it. */
static int open_waiting(struct collector *c, const struct node_sample *node,
			const struct space_sample *space, enum file_kind kind, struct input *in)
{
	static char text[1024], dump[] =
				    "rsb 00 2 0 0 0 0 0 31 str M0000000000000000007e0000000000\n"
				    "lkb 1c6 2 5f7 1770 0 1c 0 2 5 -1 5 0 0 2 4998000000000 0\n";
	struct ocfs2_line line = {.version = 4,
				  .name = "M0000000000000000007e0000000000",
				  .flags = OCFS2_BUSY,
				  .action = OCFS2_ACT_CONVERT,
				  .requested = 3,
				  .blocking = -1,
				  .wait_us = 10000000};

	(void)c;
	(void)node;
	if (kind == FILE_LOCKING_STATE) {
		input_open_memory(in, text, ocfs2_line_print(&line, text, sizeof(text)),
				  "locking_state");
		return 0;
	}
	if (kind != FILE_DLM_ALL || !space)
		return -ENOENT;
	reads++;
	input_open_memory(in, dump, strlen(dump), "dlm");
	return 0;
}

/* Makes a row of that wait. */
static void explain(const struct model *m)
{
	const struct table *table = &m->nodes[0].spaces[0]->table;
	const struct lock *lock;
	struct member member = {.row = {0, 0x7e}};
	struct lockset set = {.members = &member, .n_members = 1};
	struct row row = {.id = {0, 0x7e}, .locksets = &set, .n_locksets = 1};

	assert_int_equal(table->n_active, 1);
	lock = table_lock(table, table->active[0].lock);
	member.lock = lock;
	member.change = &table->active[0].change;
	row.sum = set.sum = *member.change;
	assert_int_equal(row.sum.waiting, 1);
	explain_row(m, &row);
	assert_non_null(row.sentence);
	assert_null(row.note);
	free(row.sentence);
}

/*
 * node2 is named twice, and only the second one has the lock space. The first one has no place for
 * it.
 */
static void a_lock_space_of_the_second(void **state)
{
	static const struct collector_ops ops = {.open = open_waiting};
	static char space[] = "2AAE8B67B17D4F169DF133216A14ED3D", one[] = "node1", two[] = "node2";
	struct collector collector = {.ops = &ops};
	struct space_sample spaces[] = {{FS_OCFS2, space, NULL}};
	struct node_sample nodes[3];
	struct sample sample = {.label = "", .n_nodes = 3, .nodes = nodes};
	struct dlm_view view = {.node = 1, .id = {.number = 0x7e, .type = 'M'}};
	struct model m = {.sources = source_list};

	(void)state;
	reads = 0;
	for (int i = 0; i < 3; i++)
		nodes[i] = (struct node_sample){.name = i ? two : one,
						.present = true,
						.has_clock = true,
						.real_us = 15000000,
						.mono_us = 5000000,
						.n_spaces = i != 1,
						.spaces = spaces};
	assert_int_equal(model_sample(&m, &collector, &sample), 0);
	assert_int_equal(m.nodes[1].n_spaces, 0);
	assert_int_equal(waits_read(&m, &collector, &sample), 0);
	assert_int_equal(reads, 1); /* node1's */
	explain(&m);
	/* a node's lock in a lock space that the node never had, from any source */
	m.waits->views[0] = view;
	explain(&m);
	model_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_is_read_once),
	    cmocka_unit_test(a_lock_space_of_the_second),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
