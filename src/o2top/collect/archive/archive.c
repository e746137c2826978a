/* SPDX-License-Identifier: MIT */
/*
 * archive.c - reads support archives and texts into memory, and gives them as samples.
 *
 * Each host has its visits, which are its files of one time. A visit belongs to the sample of its
 * run. The visits of a host without a run follow each other by their time.
 */
#include "archive.h"

#include "archive_impl.h"
#include "o2top/collect/collect.h"
#include "o2top/collect/forms/forms.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 256 * 1024, LINE_MOST = 64 * 1024, HEAD = 4096 };

/* All files together keep at most this, and one text is read so far. */
#define KEPT_MOST ((size_t)256 << 20)
#define TEXT_MOST ((size_t)512 << 20)

struct archives {
	struct collector collector;
	struct visits visits;
	struct problems *problems;
	const char *given;   /* the path that is being read, without an archive's ending */
	struct place_in now; /* the file that is being read */
	size_t source, kept;
	struct buffer scratch;
	size_t known; /* files of a known form */
	bool single;  /* one path was given */
	/* samples: for each visit its sample, in order */
	size_t *step_of;
	char **labels;
	size_t n_steps, at;
	struct node_sample *nodes;
	char **hosts;
	size_t n_hosts;
	char *const *only;
	size_t n_only;
};

/* ---- reading a file ------------------------------------------------------------------------ */

/*
 * Returns whether the end of what was read is still text of the kernel: no zero byte, and no line
 * longer than LINE_MOST. `from` is the part that is new. Cuts off what is none.
 */
static bool is_text(struct buffer *b, size_t from, size_t *line)
{
	char *zero = memchr(b->data + from, '\0', b->len - from), *nl;

	if (zero)
		b->len = (size_t)(zero - b->data);
	while ((nl = memchr(b->data + *line, '\n', b->len - *line)) &&
	       nl - (b->data + *line) <= LINE_MOST)
		*line = (size_t)(nl - b->data) + 1;
	return !zero && b->len - *line <= LINE_MOST;
}

/*
 * Reads a file to its end, and not by the size that its header tells. Returns 0 or a negative
 * errno: -EFBIG if all files together are too long, -EILSEQ if the rest is no text.
 */
static int read_whole(struct archives *a, struct walk_file *f, struct buffer *to)
{
	static char block[BLOCK];
	size_t line = 0;
	ssize_t n;

	while ((n = f->read(f, block, sizeof(block))) > 0) {
		if (a->kept + (size_t)n > KEPT_MOST)
			return -EFBIG;
		a->kept += (size_t)n;
		if (buffer_add(to, block, (size_t)n))
			return -ENOMEM;
		if (!is_text(to, to->len - (size_t)n, &line))
			return -EILSEQ;
	}
	return (int)n;
}

static struct visit *visit_now(struct archives *a, const char *host)
{
	const struct place_in *p = &a->now;

	return visit_of(&a->visits, p->prefix, *host ? host : *p->host ? p->host : "node", p->run);
}

/* Gives a form the text of a file to add to. */
static struct buffer *form_file(struct forms *f, enum fs_kind fs, const char *space,
				enum file_kind kind)
{
	struct archives *a = f->arg;
	struct visit *v = visit_now(a, f->host);
	struct visit_file *file = v ? visit_file(v, fs, *space ? space : NULL, kind) : NULL;

	if (!file)
		return NULL;
	if (!file->source || (a->now.is_list && !file->is_list && !file->has_stamps)) {
		file->source = a->source;
		file->is_list = a->now.is_list;
		file->text.len = 0;
	}
	if (f->up_assumed && v->mono_us < 0) {
		v->mono_us = f->up_us;
		v->up_assumed = true;
	}
	if (f->mono_us >= 0) {
		v->mono_us = f->mono_us;
		v->up_assumed = false;
		v->has_clock |= f->real_us >= 0;
	}
	if (f->real_us >= 0) {
		v->real_us = f->real_us;
		v->has_clock = true;
	}
	/* Another file of the archive has told this already. */
	if (file->source != a->source || a->kept > KEPT_MOST) {
		a->scratch.len = 0;
		return &a->scratch;
	}
	return &file->text;
}

