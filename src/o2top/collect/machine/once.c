/* SPDX-License-Identifier: MIT */
/*
 * once.c - keeps the texts of small files and DLM dumps until the next sample.
 */
#include "this_machine.h"

#include "o2top/base/grow.h"
#include "o2top/collect/lines.h"
#include "tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct once_file {
	enum fs_kind fs;
	enum file_kind kind;
	char *space, *label;
	struct buffer text;
	int error; /* a negative errno in place of the text */
};

bool once_wants(enum file_kind kind)
{
	return kind == FILE_FS_STATE || kind == FILE_O2DLM_STATE || kind == FILE_DLM_ALL;
}

static void once_file_free(struct once_file *f)
{
	free(f->space);
	free(f->label);
	free(f->text.data);
}

/* Reads the whole file. Returns 0 or a negative errno; -EFBIG if it is too large to keep. */
static int read_whole(struct once_file *f, struct input *in)
{
	static const size_t part = 64 * 1024;
	char *buf = malloc(part);
	int err = buf ? 0 : -ENOMEM;

	while (!err) {
		ssize_t n = in->read(in, buf, part);

		if (n <= 0) {
			err = (int)n;
			break;
		}
		if (f->text.len + (size_t)n > ONCE_MOST)
			err = -EFBIG;
		else if (buffer_add(&f->text, buf, (size_t)n))
			err = -ENOMEM;
	}
	free(buf);
	return err;
}

/* Reads a file into the list. Returns its place, or NULL if it cannot be kept. */
static struct once_file *keep(struct once *o, const char *root, const struct space_sample *space,
			      enum file_kind kind)
{
	struct once_file f = {.fs = space->fs, .kind = kind};
	struct input in;

	if (!grow(&o->list, o->n, &o->room, sizeof(*o->list)))
		return NULL;
	f.space = strdup(space->name);
	f.error = f.space ? tree_open(root, 0, space, kind, &in) : -ENOMEM;
	if (!f.error) {
		int err = read_whole(&f, &in);

		f.label = strdup(in.label);
		in.close(&in);
		if (err || !f.label)
			f.error = -EAGAIN;
	}
	if (!f.space || f.error == -EAGAIN) {
		once_file_free(&f);
		return NULL;
	}
	o->list[o->n] = f;
	return &o->list[o->n++];
}

int once_open(struct once *o, const char *root, const struct space_sample *space,
	      enum file_kind kind, struct input *in)
{
	struct once_file *f = NULL;

	for (size_t i = 0; i < o->n && !f; i++)
		if (o->list[i].kind == kind && o->list[i].fs == space->fs &&
		    strcmp(o->list[i].space, space->name) == 0)
			f = &o->list[i];
	f = f ? f : keep(o, root, space, kind);
	/* After an error in the middle, the caller reads for itself and reports the error. */
	if (!f)
		return tree_open(root, 0, space, kind, in);
	if (!f->error)
		input_open_memory(in, f->text.data ? f->text.data : "", f->text.len, f->label);
	return f->error;
}

void once_forget(struct once *o)
{
	for (size_t i = 0; i < o->n; i++)
		once_file_free(&o->list[i]);
	o->n = 0;
}

void once_free(struct once *o)
{
	once_forget(o);
	free(o->list);
	*o = (struct once){0};
}
