/* SPDX-License-Identifier: MIT */
/*
 * record.c - the recorder: a collector around another one that appends each sample to a file.
 *
 * Several threads read files at once, each of its own node. The bytes that a thread reads are
 * copied into a slot of its own. Only the list of slots has a lock.
 *
 * A key is written when the deltas since the last key add up to a few keys. Keys then cost a known
 * share of the file, and the bytes that a jump has to read are bounded.
 */
#include "record.h"

#include "delta.h"
#include "frames.h"
#include "o2top/base/clock.h"
#include "o2top/base/grow.h"
#include "o2top/collect/collect.h"
#include "paths_kept.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DELTAS_PER_KEY = 4, KEY_EVERY = 720 };

/* One file that was opened in this sample. */
struct copy {
	struct recorder *recorder;
	size_t node;
	size_t space; /* SIZE_MAX: a file of the node itself */
	enum file_kind kind;
	struct input inner;
	struct pack bytes;
	bool open, failed;
	int error; /* the negative errno that ended opening or reading */
};

struct recorder {
	struct collector collector;
	struct collector_ops ops;
	struct collector *inner;
	struct record_file file;
	size_t missing; /* samples that are not in the file */
	int error;      /* the last negative errno */
	pthread_mutex_t lock;
	struct sample sample;
	bool has_sample;
	struct copy **copies;
	size_t n_copies, room;
	struct streams streams;
	struct paths_kept paths;
	bool need_key;
	uint64_t key_bytes, delta_bytes;
	unsigned deltas;
};

/* ---- copying what is read ------------------------------------------------------------------ */

static ssize_t copy_read(struct input *in, void *buf, size_t size)
{
	struct copy *c = in->of;
	ssize_t n = c->inner.read(&c->inner, buf, size);

	if (n > 0)
		pack_bytes(&c->bytes, buf, (size_t)n);
	else if (n < 0)
		c->error = (int)n;
	return n;
}

static void copy_close(struct input *in)
{
	struct copy *c = in->of;

	c->inner.close(&c->inner);
	c->open = false;
}

static struct copy *new_copy(struct recorder *r, const struct node_sample *node,
			     const struct space_sample *space, enum file_kind kind)
{
	struct copy *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->recorder = r;
	c->node = (size_t)(node - r->sample.nodes);
	c->space = space ? (size_t)(space - node->spaces) : SIZE_MAX;
	c->kind = kind;
	pthread_mutex_lock(&r->lock);
	if (grow(&r->copies, r->n_copies, &r->room, sizeof(*r->copies))) {
		r->copies[r->n_copies++] = c;
	} else {
		free(c);
		c = NULL;
	}
	pthread_mutex_unlock(&r->lock);
	return c;
}

static int recorder_open(struct collector *collector, const struct node_sample *node,
			 const struct space_sample *space, enum file_kind kind, struct input *in)
{
	struct recorder *r = (struct recorder *)collector;
	struct copy *c;
	int err = r->inner->ops->open(r->inner, node, space, kind, in);

	if (err == -ENOENT)
		return err;
	c = new_copy(r, node, space, kind);
	/* A file that cannot be recorded can still be shown. */
	if (!c)
		return err;
	c->error = err;
	if (err)
		return err;
	c->inner = *in;
	c->open = true;
	in->read = copy_read;
	in->close = copy_close;
	in->of = c;
	in->fd = -1;
	return 0;
}

static void forget_copies(struct recorder *r)
{
	for (size_t i = 0; i < r->n_copies; i++) {
		pack_free(&r->copies[i]->bytes);
		free(r->copies[i]);
	}
	r->n_copies = 0;
}

/* ---- writing a sample ---------------------------------------------------------------------- */

static bool same_file(const struct copy *a, const struct copy *b)
{
	return a->node == b->node && a->space == b->space && a->kind == b->kind;
}

/* Returns whether this copy is the longest one of its file, because a file may be opened twice. */
static bool is_best(const struct recorder *r, size_t i)
{
	const struct copy *c = r->copies[i];

	for (size_t j = 0; j < r->n_copies; j++)
		if (j != i && same_file(c, r->copies[j]) &&
		    (r->copies[j]->bytes.n > c->bytes.n ||
		     (r->copies[j]->bytes.n == c->bytes.n && j < i)))
			return false;
	return true;
}

