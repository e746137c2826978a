/* SPDX-License-Identifier: MIT */
/*
 * paths.h - paths of the rows that are shown.
 *
 * o2top asks a node that has the inode in its cache, for a few inodes at a time. Answers come with
 * a later sample. They are kept by inode and generation.
 *
 * If the user asks for a full search, a node looks through its whole file system. The node looks
 * for the inodes that are not found this way. Only one node at a time does so. A banner shows the
 * progress.
 */
#ifndef O2TOP_PATHS_H
#define O2TOP_PATHS_H

#include "group.h"
#include "names.h"

struct paths;

enum paths_effort { PATHS_CACHED, PATHS_NONE, PATHS_WHOLE };

/* Takes in the nodes' answers of this sample. */
void paths_take(struct paths **p, struct names **names, struct model *m, struct collector *c,
		const struct sample *sample);
/* Asks for the missing paths of the first `rows` rows; with `whole`, by a full search, too. */
void paths_ask(struct paths **p, const struct model *m, const struct group *g, struct collector *c,
	       const struct sample *sample, unsigned rows, bool whole);
void paths_free(struct paths *p);

#endif
