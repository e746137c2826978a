/* SPDX-License-Identifier: MIT */
/*
 * Paths of the rows that are seen: asked of a node that has the inode in its cache, a few at a time,
 * and kept by inode and generation. Answers come with a later sample.
 *
 * Where everything was asked for and an inode was not found so, a node looks through its whole file
 * system, one at a time; how far it is stands in a banner.
 */
#ifndef O2TOP_PATHS_H
#define O2TOP_PATHS_H

#include "group.h"
#include "names.h"

struct paths;

enum paths_effort { PATHS_CACHED, PATHS_NONE, PATHS_WHOLE };

/* Takes in what nodes answered with this sample. */
void paths_take(struct paths **p, struct names **names, struct model *m, struct collector *c,
		const struct sample *sample);
/* Asks for what the first `rows` rows lack; with `whole`, also of the whole file system. */
void paths_ask(struct paths **p, const struct model *m, const struct group *g, struct collector *c,
	       const struct sample *sample, unsigned rows, bool whole);
void paths_free(struct paths *p);

#endif
