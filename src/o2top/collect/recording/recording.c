/* SPDX-License-Identifier: MIT */
/*
 * recording.c - the collector of recordings in folders and single files.
 *
 * A recording is folders SAMPLE/NODE/..., or a single sample's or node's folder. It can also be
 * single files of one node, to show or to compare. Only files that o2top knows are opened.
 */
#include "o2top/base/clock.h"
#include "o2top/collect/archive/archive.h"
#include "o2top/collect/collect.h"
#include "o2top/collect/machine/tree.h"
#include "record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The place of a node's files of one sample: a folder, or one file. */
struct place {
	char *path; /* NULL: the node is missing from this sample */
	bool single, empty;
	bool named; /* its path names the node */
	enum file_kind kind;
	char space[256];   /* single: the lock space, by the folder that holds the file */
	size_t label_from; /* messages show the path from here on */
};

struct step {
	char *label;
	struct place *places; /* one for each node, in the order of nodes */
};

struct recording {
	struct collector collector;
	char **nodes;
	size_t n_nodes;
	struct step *steps;
	size_t n_steps, at;
	struct node_sample *sample;
	char *const *only;
	size_t n_only;
	bool one_node; /* the user says that files without a name of a node are of one node */
};

/* Returns the index of the node of that name; n_nodes if there is none. */
static size_t node_named(const struct recording *r, const char *name)
{
	size_t i = 0;

	while (i < r->n_nodes && strcmp(r->nodes[i], name) != 0)
		i++;
	return i;
}