/* Hands the lines of a block to the forms. Returns the bytes that are left over, or -errno. */
static ssize_t text_lines(struct forms *forms, char *text, size_t len)
{
	char *p = text, *end = text + len, *nl;
	int err = 0;

	while (!err && (nl = memchr(p, '\n', (size_t)(end - p)))) {
		err = forms_line(forms, p, (size_t)(nl - p));
		p = nl + 1;
	}
	if (err)
		return err;
	if (end - p > LINE_MOST)
		return 0;
	memmove(text, p, (size_t)(end - p));
	return end - p;
}

static bool is_binary(const char *text, size_t n)
{
	return memchr(text, '\0', n < HEAD ? n : HEAD) != NULL;
}

/* Looks for known forms in the lines of a text. */
static int read_text(struct archives *a, struct walk_file *f)
{
	char *text = malloc(BLOCK + LINE_MOST);
	struct forms forms;
	size_t left = 0, all = 0;
	ssize_t n = text ? 0 : -ENOMEM, got = 0;

	forms_init(&forms);
	forms.arg = a;
	forms.file = form_file;
	if (a->now.what == PLACE_LOCKS) {
		const struct visit *v = visit_now(a, "");

		forms_copy(forms.dlm, a->now.space, strlen(a->now.space));
		forms.up_us = v && !v->up_assumed ? v->mono_us : -1;
	} else if (a->now.has_space) {
		forms_copy(a->now.fs == FS_OCFS2 ? forms.uuid : forms.table, a->now.space,
			   strlen(a->now.space));
	}
	while (text && (n = f->read(f, text + left, BLOCK)) > 0 && all < TEXT_MOST) {
		if (!all && is_binary(text, (size_t)n))
			break;
		all += (size_t)n;
		got = text_lines(&forms, text, left + (size_t)n);
		if (got < 0)
			break;
		left = (size_t)got;
	}
	if (n == 0 && got >= 0 && left)
		got = forms_line(&forms, text, left);
	if (got >= 0)
		got = forms_end(&forms);
	a->known += forms.taken > 0;
	forms_free(&forms);
	free(text);
	return got < 0 ? (int)got : n < 0 ? (int)n : 0;
}

static int read_kernel_file(struct archives *a, struct walk_file *f)
{
	struct visit *v = visit_now(a, "");
	struct visit_file *file =
	    v ? visit_file(v, a->now.fs, a->now.has_space ? a->now.space : NULL, a->now.kind)
	      : NULL;
	int err;

	if (!file)
		return -ENOMEM;
	v->kernel = true;
	file->has_stamps = a->now.kind == FILE_DLM_ALL || a->now.kind == FILE_TRACE;
	file->source = a->source;
	file->text.len = 0;
	err = read_whole(a, f, &file->text);
	a->known++;
	if (err == -EFBIG)
		problem(a->problems, f->path, 0, "more than %zu MiB in all: o2top skips the rest",
			KEPT_MOST >> 20);
	if (err == -EILSEQ)
		problem(a->problems, f->path, 0,
			"zero bytes, or a line of more than %d KiB: o2top skips the rest",
			LINE_MOST >> 10);
	return err == -EFBIG || err == -EILSEQ ? 0 : err;
}

/* ---- one file ------------------------------------------------------------------------------ */

static int take_file(void *arg, struct walk_file *f)
{
	struct archives *a = arg;
	struct visit *v;
	char folder[PATH_MAX];

	a->source++;
	if (f->alone) {
		snprintf(folder, sizeof(folder), "%s", a->given);
		*strrchr(folder, '/') = '\0';
		place_of(&a->now, folder, f->path);
		/* a folder's name is no host's if there is nothing to tell apart */
		if (a->now.guessed && a->single)
			*a->now.host = '\0';
	} else {
		place_of(&a->now, a->given, f->path);
	}
	switch (a->now.what) {
	case PLACE_SKIP:
	case PLACE_HOSTNAME:
		return 0;
	case PLACE_KERNEL:
		return read_kernel_file(a, f);
	case PLACE_TEXT:
	case PLACE_LOCKS:
		return read_text(a, f);
	default:
		v = visit_now(a, "");
		return v ? facts_take(v, a->now.what, f) : -ENOMEM;
	}
}

