/* SPDX-License-Identifier: MIT */
/*
 * streams.c - the known texts of all files of a recording, found by node, lock space and kind.
 */
#include "frames.h"

#include "delta.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stream {
	char *name;
	struct known known;
};

struct known *stream_known(struct streams *s, const char *node, enum fs_kind fs, const char *space,
			   const char *kind)
{
	struct stream **more, *stream;
	char *name;

	if (asprintf(&name, "%s\n%d\n%s\n%s", node, (int)fs, space, kind) < 0)
		return NULL;
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->list[i]->name, name) == 0) {
			free(name);
			return &s->list[i]->known;
		}
	more = reallocarray(s->list, s->n + 1, sizeof(*more));
	if (more)
		s->list = more;
	stream = more ? calloc(1, sizeof(*stream)) : NULL;
	if (!stream) {
		free(name);
		return NULL;
	}
	stream->name = name;
	more[s->n++] = stream;
	return &stream->known;
}

void stream_size(const struct streams *s, size_t i, size_t *units, size_t *absent)
{
	*units += s->list[i]->known.n;
	*absent += s->list[i]->known.absent;
}

void streams_forget(struct streams *s)
{
	for (size_t i = 0; i < s->n; i++) {
		known_free(&s->list[i]->known);
		free(s->list[i]->name);
		free(s->list[i]);
	}
	s->n = 0;
}

void streams_free(struct streams *s)
{
	streams_forget(s);
	free(s->list);
	*s = (struct streams){0};
}
