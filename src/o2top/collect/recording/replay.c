/* SPDX-License-Identifier: MIT */
/*
 * replay.c - the collector that reads a recording in one file.
 *
 * Each requested sample is made from the key before it and the changes since. A step by one takes
 * only one change.
 *
 * Nothing in the file is trusted. If a sample cannot be made, the sample and those that need it
 * appear as samples without a usable node. So later samples keep their place.
 */
#include "record.h"

#include "delta.h"
#include "frames.h"
#include "o2top/base/grow.h"
#include "o2top/collect/collect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A damaged head must not take all memory. */
enum { NODES_MOST = 4096, SPACES_MOST = 65536 };

/* A file of the present sample. */
struct recorded {
	size_t node, space;
	enum file_kind kind;
	int error;
	char *text;
	size_t len;
};

struct replay {
	struct collector collector;
	struct frames frames;
	char *const *only;
	size_t n_only;
	size_t at; /* the next sample */
	/* the streams know the samples up to `made`; SIZE_MAX: none */
	struct streams streams;
	size_t made;
	bool lost; /* the known texts are wrong until the next key */
	/* the present sample */
	char *label;
	struct node_sample *nodes;
	size_t n_nodes;
	struct recorded *files;
	size_t n_files, room_files;
	char **names; /* of nodes, for samples that cannot be made */
	size_t n_names;
};

/* ---- a sample's memory --------------------------------------------------------------------- */

static void forget_sample(struct replay *r)
{
	for (size_t i = 0; i < r->n_nodes; i++) {
		for (size_t j = 0; j < r->nodes[i].n_spaces; j++) {
			free(r->nodes[i].spaces[j].name);
			free(r->nodes[i].spaces[j].mount);
		}
		free(r->nodes[i].spaces);
		free((char *)r->nodes[i].name);
		free((char *)r->nodes[i].why);
	}
	free(r->nodes);
	for (size_t i = 0; i < r->n_files; i++)
		free(r->files[i].text);
	free(r->label);
	r->nodes = NULL;
	r->label = NULL;
	r->n_nodes = r->n_files = 0;
}

