/* SPDX-License-Identifier: MIT */
/*
 * test_rotate.c - tests the files of a recorder: limit, rotation, reopening, a full disk.
 *
 * A made-up collector gives one node with one file. Each sample has another text of random digits,
 * so that a frame does not become small.
 */
#include "o2top/collect/recording/record.h"
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT = 3000, FRAME_MOST = 2200, LIMIT = 5000 };

struct made_up {
	struct collector collector;
	struct node_sample node;
	struct space_sample space;
	unsigned sample; /* of the last one, from 1 */
	char text[TEXT];
};

static void make_text(char *text, unsigned sample)
{
	uint64_t seed = sample;

	for (size_t i = 0; i < TEXT - 1; i++)
		text[i] = (char)(i % 60 == 59 ? '\n' : '0' + random_u64(&seed) % 10);
	text[TEXT - 1] = '\0';
}

static int made_up_next(struct collector *c, struct sample *out, struct problems *problems)
{
	struct made_up *m = (struct made_up *)c;

	(void)problems;
	make_text(m->text, ++m->sample);
	m->node.real_us = (int64_t)m->sample * 1000000;
	*out = (struct sample){.label = "", .n_nodes = 1, .nodes = &m->node};
	return 1;
}

static int made_up_open(struct collector *c, const struct node_sample *node,
			const struct space_sample *space, enum file_kind kind, struct input *in)
{
	struct made_up *m = (struct made_up *)c;

	(void)node;
	(void)space;
	if (kind != FILE_LOCKING_STATE)
		return -ENOENT;
	input_open_memory(in, m->text, TEXT - 1, "made up");
	return 0;
}

static void made_up_close(struct collector *c)
{
	(void)c;
}

static const struct collector_ops made_up_ops = {
    .next = made_up_next, .open = made_up_open, .close = made_up_close, .live = true};

/* ---- a recorder in a folder of its own ----------------------------------------------------- */

struct rig {
	char folder[64], path[128];
	struct made_up from;
	struct collector *recorder;
	struct problems problems;
	struct banners banners;
};

static void rig_open(struct rig *r, uint64_t limit, unsigned keep)
{
	assert_int_equal(collect_recorder(&r->recorder, &r->from.collector,
					  &(struct record_options){r->path, limit, keep},
					  &r->problems),
			 0);
}

static void rig_begin(struct rig *r, uint64_t limit, unsigned keep)
{
	*r = (struct rig){.folder = "/tmp/test-rotate-XXXXXX"};
	assert_non_null(mkdtemp(r->folder));
	snprintf(r->path, sizeof(r->path), "%s/rec", r->folder);
	r->from.collector.ops = &made_up_ops;
	r->from.space = (struct space_sample){.fs = FS_OCFS2, .name = "SPACE"};
	r->from.node = (struct node_sample){.name = "node1",
					    .present = true,
					    .has_clock = true,
					    .n_spaces = 1,
					    .spaces = &r->from.space};
	rig_open(r, limit, keep);
}

/* Takes n samples. Returns the error of the last one. */
static int rig_sample(struct rig *r, unsigned n)
{
	int err = 0;

	while (n--) {
		struct sample sample;
		struct input in;
		char buf[TEXT];

		assert_int_equal(r->recorder->ops->next(r->recorder, &sample, &r->problems), 1);
		assert_int_equal(r->recorder->ops->open(r->recorder, sample.nodes,
							sample.nodes->spaces, FILE_LOCKING_STATE,
							&in),
				 0);
		while (in.read(&in, buf, sizeof(buf)) > 0)
			;
		in.close(&in);
		err = recorder_sampled(r->recorder, &r->problems, &r->banners);
	}
	return err;
}

static void rig_end(struct rig *r)
{
	char command[128];

	r->recorder->ops->close(r->recorder);
	problems_clear(&r->problems);
	banners_clear(&r->banners);
	snprintf(command, sizeof(command), "rm -r %s", r->folder);
	assert_int_equal(system(command), 0);
}

static char *rig_file(const struct rig *r, unsigned i)
{
	static char path[160];

	if (i)
		snprintf(path, sizeof(path), "%s.%u", r->path, i);
	else
		snprintf(path, sizeof(path), "%s", r->path);
	return path;
}

static off_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? -1 : st.st_size;
}

/*
 * Replays a recording. Each sample must have its own text. Returns the number of samples, and the
 * number of the first one.
 */
