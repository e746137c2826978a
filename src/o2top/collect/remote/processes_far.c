/* SPDX-License-Identifier: MIT */
/*
 * processes_far.c - libglock processes on the way to the viewer's machine: sent and taken in.
 */
#include "processes_far.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char letters[NODE_STATE_MAX] = {
    [NODE_OK] = 'O',    [NODE_DEAD] = 'D',      [NODE_STOPPED] = 'S',
    [NODE_HANGS] = 'H', [NODE_WITHDRAWN] = 'W',
};

/* ---- on the node --------------------------------------------------------------------------- */

/* Adds a text as one word, whatever a process calls itself. */
static int add_word(struct buffer *b, const char *text)
{
	int err = 0;

	for (; *text && !err; text++)
		err = buffer_add(b, *text > ' ' && *text < 127 ? text : "_", 1);
	return err ? err : buffer_add(b, " ", 1);
}

static int far_add_file(struct buffer *b, const struct processes *p, const struct node_sample *node,
			const struct space_sample *space)
{
	char block[16 * 1024];
	struct input in;
	ssize_t n = 1;
	int err = processes_open(p, node, space, FILE_NODE, &in);

	if (err)
		return err == -ENOMEM ? err : 0; /* then there is no file */
	while (n > 0 && !err) {
		n = in.read(&in, block, sizeof(block));
		err = n > 0 ? buffer_add(b, block, (size_t)n) : (int)n;
	}
	in.close(&in);
	return err;
}

/* Adds one process. `space` is NULL for a process that is in no lock space any more. */
static int tell_one(const struct processes *p, const struct node_sample *node,
		    const struct space_sample *space, struct buffer *b)
{
	char state[] = {letters[node->state], ' ', '\0'};
	int err = buffer_add(b, state, 2);

	err = err ? err : add_word(b, node->name);
	err = err ? err : add_word(b, space ? space->name : "-");
	err = err ? err : add_word(b, node->why ? node->why : "");
	b->len -= !err; /* without the blank behind the last word */
	err = err ? err : buffer_add(b, "\n", 1);
	return err || !space ? err : far_add_file(b, p, node, space);
}

int processes_tell(struct processes **p, processes_tell_fn *tell, void *arg)
{
	struct node_sample *nodes = NULL;
	size_t n = 0, told = 0;
	int err = processes_take(p, &nodes, &n, NULL);

	for (size_t i = 0; i < n && !err; i++)
		for (size_t j = 0; (j < nodes[i].n_spaces || !j) && !err; j++) {
			struct buffer text = {0};
			char key[32];

			err = tell_one(*p, &nodes[i],
				       j < nodes[i].n_spaces ? &nodes[i].spaces[j] : NULL, &text);
			snprintf(key, sizeof(key), "%zu", told++);
			if (!err)
				tell(arg, key, &text);
			free(text.data);
		}
	free(nodes);
	return err;
}

/* ---- on the viewer's machine --------------------------------------------------------------- */

static void lose_spaces(struct far_process *one)
{
	for (size_t i = 0; i < one->n_spaces; i++)
		free(one->spaces[i].name);
	free(one->spaces);
	free(one->files);
	one->spaces = NULL;
	one->files = NULL;
	one->n_spaces = 0;
}

void far_processes_lose(struct far_processes *p)
{
	for (size_t i = 0; i < p->n; i++)
		lose_spaces(&p->list[i]);
}

void far_processes_free(struct far_processes *p)
{
	far_processes_lose(p);
	for (size_t i = 0; i < p->n; i++) {
		free(p->list[i].name);
		free(p->list[i].why);
	}
	free(p->list);
	*p = (struct far_processes){0};
}

/*
 * Returns the process of that name, and makes it if it is not the last one. The lock spaces of a
 * process come one after the other. The model leaves out a process that comes twice.
 */
static struct far_process *process_called(struct far_processes *p, const char *machine,
					  const char *called)
{
	struct far_process *more;

	if (p->n && !strcmp(p->list[p->n - 1].name + strlen(machine) + 1, called))
		return &p->list[p->n - 1];
	more = reallocarray(p->list, p->n + 1, sizeof(*more));
	if (!more)
		return NULL;
	p->list = more;
	more += p->n;
	*more = (struct far_process){0};
	if (asprintf(&more->name, "%s:%s", machine, called) < 0)
		return NULL;
	p->n++;
	return more;
}

static int far_add_space(struct far_process *one, const char *name, const struct parcel_file *file)
{
	size_t n = one->n_spaces + 1;
	struct space_sample *spaces = reallocarray(one->spaces, n, sizeof(*spaces));
	const struct parcel_file **files;

	if (spaces)
		one->spaces = spaces;
	files = reallocarray(one->files, n, sizeof(*files));
	if (files)
		one->files = files;
	if (!spaces || !files)
		return -ENOMEM;
	files[n - 1] = file;
	spaces[n - 1] = (struct space_sample){.fs = FS_GLOCK, .name = strdup(name)};
	one->n_spaces += spaces[n - 1].name != NULL;
	return spaces[n - 1].name ? 0 : -ENOMEM;
}

static enum node_state state_of(char letter)
{
	for (int i = 0; i < NODE_STATE_MAX; i++)
		if (letter && letters[i] == letter)
			return (enum node_state)i;
	return NODE_UNUSABLE;
}

/* Takes in one file. Another machine wrote the text, so a malformed file is ignored. */
static int far_take_file(struct far_processes *p, const char *machine, const struct parcel_file *f)
{
	char line[256], called[80], space[80], why[120] = "", letter;
	const char *nl = memchr(f->data, '\n', f->len);
	struct far_process *one;

	if (!nl || nl - f->data >= (ptrdiff_t)sizeof(line))
		return 0;
	snprintf(line, sizeof(line), "%.*s", (int)(nl - f->data), f->data);
	if (sscanf(line, "%c %79s %79s %119s", &letter, called, space, why) < 3)
		return 0;
	one = process_called(p, machine, called);
	if (!one)
		return -ENOMEM;
	one->state = state_of(letter);
	if (*why && !one->why) {
		for (char *at = why; (at = strchr(at, '_')); *at = ' ')
			;
		one->why = strdup(why);
		if (!one->why)
			return -ENOMEM;
	}
	return strcmp(space, "-") ? far_add_space(one, space, f) : 0;
}

int far_processes_take(struct far_processes *p, const char *machine, const struct parcel *from)
{
	int err = 0;

	far_processes_free(p);
	for (size_t i = 0; i < from->n && !err; i++)
		if (from->files[i].kind == FILE_NODE && from->files[i].len)
			err = far_take_file(p, machine, &from->files[i]);
	return err;
}

bool far_processes_find(const struct far_processes *p, const struct node_sample *node,
			const struct space_sample *space, const struct parcel_file **file)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct far_process *one = &p->list[i];
		size_t j = space ? (size_t)(space - one->spaces) : one->n_spaces;

		if (node->name != one->name)
			continue;
		*file = j < one->n_spaces ? one->files[j] : NULL;
		return true;
	}
	return false;
}

void far_processes_open(const struct parcel_file *file, const char *node, struct input *in)
{
	const char *nl = memchr(file->data, '\n', file->len);
	size_t head = (size_t)(nl - file->data) + 1; /* far_take_file() found the newline */

	input_open_memory(in, file->data + head, file->len - head, node);
}