static int keep_name(struct replay *r, const char *name)
{
	char **more;

	for (size_t i = 0; i < r->n_names; i++)
		if (strcmp(r->names[i], name) == 0)
			return 0;
	more = reallocarray(r->names, r->n_names + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	r->names = more;
	more[r->n_names] = strdup(name);
	if (!more[r->n_names])
		return -ENOMEM;
	r->n_names++;
	return 0;
}

/* ---- reading a sample ---------------------------------------------------------------------- */

static int read_spaces(struct unpack *u, struct node_sample *n)
{
	uint64_t count = unpack_number(u);
	bool failed = false;

	if (u->bad || count > SPACES_MOST || count > (size_t)(u->end - u->at))
		return -EBADMSG;
	n->spaces = calloc((size_t)count + 1, sizeof(*n->spaces));
	if (!n->spaces)
		return -ENOMEM;
	for (; n->n_spaces < count; n->n_spaces++) {
		struct space_sample *s = &n->spaces[n->n_spaces];
		uint64_t fs = unpack_number(u);

		s->fs = (enum fs_kind)fs;
		s->name = unpack_string(u, &failed);
		s->mount = unpack_string(u, &failed);
		if (failed || u->bad || fs >= FS_KINDS || !s->name) {
			n->n_spaces++;
			return failed ? -ENOMEM : -EBADMSG;
		}
	}
	return 0;
}

static enum node_state state_named(const char *name)
{
	for (int i = 0; name && i < NODE_STATE_MAX; i++)
		if (strcmp(node_state_names[i], name) == 0)
			return (enum node_state)i;
	return NODE_OK;
}

static int read_head(struct unpack *u, struct node_sample *n)
{
	bool failed = false;
	uint64_t flags;
	char *state;

	n->name = unpack_string(u, &failed);
	flags = unpack_number(u);
	n->present = flags & 1;
	n->has_clock = flags & 2;
	n->real_us = unpack_signed(u);
	n->mono_us = unpack_signed(u);
	state = unpack_string(u, &failed);
	n->state = state_named(state);
	free(state);
	n->why = unpack_string(u, &failed);
	n->silent_s = 1e-6 * (double)unpack_signed(u);
	n->took_s = 1e-6 * (double)unpack_signed(u);
	/* An older o2top recorded in words alone how late the sample was. */
	if (n->present && n->why &&
	    sscanf(n->why, "the sample came %lf s after the request", &n->late_s) != 1)
		n->late_s = 0;
	n->bytes = unpack_number(u);
	n->skew_s = 1e-6 * (double)unpack_signed(u);
	if (failed)
		return -ENOMEM;
	/* Times are added and subtracted, so a time that no clock shows is damage. */
	if (!n->name || n->real_us > INT64_MAX / 4 || n->real_us < -INT64_MAX / 4 ||
	    n->mono_us > INT64_MAX / 4 || n->mono_us < -1)
		return -EBADMSG;
	return read_spaces(u, n);
}

static struct recorded *replay_add_file(struct replay *r)
{
	if (!grow(&r->files, r->n_files, &r->room_files, sizeof(*r->files)))
		return NULL;
	r->files[r->n_files] = (struct recorded){0};
	return &r->files[r->n_files++];
}

/* Reads the change of one file into its stream. Keeps the text if `keep` is set. */
static int replay_read_file(struct replay *r, struct unpack *meta, struct undelta *in, bool keep)
{
	const struct node_sample *n = &r->nodes[r->n_nodes - 1];
	uint64_t space = unpack_number(meta);
	bool failed = false;
	char *kind = unpack_string(meta, &failed), *text = NULL;
	int64_t error = unpack_signed(meta);
	struct known *known = NULL;
	struct recorded *file;
	size_t len = 0;
	int err = failed ? -ENOMEM : 0;
	int number;

	if (!err && (meta->bad || !kind || space > n->n_spaces))
		err = -EBADMSG;
	if (!err) {
		known =
		    stream_known(&r->streams, n->name, space ? n->spaces[space - 1].fs : FS_OCFS2,
				 space ? n->spaces[space - 1].name : "", kind);
		err = known ? delta_read(known, in, keep ? &text : NULL, &len) : -ENOMEM;
	}
	number = kind ? kind_named(kind, strlen(kind)) : -1;
	if (!err && keep && number >= 0 && number < FILE_KINDS) {
		file = replay_add_file(r);
		if (file) {
			*file =
			    (struct recorded){.node = r->n_nodes - 1,
					      .space = space ? (size_t)space - 1 : SIZE_MAX,
					      .kind = (enum file_kind)number,
					      .error = error < 0 && error > -4096 ? (int)error : 0,
					      .text = text,
					      .len = len};
			text = NULL;
		} else {
			err = -ENOMEM;
		}
	}
	free(text);
	free(kind);
	return err;
}

static int read_sample(struct replay *r, struct unpack *meta, struct undelta *in, bool keep)
{
	bool failed = false;
	uint64_t n;
	int err = 0;

	forget_sample(r);
	r->label = unpack_string(meta, &failed);
	n = unpack_number(meta);
	if (meta->bad || n > NODES_MOST)
		return -EBADMSG;
	r->nodes = calloc((size_t)n + 1, sizeof(*r->nodes));
	if (!r->nodes || failed)
		return -ENOMEM;
	while (r->n_nodes < n && !err) {
		uint64_t files;

		err = read_head(meta, &r->nodes[r->n_nodes++]);
		files = err ? 0 : unpack_number(meta);
		for (; files && !err && !meta->bad; files--)
			err = replay_read_file(r, meta, in, keep);
		if (!err && meta->bad)
			err = -EBADMSG;
		if (!err)
			err = keep_name(r, r->nodes[r->n_nodes - 1].name);
	}
	return err;
}

static int make_sample(struct replay *r, size_t i, bool keep)
{
	struct unpack all, meta;
	struct undelta in;
	struct unpack *columns[] = {&meta, &in.runs, &in.gaps, &in.numbers, &in.text};
	uint64_t lengths[sizeof(columns) / sizeof(columns[0])];
	unsigned char *payload;
	size_t size, before = r->made;
	int err;

	r->made = i;
	if (r->frames.list[i].kind == FRAME_KEY) {
		streams_forget(&r->streams);
		r->lost = false;
	} else if (r->lost || r->frames.list[i].broken || before + 1 != i || i == 0) {
		r->lost = true;
		return -EBADMSG;
	}
	err = frames_read(&r->frames, i, &payload, &size);
	all = (struct unpack){payload, err ? NULL : payload + size, false};
	for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]) && !err; c++)
		lengths[c] = unpack_number(&all);
	for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]) && !err; c++) {
		const unsigned char *at =
		    lengths[c] > size ? NULL : unpack_bytes(&all, (size_t)lengths[c]);

		*columns[c] = (struct unpack){at, at ? at + lengths[c] : NULL, false};
		err = !at || all.bad ? -EBADMSG : 0;
	}
	err = err ? err : read_sample(r, &meta, &in, keep);
	free(payload);
	r->lost |= err != 0;
	return err;
}

