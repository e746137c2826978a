/* SPDX-License-Identifier: MIT */
/*
 * bench_o2top.c - measures the time of o2top's parts on given files, in one thread.
 *
 *   bench_o2top lines FILE      input_lines() alone
 *   bench_o2top parse FILE      ocfs2_line_parse() alone, the file in memory
 *   bench_o2top shots FILE      input_lines(), ocfs2_line_parse() and a struct ocfs2_shot; the
 *                               limit is for this part
 *   bench_o2top take FOLDER     a recording's samples into tables, sample by sample
 *
 * The program prints "WHAT seconds N lines M bad". For take, it prints a line a sample, also with
 * the sample's calls of malloc and the like and the tables' bytes. The build wraps these calls with
 * --wrap. Calls inside libc are not seen.
 */
#include "o2top/base/clock.h"
#include "o2top/collect/collect.h"
#include "o2top/model/model.h"
#include "o2top/sources/lines/ocfs2_line.h"
#include "o2top/sources/sources.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- counting calls of malloc -------------------------------------------------------------- */

static atomic_size_t calls;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_reallocarray(void *p, size_t n, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size);

void *__wrap_malloc(size_t size)
{
	atomic_fetch_add(&calls, 1);
	return __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	atomic_fetch_add(&calls, 1);
	return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	atomic_fetch_add(&calls, 1);
	return __real_realloc(p, size);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	atomic_fetch_add(&calls, 1);
	return __real_reallocarray(p, n, size);
}

/* ---- lines --------------------------------------------------------------------------------- */

struct counts {
	size_t lines, bad;
	uint64_t sum; /* uses the result, so that the compiler omits no work */
	struct ocfs2_shot shot;
};

static bool count_line(void *arg, const char *text, size_t len, size_t number, bool complete)
{
	struct counts *c = arg;

	(void)number;
	(void)complete;
	c->lines++;
	c->sum += len + (unsigned char)*text;
	return true;
}

/* Works as ocfs2.c does, without the table. */
static bool shot_line(void *arg, const char *text, size_t len, size_t number, bool complete)
{
	struct counts *c = arg;
	struct ocfs2_shot *s = &c->shot;
	struct ocfs2_line l;

	(void)number;
	c->lines++;
	if (ocfs2_line_parse(&l, text, len, complete)) {
		c->bad++;
		return true;
	}
	for (int m = 0; m < 2; m++) {
		s->total_ns[m] = l.total_ns[m];
		s->last_us[m] = l.last_us[m];
		s->gets[m] = l.gets[m];
		s->fails[m] = l.fails[m];
		s->max_us[m] = l.version < 3 ? l.max[m] / 1000 : l.max[m];
		s->holders[m] = l.holders[m];
	}
	s->wait_us = l.wait_us;
	s->flags = (uint16_t)l.flags;
	s->level = (int8_t)l.level;
	s->requested = (int8_t)l.requested;
	s->blocking = (int8_t)l.blocking;
	s->action = (uint8_t)l.action;
	c->sum += s->total_ns[0] + s->last_us[1] + l.id.number + l.lvb[47];
	return true;
}

static int print_time(const char *what, double seconds, const struct counts *c)
{
	printf("%s %.6f %zu lines %zu bad\n", what, seconds, c->lines, c->bad);
	return c->sum == 42; /* never */
}

static int read_lines(const char *what, const char *path, input_line_fn *each)
{
	struct counts c = {0};
	struct input in;
	double begin = now_s();
	int err = input_open_path(&in, path, path);

	err = err ? err : input_lines(&in, each, &c);
	if (err) {
		fprintf(stderr, "bench_o2top: %s: %s\n", path, strerror(-err));
		return 1;
	}
	return print_time(what, now_s() - begin, &c);
}

/* Parses a part of the file that fits into the cache, again and again. Nothing else runs. */
static int parse_only(const char *path)
{
	enum { PIECE = 1 << 20, ROUNDS = 200 };
	char *text = malloc(PIECE);
	struct counts c = {0};
	FILE *f = fopen(path, "r");
	size_t size = f && text ? fread(text, 1, PIECE, f) : 0;
	double begin;

	if (f)
		fclose(f);
	if (!size) {
		fprintf(stderr, "bench_o2top: %s: cannot be read\n", path);
		free(text);
		return 1;
	}
	begin = now_s();
	for (int i = 0; i < ROUNDS; i++)
		for (const char *p = text, *nl; (nl = memchr(p, '\n', (size_t)(text + size - p)));
		     p = nl + 1)
			shot_line(&c, p, (size_t)(nl - p), 0, true);
	print_time("parse", now_s() - begin, &c);
	free(text);
	return 0;
}

/* ---- samples ------------------------------------------------------------------------------- */

static size_t bytes_of(const struct model *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n_nodes; i++)
		for (size_t j = 0; j < m->nodes[i].n_spaces; j++)
			if (m->nodes[i].spaces[j])
				n += table_bytes(&m->nodes[i].spaces[j]->table);
	return n;
}

static size_t lines_of(const struct model *m, size_t *active)
{
	size_t n = 0;

	*active = 0;
	for (size_t i = 0; i < m->n_nodes; i++)
		for (size_t j = 0; j < m->nodes[i].n_spaces; j++) {
			const struct node_space *ns = m->nodes[i].spaces[j];

			n += ns ? ns->lines : 0;
			*active += ns ? ns->table.n_active : 0;
		}
	return n;
}

static int take(char *folder)
{
	struct model m = {.sources = source_list, .threads = 1};
	struct problems problems = {0};
	struct collector *c = NULL;
	struct sample sample;
	int err = collect_recording(&c, &folder, 1, NULL, 0, false, &problems);

	while (!err && c->ops->next(c, &sample, &problems) > 0) {
		size_t before = atomic_load(&calls), n, active;
		double begin = now_s();

		err = model_sample(&m, c, &sample);
		n = lines_of(&m, &active);
		printf("take %.6f %zu lines %zu bad %zu active %zu allocations %zu bytes\n",
		       now_s() - begin, n, m.problems.bad_lines, active,
		       atomic_load(&calls) - before, bytes_of(&m));
	}
	if (err)
		fprintf(stderr, "bench_o2top: %s: %s\n", folder, strerror(-err));
	if (c)
		c->ops->close(c);
	problems_clear(&problems);
	model_free(&m);
	return err != 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "lines") == 0)
		return read_lines("lines", argv[2], count_line);
	if (argc == 3 && strcmp(argv[1], "shots") == 0)
		return read_lines("shots", argv[2], shot_line);
	if (argc == 3 && strcmp(argv[1], "parse") == 0)
		return parse_only(argv[2]);
	if (argc == 3 && strcmp(argv[1], "take") == 0)
		return take(argv[2]);
	fprintf(stderr, "usage: bench_o2top lines|parse|shots FILE | take FOLDER\n");
	return 2;
}
