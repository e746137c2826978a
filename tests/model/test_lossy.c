/* SPDX-License-Identifier: MIT */
/*
 * test_lossy.c - tests that o2top loses no lines although the kernel loses lines of locking_state.
 *
 * A reader here acts like seq_file and OCFS2's iterator together in Linux 6.1. Text is made up to 4
 * KiB at a time. The line that did not fit, or that came after the reader's buffer was full, is
 * skipped, because the iterator has moved past it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/print_lines.h"
#include "o2top/model/model.h"
#include "o2top/sources/sources.h"

enum { LOCKS = 1294, PAGE = 4096, LINE = 1024 };

struct kernel {
	struct collector collector;
	char lines[LOCKS][LINE];
	size_t at; /* the place of the iterator */
	char page[PAGE];
	size_t from, count;
	unsigned sample;
	size_t printed; /* lines given out in this sample */
	bool move_boundaries;
	struct space_sample space;
	struct node_sample node;
};

/*
 * Fills the page as seq_read_iter() does: at least one line, then more while they fit and the
 * reader wants more.
 */
static void fill(struct kernel *k, size_t wanted)
{
	k->from = k->count = 0;
	if (k->at >= LOCKS)
		return;
	k->count = strlen(k->lines[k->at]);
	memcpy(k->page, k->lines[k->at], k->count);
	k->printed++;
	for (k->at++; k->at < LOCKS; k->at++) {
		size_t len = strlen(k->lines[k->at]);

		if (k->count >= wanted || k->count + len >= PAGE) {
			k->at++; /* lost */
			return;
		}
		memcpy(k->page + k->count, k->lines[k->at], len);
		k->count += len;
		k->printed++;
	}
}

static struct kernel *the_kernel;

static ssize_t kernel_read(struct input *in, void *buf, size_t size)
{
	struct kernel *k = the_kernel;
	size_t n;

	(void)in;
	if (!k->count)
		fill(k, size);
	n = k->count < size ? k->count : size;
	memcpy(buf, k->page + k->from, n);
	k->from += n;
	k->count -= n;
	return (ssize_t)n;
}

static void kernel_close(struct input *in)
{
	(void)in;
}

static int open_file(struct collector *c, const struct node_sample *node,
		     const struct space_sample *space, enum file_kind kind, struct input *in)
{
	struct kernel *k = (struct kernel *)c;

	(void)node;
	(void)space;
	if (kind != FILE_LOCKING_STATE)
		return -2;
	k->at = k->from = k->count = k->printed = 0;
	the_kernel = k;
	*in = (struct input){.read = kernel_read, .close = kernel_close, .label = "locking_state"};
	if (k->move_boundaries)
		in->first_read = collect_first_read(k->sample - 1);
	return 0;
}

static const struct collector_ops ops = {.open = open_file, .live = true};

/* Names and lengths as on a node with 324 cached inodes: each has M, O, W and N in this order. */
static void make_lines(struct kernel *k)
{
	for (unsigned i = 0; i < LOCKS; i++) {
		struct ocfs2_line l = {
		    .version = 4, .level = 3, .flags = 0x41, .requested = 3, .blocking = -1};
		char type = "NWOM"[i % 4];
		unsigned ino = 0x7e00 + i / 4;

		l.gets[0] = 1 + i % 7;
		l.total_ns[0] = 1000 + 37 * i;
		l.last_us[0] = 1795154838650538;
		if (type == 'M' && i % 8 == 3)
			l.lvb[0] = 5, l.lvb[48] = 0x81, l.lvb[49] = 0xa4;
		if (type == 'N')
			snprintf(l.name, sizeof(l.name), "N%016x%08x", 0x7e0d, ino);
		else
			snprintf(l.name, sizeof(l.name), "%c000000%016x%08x", type, ino,
				 type == 'W' ? 0xa4f8719bu : 0);
		assert_true(ocfs2_line_print(&l, k->lines[i], LINE) > 0);
	}
}

static void take(struct kernel *k, struct model *m)
{
	struct sample sample = {.label = "", .n_nodes = 1, .nodes = &k->node};

	k->sample++;
	k->node.real_us = 1795154838700000 + 5000000 * k->sample;
	k->node.mono_us = 5000000 * k->sample;
	assert_int_equal(model_sample(m, &k->collector, &sample), 0);
	assert_int_equal(m->problems.count, 0);
}

static struct kernel *new_kernel(bool move_boundaries)
{
	static char name[] = "2AAE8B67B17D4F169DF133216A14ED3D";
	struct kernel *k = calloc(1, sizeof(*k));

	assert_non_null(k);
	k->collector.ops = &ops;
	k->move_boundaries = move_boundaries;
	k->space = (struct space_sample){FS_OCFS2, name, NULL};
	k->node = (struct node_sample){.name = "node1",
				       .present = true,
				       .has_clock = true,
				       .n_spaces = 1,
				       .spaces = &k->space};
	make_lines(k);
	return k;
}

static uint32_t locks_known(const struct model *m)
{
	return m->nodes[0].spaces[0]->table.n_used;
}

/* Without this loss, the other tests here would test nothing. */
static void plain_reads_lose_the_same_lines_every_time(void **state)
{
	struct kernel *k = new_kernel(false);
	struct model m = {.sources = source_list};

	(void)state;
	for (int i = 0; i < 5; i++)
		take(k, &m);
	assert_true(k->printed > LOCKS * 8 / 10 && k->printed < LOCKS * 95 / 100);
	assert_int_equal(locks_known(&m), k->printed);
	model_free(&m);
	free(k);
}

static void moved_boundaries_show_every_lock(void **state)
{
	struct kernel *k = new_kernel(true);
	struct model m = {.sources = source_list};

	(void)state;
	take(k, &m);
	assert_true(k->printed < LOCKS * 95 / 100);
	take(k, &m);
	assert_int_equal(locks_known(&m), LOCKS);
	model_free(&m);
	free(k);
}

/*
 * If a sample misses a Lock, the Lock keeps its Shot. The events meanwhile are neither lost nor
 * counted from zero.
 */
static void missed_lines_invent_nothing(void **state)
{
	struct kernel *k = new_kernel(true);
	struct model m = {.sources = source_list};
	double lost = 0;

	(void)state;
	for (int i = 0; i < 10; i++) {
		const struct table *t;

		take(k, &m);
		t = &m.nodes[0].spaces[0]->table;
		for (uint32_t j = 0; j < t->n_active; j++)
			lost += t->active[j].change.lost_s;
	}
	/* no counter of the file ever moved */
	assert_true(lost == 0);
	model_free(&m);
	free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(plain_reads_lose_the_same_lines_every_time),
	    cmocka_unit_test(moved_boundaries_show_every_lock),
	    cmocka_unit_test(missed_lines_invent_nothing),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