static unsigned samples_of(const char *path, unsigned *first)
{
	struct problems problems = {0};
	struct collector *c;
	struct sample sample;
	unsigned n = 0;

	assert_int_equal(collect_replay(&c, path, NULL, 0, &problems), 0);
	while (c->ops->next(c, &sample, &problems) == 1) {
		char text[TEXT], got[2 * TEXT];
		unsigned number = (unsigned)(sample.nodes->real_us / 1000000);
		struct input in;
		ssize_t len = 0, more;

		assert_true(sample.nodes->present);
		if (!n++)
			*first = number;
		assert_int_equal(
		    c->ops->open(c, sample.nodes, sample.nodes->spaces, FILE_LOCKING_STATE, &in),
		    0);
		while ((more = in.read(&in, got + len, sizeof(got) - 1 - (size_t)len)) > 0)
			len += more;
		in.close(&in);
		got[len] = '\0';
		make_text(text, number);
		assert_string_equal(got, text);
	}
	assert_int_equal(problems.count, 0);
	c->ops->close(c);
	return n;
}

static bool rig_says(const struct rig *r, const char *what)
{
	for (size_t i = 0; i < r->problems.kept; i++)
		if (strstr(r->problems.text[i], what))
			return true;
	return false;
}

/* ---- tests --------------------------------------------------------------------------------- */

/* Each file exceeds the limit by a frame at most, replays alone, and the set replays in order. */
static void a_set_is_bounded(void **state)
{
	struct rig r;
	char alone[160];
	unsigned first, last = 0, n = 0;

	(void)state;
	rig_begin(&r, LIMIT, 3);
	snprintf(alone, sizeof(alone), "%s/alone", r.folder);
	assert_int_equal(rig_sample(&r, 40), 0);
	assert_int_equal(r.problems.count, 0);
	assert_int_equal(size_of(rig_file(&r, 3)), -1);
	for (unsigned i = 3; i--;) {
		unsigned own;

		assert_in_range(size_of(rig_file(&r, i)), 1, LIMIT + FRAME_MOST);
		/* without its neighbours */
		assert_int_equal(rename(rig_file(&r, i), alone), 0);
		own = samples_of(alone, &first);
		assert_int_equal(rename(alone, rig_file(&r, i)), 0);
		assert_true(own > 0 && (i == 2 || first == last + 1));
		last = first + own - 1;
		n += own;
	}
	assert_int_equal(last, 40);
	assert_int_equal(samples_of(r.path, &first), n);
	assert_int_equal(first, 40 - n + 1);
	rig_end(&r);
}

/* One file is kept: it begins anew. A recorder that continues a full file rotates it. */
static void other_sets(void **state)
{
	struct rig r;
	unsigned first;

	(void)state;
	rig_begin(&r, LIMIT, 1);
	assert_int_equal(rig_sample(&r, 10), 0);
	assert_int_equal(size_of(rig_file(&r, 1)), -1);
	assert_in_range(size_of(r.path), 1, LIMIT + FRAME_MOST);
	rig_end(&r);

	rig_begin(&r, 0, 0);
	assert_int_equal(rig_sample(&r, 10), 0);
	r.recorder->ops->close(r.recorder);
	rig_open(&r, LIMIT, 2);
	assert_int_equal(rig_sample(&r, 1), 0);
	assert_int_equal(samples_of(rig_file(&r, 1), &first), 10);
	assert_int_equal(samples_of(r.path, &first), 11);
	rig_end(&r);
}

/* A rotation that was interrupted left a gap. No file is lost by the next rotation. */
static void a_gap_is_filled(void **state)
{
	struct rig r;
	unsigned first;

	(void)state;
	rig_begin(&r, LIMIT, 4);
	assert_int_equal(rig_sample(&r, 16), 0);
	assert_int_equal(size_of(rig_file(&r, 4)), -1);
	assert_true(size_of(rig_file(&r, 3)) > 0);
	unlink(rig_file(&r, 1));
	assert_true(samples_of(rig_file(&r, 3), &first) > 1);
	assert_int_equal(first, 1);
	assert_int_equal(rig_sample(&r, 2), 0);
	assert_true(size_of(rig_file(&r, 1)) > 0);
	samples_of(rig_file(&r, 3), &first);
	assert_int_equal(first, 1);
	samples_of(r.path, &first);
	assert_int_equal(first, 1);
	rig_end(&r);
}