/* ---- the collector ------------------------------------------------------------------------- */

/* Brings the streams to the point from which sample i can be made. */
static int replay_prepare(struct replay *r, size_t i)
{
	size_t from = i;
	int err;

	if (r->frames.list[i].kind == FRAME_KEY || (r->made != SIZE_MAX && r->made + 1 == i))
		return 0;
	while (from > 0 && r->frames.list[from].kind != FRAME_KEY)
		from--;
	/* Some samples on the way may be made already. */
	if (r->made != SIZE_MAX && r->made >= from && r->made < i)
		from = r->made + 1;
	for (; from < i; from++) {
		err = make_sample(r, from, false);
		if (err == -ENOMEM)
			return err;
	}
	return 0;
}

/* Makes a sample in place of one that cannot be made. */
static int give_nothing(struct replay *r, const char *why)
{
	forget_sample(r);
	r->label = strdup("damaged");
	r->nodes = calloc(r->n_names + 1, sizeof(*r->nodes));
	if (!r->nodes || !r->label)
		return -ENOMEM;
	for (; r->n_nodes < r->n_names; r->n_nodes++) {
		struct node_sample *n = &r->nodes[r->n_nodes];

		*n = (struct node_sample){.mono_us = -1, .state = NODE_UNUSABLE};
		n->name = strdup(r->names[r->n_nodes]);
		n->why = strdup(why);
		if (!n->name || !n->why) {
			r->n_nodes++;
			return -ENOMEM;
		}
	}
	return 0;
}

/* Moves the nodes that are not wanted behind the others. Files keep the index of their node. */
static void choose_nodes(struct replay *r)
{
	for (size_t i = 0; i < r->n_nodes; i++)
		r->nodes[i].place = (void *)(uintptr_t)i;
	for (size_t i = r->n_nodes; i--;) {
		struct node_sample gone = r->nodes[i];

		if (collect_wants(r->only, r->n_only, gone.name))
			continue;
		memmove(&r->nodes[i], &r->nodes[i + 1], (r->n_nodes - i - 1) * sizeof(gone));
		/* The node stays behind the others, and is freed with them. */
		r->nodes[r->n_nodes - 1] = gone;
	}
}

static size_t count_wanted(const struct replay *r)
{
	size_t n = 0;

	while (n < r->n_nodes && collect_wants(r->only, r->n_only, r->nodes[n].name))
		n++;
	return n;
}