/* ---- samples ------------------------------------------------------------------------------- */

/* Orders visits by run, then by time. */
static int by_time(const void *x, const void *y)
{
	const struct visit *a = x, *b = y;
	int run = strverscmp(a->run, b->run);

	if (run)
		return run;
	if (a->has_clock && b->has_clock && a->real_us != b->real_us)
		return a->real_us < b->real_us ? -1 : 1;
	return strverscmp(a->prefix, b->prefix);
}

static bool same_host(const struct visit *a, const struct visit *b)
{
	return strcmp(a->host, b->host) == 0;
}

/*
 * Gives each visit a sample: the runs in order, and in each the visits of one host one after the
 * other. Two visits of one host need a time, because their order is not known without one.
 */
static int make_steps(struct archives *a)
{
	struct visit *list = a->visits.list;
	size_t n = a->visits.n, base = 0;

	qsort(list, n, sizeof(*list), by_time);
	a->step_of = calloc(n + 1, sizeof(*a->step_of));
	a->labels = calloc(n + 1, sizeof(*a->labels));
	if (!a->step_of || !a->labels)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		size_t nth = 0;

		if (i && strcmp(list[i].run, list[i - 1].run) != 0)
			base = a->n_steps;
		for (size_t j = 0; j < i; j++) {
			if (strcmp(list[j].run, list[i].run) != 0 || !same_host(&list[i], &list[j]))
				continue;
			nth++;
			if (list[i].has_clock && list[j].has_clock)
				continue;
			problem(a->problems, list[i].prefix, 0,
				"and %s may be two times of one node or two nodes, and nothing "
				"tells which: name the folders by host, or give one of them",
				list[j].prefix);
			return -EINVAL;
		}
		a->step_of[i] = base + nth;
		if (a->step_of[i] >= a->n_steps) {
			a->labels[a->n_steps] = strdup(list[i].run);
			if (!a->labels[a->n_steps++])
				return -ENOMEM;
		}
	}
	return 0;
}

static int make_hosts(struct archives *a)
{
	size_t n = a->visits.n;

	a->hosts = calloc(n + 1, sizeof(*a->hosts));
	a->nodes = calloc(n + 1, sizeof(*a->nodes));
	if (!a->hosts || !a->nodes)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		char *host = a->visits.list[i].host;
		size_t j = 0;

		while (j < a->n_hosts && strcmp(a->hosts[j], host) != 0)
			j++;
		if (j == a->n_hosts && collect_wants(a->only, a->n_only, host))
			a->hosts[a->n_hosts++] = host;
	}
	return 0;
}

static int archive_next(struct collector *c, struct sample *out, struct problems *problems)
{
	struct archives *a = (struct archives *)c;
	size_t step = a->at;

	(void)problems;
	if (step >= a->n_steps)
		return 0;
	a->at++;
	for (size_t i = 0; i < a->n_hosts; i++) {
		struct node_sample *node = &a->nodes[i];

		*node = (struct node_sample){.name = a->hosts[i], .mono_us = -1};
		for (size_t j = 0; j < a->visits.n; j++) {
			struct visit *v = &a->visits.list[j];

			if (a->step_of[j] != step || strcmp(v->host, node->name) != 0)
				continue;
			node->present = true;
			node->has_clock = v->has_clock;
			node->real_us = v->real_us;
			node->mono_us = v->mono_us;
			node->n_spaces = v->n_spaces;
			node->spaces = v->spaces;
			node->place = v;
		}
	}
	*out = (struct sample){.label = a->labels[step], .n_nodes = a->n_hosts, .nodes = a->nodes};
	return 1;
}