/* A file that is no recording is never renamed or replaced. */
static void a_foreign_file_stays(void **state)
{
	struct rig r;
	FILE *f;

	(void)state;
	rig_begin(&r, LIMIT, 2);
	f = fopen(rig_file(&r, 1), "w");
	assert_non_null(f);
	fputs("this is another program's file\n", f);
	fclose(f);
	assert_int_equal(rig_sample(&r, 10), -EEXIST);
	assert_true(rig_says(&r, "rec.1: not a recording"));
	assert_int_equal(size_of(rig_file(&r, 1)), 31);
	unlink(rig_file(&r, 1));
	assert_int_equal(rig_sample(&r, 1), 0);
	assert_true(size_of(rig_file(&r, 1)) > 31);
	rig_end(&r);
}

/* logrotate renames the file and sends SIGHUP. It may also copy the file and cut it. */
static void reopened(void **state)
{
	struct rig r;
	char aside[160];
	unsigned first;

	(void)state;
	rig_begin(&r, 0, 0);
	snprintf(aside, sizeof(aside), "%s/aside", r.folder);
	assert_int_equal(rig_sample(&r, 3), 0);
	assert_int_equal(rename(r.path, aside), 0);
	assert_int_equal(rig_sample(&r, 1), 0);
	recorder_reopen(r.recorder);
	assert_int_equal(rig_sample(&r, 2), 0);
	assert_int_equal(samples_of(aside, &first), 4);
	assert_int_equal(samples_of(r.path, &first), 2);
	assert_int_equal(first, 5);
	assert_int_equal(truncate(r.path, 0), 0);
	assert_int_equal(rig_sample(&r, 2), 0);
	assert_int_equal(samples_of(r.path, &first), 2);
	assert_int_equal(first, 7);
	unlink(r.path);
	assert_int_equal(rig_sample(&r, 1), 0);
	assert_int_equal(samples_of(r.path, &first), 1);
	assert_int_equal(r.problems.count, 0);
	rig_end(&r);
}

/* A limit on the size of files stands for a full disk. */
static void disk_full(void **state)
{
	struct rig r;
	struct rlimit old, full;
	unsigned first;
	int error;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	rig_begin(&r, 0, 0);
	assert_int_equal(rig_sample(&r, 2), 0);
	getrlimit(RLIMIT_FSIZE, &old);
	full = old;
	full.rlim_cur = (rlim_t)size_of(r.path) + 100;
	setrlimit(RLIMIT_FSIZE, &full);
	assert_int_equal(rig_sample(&r, 3), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_true(rig_says(&r, "this sample is not recorded: File too large"));
	assert_string_equal(strrchr(r.banners.text[r.banners.n - 1], '/'),
			    "/rec lacks 3 samples: File too large");
	assert_int_equal(samples_of(r.path, &first), 2);
	assert_int_equal(rig_sample(&r, 2), 0);
	assert_int_equal(samples_of(r.path, &first), 4);
	assert_int_equal(recorder_missing(r.recorder, &error), 3);
	assert_int_equal(error, -EFBIG);

	/* not even the head of the file finds room */
	recorder_reopen(r.recorder);
	unlink(r.path);
	full.rlim_cur = 10;
	setrlimit(RLIMIT_FSIZE, &full);
	assert_int_equal(rig_sample(&r, 1), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(size_of(r.path), 0);
	assert_int_equal(rig_sample(&r, 1), 0);
	assert_int_equal(samples_of(r.path, &first), 1);
	rig_end(&r);
}

static void two_recorders(void **state)
{
	struct collector *second;
	unsigned first;
	struct rig r;

	(void)state;
	rig_begin(&r, 0, 0);
	assert_int_equal(rig_sample(&r, 2), 0);
	assert_int_equal(collect_recorder(&second, &r.from.collector,
					  &(struct record_options){.path = r.path}, &r.problems),
			 -EWOULDBLOCK);
	assert_true(rig_says(&r, "another o2top records into this file"));
	assert_int_equal(rig_sample(&r, 1), 0);
	assert_int_equal(samples_of(r.path, &first), 3);
	rig_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_set_is_bounded), cmocka_unit_test(other_sets),
	    cmocka_unit_test(a_gap_is_filled),  cmocka_unit_test(a_foreign_file_stays),
	    cmocka_unit_test(reopened),         cmocka_unit_test(disk_full),
	    cmocka_unit_test(two_recorders),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("rotate", tests, NULL, NULL);
}