/* Finds the index of a node, and adds a new node. A new node is missing from all steps so far. */
static int node_index(struct recording *r, const char *name, size_t *index)
{
	char **more;

	*index = node_named(r, name);
	if (*index < r->n_nodes)
		return 0;
	more = reallocarray(r->nodes, r->n_nodes + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	r->nodes = more;
	for (size_t i = 0; i < r->n_steps; i++) {
		struct place *places =
		    reallocarray(r->steps[i].places, r->n_nodes + 1, sizeof(*places));

		if (!places)
			return -ENOMEM;
		places[r->n_nodes] = (struct place){0};
		r->steps[i].places = places;
	}
	r->nodes[r->n_nodes] = strdup(name);
	if (!r->nodes[r->n_nodes])
		return -ENOMEM;
	r->n_nodes++;
	return 0;
}

static int add_step(struct recording *r, const char *label)
{
	struct step *more = reallocarray(r->steps, r->n_steps + 1, sizeof(*more));
	struct step *s;

	if (!more)
		return -ENOMEM;
	r->steps = more;
	s = &more[r->n_steps];
	*s = (struct step){strdup(label), calloc(r->n_nodes ? r->n_nodes : 1, sizeof(*s->places))};
	if (!s->label || !s->places) {
		free(s->label);
		free(s->places);
		return -ENOMEM;
	}
	r->n_steps++;
	return 0;
}

/* Sets the place of a node in the last step. */
static int set_place(struct recording *r, const char *node, const char *path,
		     const struct place *like)
{
	size_t index;
	struct place *p;
	int err;

	if (!collect_wants(r->only, r->n_only, node))
		return 0;
	err = node_index(r, node, &index);
	if (err)
		return err;
	p = &r->steps[r->n_steps - 1].places[index];
	*p = *like;
	p->path = strdup(path);
	return p->path ? 0 : -ENOMEM;
}

static int join(char path[PATH_MAX], const char *a, const char *b)
{
	int n = snprintf(path, PATH_MAX, "%s/%s", a, b);

	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static bool known_node(const struct recording *r, const char *name)
{
	return node_named(r, name) < r->n_nodes;
}

/*
 * Adds `path` as a sample if it holds folders of nodes. Returns 1, 0 if it holds none, or a
 * negative errno. If it holds nothing but empty folders of known nodes, none of the nodes answered.
 */
static int add_sample(struct recording *r, const char *path, size_t label_from)
{
	char node[PATH_MAX];
	char **names;
	int found = 0, silent = 0, err = 0, n = tree_names(path, &names);

	if (n < 0)
		return n == -ENOTDIR ? 0 : n;
	for (int i = 0; i < n && !err; i++) {
		err = join(node, path, names[i]);
		if (err)
			break;
		if (!tree_is_node(node)) {
			silent += known_node(r, names[i]);
			continue;
		}
		if (!found++)
			err = add_step(r, base_of(path));
		if (!err)
			err =
			    set_place(r, names[i], node, &(struct place){.label_from = label_from});
	}
	if (!err && !found && silent)
		err = add_step(r, base_of(path));
	tree_free_names(names, n);
	return err ? err : found > 0 || silent;
}

/*
 * Returns whether the last sample has room for this node. Paths of several nodes belong to one
 * sample.
 */
static bool in_last_step(const struct recording *r, const char *node)
{
	const struct step *last = r->n_steps ? &r->steps[r->n_steps - 1] : NULL;

	for (size_t i = 0; last && i < r->n_nodes; i++)
		if (strcmp(r->nodes[i], node) == 0 && last->places[i].path)
			return false;
	return last && !*last->label;
}

static int add_node(struct recording *r, const char *path)
{
	int err = in_last_step(r, base_of(path)) ? 0 : add_step(r, "");

	return err ? err : set_place(r, base_of(path), path, &(struct place){0});
}

/* Adds a folder of samples. If none of its folders is a sample, the folder itself may be one. */
static int add_samples(struct recording *r, const char *path, struct problems *problems)
{
	char sub[PATH_MAX];
	char **names, *stray = NULL;
	int found = 0, err = 0, n = tree_names(path, &names);

	if (n < 0)
		return n;
	for (int i = 0; i < n && err >= 0; i++) {
		err = join(sub, path, names[i]);
		if (err)
			continue;
		if (tree_is_node(sub))
			stray = names[i];
		else
			err = add_sample(r, sub, strlen(path) + 1);
		found += err > 0;
	}
	if (found && stray)
		problem(problems, stray, 0, "a node's folder beside samples: o2top skips it");
	tree_free_names(names, n);
	if (err < 0 || found)
		return err < 0 ? err : 0;
	err = add_sample(r, path, 0);
	return err < 0 ? err : 0;
}

static int add_folder(struct recording *r, const char *path, struct problems *problems)
{
	return tree_is_node(path) ? add_node(r, path) : add_samples(r, path, problems);
}

/*
 * Tells the kind of a file from its first bytes. Returns -EINVAL if the file is of no kind that can
 * be shown alone.
 */
static int kind_of_file(const char *path, struct place *place)
{
	struct input in;
	char head[8] = "";
	ssize_t n;
	int err = input_open_path(&in, path, path);

	if (err)
		return err;
	n = in.read(&in, head, sizeof(head) - 1);
	in.close(&in);
	if (n < 0)
		return (int)n;
	place->empty = n == 0;
	if (strncmp(head, "0x", 2) == 0 || n == 0)
		place->kind = FILE_LOCKING_STATE;
	else if (strncmp(head, "G:  s:", 6) == 0)
		place->kind = FILE_GLOCKS;
	else if (strncmp(head, "G: n:", 5) == 0)
		place->kind = FILE_GLSTATS;
	else
		return -EINVAL;
	return 0;
}

/* Gets the name of the folder n levels above a file. Returns false if there is none. */
static bool folder_above(const char *path, int n, char *name, size_t size)
{
	const char *end = strrchr(path, '/'), *from;

	for (; end && end > path && n > 1; n--)
		end = memrchr(path, '/', (size_t)(end - path));
	if (!end || end == path)
		return false;
	from = memrchr(path, '/', (size_t)(end - path));
	from = from ? from + 1 : path;
	return (size_t)snprintf(name, size, "%.*s", (int)(end - from), from) < size;
}

/*
 * Finds the node and the lock space of a file. The path names both if the file lies in a recording.
 */
static const char *file_names(const char *path, struct place *place, char *node, size_t size)
{
	char fs[8];

	strcpy(place->space, "-");
	if (!folder_above(path, 2, fs, sizeof(fs)) ||
	    (strcmp(fs, "ocfs2") != 0 && strcmp(fs, "gfs2") != 0) ||
	    !folder_above(path, 1, place->space, sizeof(place->space)))
		return "node";
	place->named = folder_above(path, 3, node, size);
	return place->named ? node : "node";
}

/*
 * Returns the path that was given of this node before, or NULL. A file is compared with another
 * file of its kind. The kind of an empty file is not known.
 */
static const struct place *given_before(const struct recording *r, const char *node)
{
	size_t i = node_named(r, node);

	for (size_t step = r->n_steps; i < r->n_nodes && step--;)
		if (r->steps[step].places[i].path && !r->steps[step].places[i].empty)
			return &r->steps[step].places[i];
	return NULL;
}

/*
 * Gives a kind to the empty files that were given of this node before. A file with content shows
 * it.
 */
static void tell_empty_ones(struct recording *r, const char *node, enum file_kind kind)
{
	size_t i = node_named(r, node);

	for (size_t step = 0; i < r->n_nodes && step < r->n_steps; step++)
		if (r->steps[step].places[i].empty)
			r->steps[step].places[i].kind = kind;
}

static int recording_add_file(struct recording *r, const char *path, struct problems *problems)
{
	const struct place *before;
	struct place place = {.single = true};
	char folder[256];
	const char *node = file_names(path, &place, folder, sizeof(folder));
	int err = kind_of_file(path, &place);

	if (err == -EINVAL)
		problem(problems, path, 0,
			"neither a recording nor a locking_state, glocks or glstats file");
	if (err)
		return err;
	before = given_before(r, node);
	if (!place.empty)
		tell_empty_ones(r, node, place.kind);
	else if (before && before->single)
		place.kind = before->kind;
	if (before && before->single &&
	    (before->kind != place.kind || strcmp(before->space, place.space) != 0)) {
		problem(problems, path, 0,
			"not comparable with %s, which has another %s: give the folder of their "
			"node, or one file at a time",
			before->path, before->kind != place.kind ? "kind" : "lock space");
		return -EINVAL;
	}
	if (before && before->single && !place.named && !r->one_node &&
	    may_be_two_nodes(before->path, path, place.kind)) {
		problem(problems, path, 0,
			"may be of another node than %s, because no line proves that both are of "
			"one: add --recording if they are two times of one node; else name each "
			"node by folders: NODE/%s/NAME/%s",
			before->path, place.kind == FILE_LOCKING_STATE ? "ocfs2" : "gfs2",
			kind_names[place.kind]);
		return -EXDEV;
	}
	if (!in_last_step(r, node))
		err = add_step(r, "");
	return err ? err : set_place(r, node, path, &place);
}

static int recording_next(struct collector *c, struct sample *out, struct problems *problems)
{
	struct recording *r = (struct recording *)c;
	struct step *step;

	if (r->at == r->n_steps)
		return 0;
	step = &r->steps[r->at++];
	for (size_t i = 0; i < r->n_nodes; i++) {
		struct node_sample *node = &r->sample[i];
		struct place *place = &step->places[i];
		int err = 0;

		tree_free_spaces(node->spaces, node->n_spaces);
		*node = (struct node_sample){.name = r->nodes[i], .mono_us = -1, .place = place};
		node->present = place->path != NULL;
		if (!node->present)
			continue;
		if (place->single) {
			node->spaces = calloc(1, sizeof(*node->spaces));
			if (!node->spaces || !(node->spaces->name = strdup(place->space))) {
				free(node->spaces);
				node->spaces = NULL;
				return -ENOMEM;
			}
			node->spaces->fs = place->kind == FILE_LOCKING_STATE ? FS_OCFS2 : FS_GFS2;
			node->n_spaces = 1;
			continue;
		}
		tree_clock(place->path, place->label_from, node, problems);
		err = tree_spaces(place->path, &node->spaces, &node->n_spaces);
		if (err == -ENOMEM)
			return err;
		if (err)
			problem(problems, place->path + place->label_from, 0, "%s", strerror(-err));
	}
	*out = (struct sample){.label = step->label, .n_nodes = r->n_nodes, .nodes = r->sample};
	return 1;
}

static int recording_open(struct collector *c, const struct node_sample *node,
			  const struct space_sample *space, enum file_kind kind, struct input *in)
{
	const struct place *place = node->place;
	int err;

	(void)c;
	if (!place->single)
		return tree_open(place->path, place->label_from, space, kind, in);
	err = kind == place->kind ? input_open_path(in, place->path, place->path) : -ENOENT;
	if (!err)
		in->crlf = true;
	return err;
}

static void recording_close(struct collector *c)
{
	struct recording *r = (struct recording *)c;

	for (size_t i = 0; i < r->n_steps; i++) {
		for (size_t j = 0; j < r->n_nodes; j++)
			free(r->steps[i].places[j].path);
		free(r->steps[i].places);
		free(r->steps[i].label);
	}
	for (size_t i = 0; i < r->n_nodes; i++) {
		if (r->sample)
			tree_free_spaces(r->sample[i].spaces, r->sample[i].n_spaces);
		free(r->nodes[i]);
	}
	free(r->sample);
	free(r->steps);
	free(r->nodes);
	free(r);
}

static const struct collector_ops recording_ops = {
    .next = recording_next, .open = recording_open, .close = recording_close};

/* ---- going back ------------------------------------------------------------------------------ */

static size_t recording_count(struct collector *c)
{
	return ((struct recording *)c)->n_steps;
}

static int64_t recording_time(struct collector *c, size_t i)
{
	struct recording *r = (struct recording *)c;
	struct problems ignored = {0};
	int64_t *clocks = calloc(r->n_nodes + 1, sizeof(*clocks)), time;
	size_t n = 0;

	for (size_t j = 0; j < r->n_nodes; j++) {
		const struct place *place = &r->steps[i].places[j];
		struct node_sample node = {0};

		if (!place->path || place->single)
			continue;
		tree_clock(place->path, place->label_from, &node, &ignored);
		if (node.has_clock && clocks)
			clocks[n++] = node.real_us;
	}
	problems_clear(&ignored);
	time = sample_time(clocks, n);
	free(clocks);
	return time;
}

static void recording_seek(struct collector *c, size_t i)
{
	struct recording *r = (struct recording *)c;

	r->at = i < r->n_steps ? i : r->n_steps;
}

static const struct replay_ops recording_replay = {recording_count, recording_time, recording_seek};

static int add_path(struct recording *r, const char *given, struct problems *problems)
{
	char path[PATH_MAX];
	size_t len = strlen(given);
	struct stat st;
	int err;

	while (len > 1 && given[len - 1] == '/')
		len--;
	if (len >= sizeof(path))
		return -ENAMETOOLONG;
	memcpy(path, given, len);
	path[len] = '\0';
	if (stat(path, &st) < 0)
		err = -errno;
	else
		err = S_ISDIR(st.st_mode) ? add_folder(r, path, problems)
					  : recording_add_file(r, path, problems);
	if (err && !problems->count)
		problem(problems, path, 0, "%s", strerror(-err));
	return err;
}

/* Opens archives and texts. If none has a known form, the message tells how a good dump is made. */
static int open_archive(struct collector **out, char *const *paths, size_t n_paths,
			char *const *only, size_t n_only, struct problems *problems)
{
	int err = collect_archive(out, paths, n_paths, only, n_only, problems);

	if (err == -ENOMSG)
		problem(problems, paths[0], 0,
			"no known form of locks in it; run on each node: o2top --collect FILE, or "
			"without o2top there: o2top --collect-script | ssh NODE sh >FILE");
	return err == -ENOMSG || err == -ENODATA ? -EINVAL : err;
}

int collect_recording(struct collector **out, char *const *paths, size_t n_paths, char *const *only,
		      size_t n_only, bool one_node, struct problems *problems)
{
	struct recording *r;
	int err;

	for (size_t i = 0; i < n_paths; i++)
		if (is_archive(paths[i]))
			return open_archive(out, paths, n_paths, only, n_only, problems);
	r = calloc(1, sizeof(*r));
	err = r ? 0 : -ENOMEM;
	if (r) {
		r->collector.ops = &recording_ops;
		r->collector.replay = &recording_replay;
		r->only = only;
		r->n_only = n_only;
		r->one_node = one_node;
	}
	for (size_t i = 0; i < n_paths && !err; i++)
		err = add_path(r, paths[i], problems);
	if (!err) {
		r->sample = calloc(r->n_nodes ? r->n_nodes : 1, sizeof(*r->sample));
		err = r->sample ? 0 : -ENOMEM;
	}
	if (err && r)
		recording_close(&r->collector);
	else
		*out = &r->collector;
	return err;
}