static int archive_open(struct collector *c, const struct node_sample *node,
			const struct space_sample *space, enum file_kind kind, struct input *in)
{
	const struct visit *v = node->place;
	bool of_node = kind == FILE_TRACE || kind == FILE_TASKS || kind == FILE_IDS ||
		       kind == FILE_PATHS || kind == FILE_PLOCKS || kind == FILE_DAEMONS;
	const struct visit_file *f = v ? visit_find(v, space ? space->fs : FS_GFS2,
						    of_node || !space ? NULL : space->name, kind)
				       : NULL;
	char label[INPUT_LABEL_MAX];

	(void)c;
	if (!f)
		return -ENOENT;
	snprintf(label, sizeof(label), "%.100s/%.200s/%s", v->host, f->space ? f->space : "",
		 kind_names[kind]);
	input_open_memory(in, f->text.data, f->text.len, label);
	in->crlf = true;
	return 0;
}

static void archive_close(struct collector *c)
{
	struct archives *a = (struct archives *)c;

	visits_free(&a->visits);
	for (size_t i = 0; i < a->n_steps; i++)
		free(a->labels[i]);
	free(a->labels);
	free(a->step_of);
	free(a->nodes);
	free(a->hosts);
	free(a->scratch.data);
	free(a);
}

static size_t archive_count(struct collector *c)
{
	return ((struct archives *)c)->n_steps;
}

static int64_t archive_time(struct collector *c, size_t i)
{
	struct archives *a = (struct archives *)c;

	for (size_t j = 0; j < a->visits.n; j++)
		if (a->step_of[j] == i && a->visits.list[j].has_clock)
			return a->visits.list[j].real_us;
	return INT64_MIN;
}

static void archive_seek(struct collector *c, size_t i)
{
	struct archives *a = (struct archives *)c;

	a->at = i < a->n_steps ? i : a->n_steps;
}

static const struct collector_ops archive_ops = {
    .next = archive_next, .open = archive_open, .close = archive_close};
static const struct replay_ops archive_replay = {archive_count, archive_time, archive_seek};

/* ---- opening ------------------------------------------------------------------------------- */

/* Removes the ending of an archive from its path, because the rest may be a host's name. */
static void cut_ending(char *path)
{
	static const char *const endings[] = {".gz",  ".bz2", ".xz",  ".zst", ".tgz",
					      ".txz", ".tbz", ".tar", ".cpio"};
	bool again = true;

	while (again) {
		size_t len = strlen(path);

		again = false;
		for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
			size_t n = strlen(endings[i]);

			if (len > n && strcmp(path + len - n, endings[i]) == 0) {
				path[len - n] = '\0';
				again = true;
				break;
			}
		}
	}
}

static int add_path(struct archives *a, const char *given)
{
	struct walk walk = {.each = take_file, .arg = a, .problems = a->problems};
	char *whole = realpath(given, NULL);
	int err = whole ? 0 : -errno;

	if (whole) {
		cut_ending(whole);
		a->given = whole;
		err = walk_path(&walk, given);
		free(whole);
	}
	if (err && err != -EINVAL)
		problem(a->problems, given, 0, "%s", strerror(-err));
	return err;
}

int collect_archive(struct collector **out, char *const *paths, size_t n_paths, char *const *only,
		    size_t n_only, struct problems *problems)
{
	struct archives *a = calloc(1, sizeof(*a));
	int err = a ? 0 : -ENOMEM;

	if (!a)
		return err;
	a->collector.ops = &archive_ops;
	a->collector.replay = &archive_replay;
	a->problems = problems;
	a->only = only;
	a->n_only = n_only;
	a->single = n_paths == 1;
	for (size_t i = 0; i < n_paths && !err; i++)
		err = add_path(a, paths[i]);
	err = err ? err : visits_complete(&a->visits, problems);
	if (!err && !a->visits.n)
		err = a->known ? -ENODATA : -ENOMSG;
	err = err ? err : make_steps(a);
	err = err ? err : make_hosts(a);
	if (err) {
		archive_close(&a->collector);
		return err;
	}
	a->problems = NULL;
	*out = &a->collector;
	return 0;
}