static void pack_head(struct pack *p, const struct node_sample *n)
{
	pack_string(p, n->name);
	pack_number(p, (unsigned)n->present | (unsigned)n->has_clock << 1);
	pack_signed(p, n->real_us);
	pack_signed(p, n->mono_us);
	pack_string(p, n->state < NODE_STATE_MAX ? node_state_names[n->state] : NULL);
	pack_string(p, n->why);
	pack_signed(p, (int64_t)(1e6 * n->silent_s));
	/* A replay only needs the time that the answer took. */
	pack_signed(p, (int64_t)(1e6 * max_s(n->took_s, n->late_s)));
	pack_number(p, n->bytes);
	pack_signed(p, (int64_t)(1e6 * n->skew_s));
	pack_number(p, n->n_spaces);
	for (size_t i = 0; i < n->n_spaces; i++) {
		pack_number(p, (uint64_t)n->spaces[i].fs);
		pack_string(p, n->spaces[i].name);
		pack_string(p, n->spaces[i].mount);
	}
}

static int pack_file(struct recorder *r, const struct copy *c, struct pack *meta, struct delta *out)
{
	const struct node_sample *n = &r->sample.nodes[c->node];
	const struct space_sample *space = c->space < n->n_spaces ? &n->spaces[c->space] : NULL;
	const char *kind = kind_names[c->kind];
	struct known *known = stream_known(&r->streams, n->name, space ? space->fs : FS_OCFS2,
					   space ? space->name : "", kind);

	if (!known || c->bytes.failed)
		return -ENOMEM;
	pack_number(meta, space ? c->space + 1 : 0);
	pack_string(meta, kind);
	pack_signed(meta, c->error);
	return delta_write(known, (const char *)c->bytes.data, c->bytes.n, out);
}

/*
 * Puts all paths that the nodes have found so far in place of those that came with this sample,
 * because a replay may begin later. A path that is not kept costs the replay a name, no more.
 */
static void keep_paths(struct recorder *r)
{
	for (size_t i = 0; i < r->sample.n_nodes; i++) {
		const struct node_sample *node = &r->sample.nodes[i];
		const struct buffer *kept;
		struct copy *copy = NULL;

		for (size_t j = 0; j < r->n_copies; j++)
			if (r->copies[j]->node == i && r->copies[j]->kind == FILE_PATHS &&
			    is_best(r, j))
				copy = r->copies[j];
		if (!node->present || (copy && copy->open))
			continue;
		kept = paths_kept_add(&r->paths, node->name,
				      copy ? (const char *)copy->bytes.data : "",
				      copy ? copy->bytes.n : 0);
		if (kept && !copy)
			copy = new_copy(r, node, NULL, FILE_PATHS);
		if (!kept || !copy)
			continue;
		pack_free(&copy->bytes);
		copy->error = 0;
		pack_bytes(&copy->bytes, kept->data, kept->len);
	}
}

static int pack_sample(struct recorder *r, struct pack *meta, struct delta *out)
{
	int err = 0;

	pack_string(meta, r->sample.label);
	pack_number(meta, r->sample.n_nodes);
	for (size_t i = 0; i < r->sample.n_nodes && !err; i++) {
		uint64_t files = 0;

		pack_head(meta, &r->sample.nodes[i]);
		for (size_t j = 0; j < r->n_copies; j++)
			files += r->copies[j]->node == i && is_best(r, j);
		pack_number(meta, files);
		for (size_t j = 0; j < r->n_copies && !err; j++)
			if (r->copies[j]->node == i && is_best(r, j))
				err = pack_file(r, r->copies[j], meta, out);
	}
	return err;
}