static int replay_next(struct collector *c, struct sample *out, struct problems *problems)
{
	struct replay *r = (struct replay *)c;
	size_t i = r->at;
	int err;

	if (i >= r->frames.n)
		return 0;
	r->at++;
	err = replay_prepare(r, i);
	err = err ? err : make_sample(r, i, true);
	if (err && err != -ENOMEM) {
		problem(problems, "recording", 0,
			"sample %zu of %zu, or a sample that it needs, is damaged", i + 1,
			r->frames.n);
		err = give_nothing(r, "this part of the recording is damaged");
	}
	if (err)
		return err;
	choose_nodes(r);
	*out = (struct sample){
	    .label = r->label ? r->label : "", .n_nodes = count_wanted(r), .nodes = r->nodes};
	return 1;
}

static int replay_open(struct collector *c, const struct node_sample *node,
		       const struct space_sample *space, enum file_kind kind, struct input *in)
{
	struct replay *r = (struct replay *)c;
	size_t at = space ? (size_t)(space - node->spaces) : SIZE_MAX;
	char label[INPUT_LABEL_MAX];

	for (size_t i = 0; i < r->n_files; i++) {
		const struct recorded *f = &r->files[i];

		if (f->node != (size_t)(uintptr_t)node->place || f->kind != kind ||
		    (f->space != at && f->space != SIZE_MAX))
			continue;
		if (f->error && !f->len)
			return f->error;
		snprintf(label, sizeof(label), "%.100s/%.200s/%s", node->name,
			 space ? space->name : "", kind_names[kind]);
		input_open_memory(in, f->text, f->len, label);
		return 0;
	}
	return -ENOENT;
}

static void replay_close(struct collector *c)
{
	struct replay *r = (struct replay *)c;

	forget_sample(r);
	free(r->files);
	streams_free(&r->streams);
	for (size_t i = 0; i < r->n_names; i++)
		free(r->names[i]);
	free(r->names);
	frames_close(&r->frames);
	free(r);
}

static size_t replay_count(struct collector *c)
{
	return ((struct replay *)c)->frames.n;
}

static int64_t replay_time(struct collector *c, size_t i)
{
	return ((struct replay *)c)->frames.list[i].time_us;
}

static void replay_seek(struct collector *c, size_t i)
{
	struct replay *r = (struct replay *)c;

	r->at = i < r->frames.n ? i : r->frames.n;
}

static const struct collector_ops ops = {
    .next = replay_next, .open = replay_open, .close = replay_close, .live = false};
static const struct replay_ops back = {replay_count, replay_time, replay_seek};

static struct replay *new_replay(char *const *only, size_t n_only)
{
	struct replay *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->collector.ops = &ops;
	r->collector.replay = &back;
	r->only = only;
	r->n_only = n_only;
	r->made = SIZE_MAX;
	return r;
}

/* Hands out the collector of frames that were opened, or frees it. */
static int end_open(struct collector **out, struct replay *r, int err, const char *label,
		    struct problems *problems)
{
	if (!err) {
		*out = &r->collector;
		return 0;
	}
	problem(problems, label, 0, "%s",
		err == -EBADMSG ? "not a recording of o2top" : strerror(-err));
	if (r)
		replay_close(&r->collector);
	return err;
}

int collect_replay(struct collector **out, const char *path, char *const *only, size_t n_only,
		   struct problems *problems)
{
	struct replay *r = new_replay(only, n_only);
	int err = r ? frames_open_set(&r->frames, path, problems) : -ENOMEM;

	return end_open(out, r, err, path, problems);
}

int collect_replay_memory(struct collector **out, const void *bytes, size_t size, const char *label,
			  struct problems *problems)
{
	struct replay *r = new_replay(NULL, 0);
	int err = r ? frames_open_memory(&r->frames, bytes, size, label, problems) : -ENOMEM;

	return end_open(out, r, err, label, problems);
}
