/* SPDX-License-Identifier: MIT */
/*
 * streams.h - the known texts of all files of a recording, for the recorder and for replay.
 */
#ifndef O2TOP_STREAMS_H
#define O2TOP_STREAMS_H

#include "o2top/collect/collect.h"

/* The known text of each file of each node, by its name. */
struct stream;
struct streams {
	struct stream **list;
	size_t n;
};
struct known;
/* NULL: no memory. */
struct known *stream_known(struct streams *s, const char *node, enum fs_kind fs, const char *space,
			   const char *kind);
/* Adds how many units are known of the ith, and how many of them are absent. */
void stream_size(const struct streams *s, size_t i, size_t *units, size_t *absent);
/* Nothing is known any more. */
void streams_forget(struct streams *s);
void streams_free(struct streams *s);

#endif