/* Returns when a sample was made, by the nodes' clocks, or by this machine's clock. */
static int64_t time_of(const struct sample *sample)
{
	int64_t *clocks = calloc(sample->n_nodes + 1, sizeof(*clocks)), time;
	struct timespec ts;
	size_t n = 0;

	for (size_t i = 0; i < sample->n_nodes && clocks; i++)
		if (sample->nodes[i].present && sample->nodes[i].has_clock)
			clocks[n++] = sample->nodes[i].real_us;
	time = sample_time(clocks, n);
	free(clocks);
	if (time != INT64_MIN)
		return time;
	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static bool key_is_due(const struct recorder *r)
{
	size_t units = 0, absent = 0;

	for (size_t i = 0; i < r->streams.n; i++)
		stream_size(&r->streams, i, &units, &absent);
	return r->need_key || r->deltas >= KEY_EVERY ||
	       r->delta_bytes > DELTAS_PER_KEY * r->key_bytes || absent > units / 2 + 1000;
}

static int write_sample(struct recorder *r, struct problems *problems)
{
	struct pack meta = {0}, all = {0};
	struct delta d = {0};
	struct pack *columns[] = {&meta, &d.runs, &d.gaps, &d.numbers, &d.text};
	int ready = record_file_ready(&r->file, problems);
	bool key = ready > 0 || key_is_due(r);
	ssize_t n;

	if (ready < 0) {
		r->need_key = true;
		return ready;
	}
	if (key)
		streams_forget(&r->streams);
	keep_paths(r);
	n = pack_sample(r, &meta, &d);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		pack_number(&all, columns[i]->n);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		pack_bytes(&all, columns[i]->data, columns[i]->n);
	if (!n && (all.failed || meta.failed))
		n = -ENOMEM;
	if (!n)
		n = record_file_append(&r->file, key ? FRAME_KEY : FRAME_DELTA, time_of(&r->sample),
				       &all);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		pack_free(columns[i]);
	pack_free(&all);
	/*
	 * After an error, the known texts are not those in the file. The next sample begins anew
	 * with a key.
	 */
	r->need_key = n < 0;
	if (n < 0)
		return (int)n;
	r->deltas = key ? 0 : r->deltas + 1;
	r->delta_bytes = key ? 0 : r->delta_bytes + (uint64_t)n;
	if (key)
		r->key_bytes = (uint64_t)n;
	return 0;
}

int recorder_sampled(void *collector, struct problems *problems, struct banners *banners)
{
	struct recorder *r = collector;
	size_t before = problems->count;
	int err;

	if (!r->has_sample)
		return 0;
	r->has_sample = false;
	err = write_sample(r, problems);
	forget_copies(r);
	if (!err)
		return 0;
	r->missing++;
	r->error = err;
	if (problems->count == before)
		problem(problems, r->file.path, 0, "this sample is not recorded: %s",
			strerror(-err));
	banner(banners, "%s lacks %zu sample%s: %s", r->file.path, r->missing,
	       r->missing == 1 ? "" : "s", strerror(-err));
	return err;
}

void recorder_reopen(struct collector *collector)
{
	((struct recorder *)collector)->file.again = true;
}

size_t recorder_missing(const struct collector *collector, int *error)
{
	const struct recorder *r = (const struct recorder *)collector;

	*error = r->error;
	return r->missing;
}

/* ---- the collector ------------------------------------------------------------------------- */

static int recorder_next(struct collector *collector, struct sample *out, struct problems *problems)
{
	struct recorder *r = (struct recorder *)collector;
	int got = r->inner->ops->next(r->inner, out, problems);

	forget_copies(r);
	r->has_sample = got > 0;
	if (got > 0)
		r->sample = *out;
	return got;
}

static int recorder_ask(struct collector *collector)
{
	struct recorder *r = (struct recorder *)collector;

	return r->inner->ops->ask(r->inner);
}

static int recorder_fd(struct collector *collector)
{
	struct recorder *r = (struct recorder *)collector;

	return r->inner->ops->fd(r->inner);
}

static int recorder_deepen(struct collector *collector, bool on)
{
	struct recorder *r = (struct recorder *)collector;

	return r->inner->ops->deepen(r->inner, on);
}

static int recorder_look_up(struct collector *collector, const struct node_sample *node,
			    const char *space, const char *mount, const char *inodes)
{
	struct recorder *r = (struct recorder *)collector;

	return r->inner->ops->look_up(r->inner, node, space, mount, inodes);
}

static void recorder_close(struct collector *collector)
{
	struct recorder *r = (struct recorder *)collector;

	if (r->inner)
		r->inner->ops->close(r->inner);
	forget_copies(r);
	free(r->copies);
	paths_kept_free(&r->paths);
	streams_free(&r->streams);
	pthread_mutex_destroy(&r->lock);
	record_file_close(&r->file);
	free(r);
}

int collect_recorder(struct collector **out, struct collector *inner,
		     const struct record_options *o, struct problems *problems)
{
	struct recorder *r = calloc(1, sizeof(*r));
	int err;

	if (!r) {
		problem(problems, o->path, 0, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	pthread_mutex_init(&r->lock, NULL);
	err = record_file_open(&r->file, o, problems);
	if (err) {
		recorder_close(&r->collector);
		return err;
	}
	r->need_key = true;
	r->inner = inner;
	r->ops = (struct collector_ops){.next = recorder_next,
					.open = recorder_open,
					.close = recorder_close,
					.live = inner->ops->live,
					.ask = inner->ops->ask ? recorder_ask : NULL,
					.fd = inner->ops->fd ? recorder_fd : NULL,
					.deepen = inner->ops->deepen ? recorder_deepen : NULL,
					.look_up = inner->ops->look_up ? recorder_look_up : NULL};
	r->collector.ops = &r->ops;
	*out = &r->collector;
	return 0;
}
