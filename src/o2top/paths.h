/* SPDX-License-Identifier: MIT */
/*
 * Paths of the rows that are seen: asked of a node that has the inode in its cache, a few at a time,
 * and kept by inode and generation. Answers come with a later sample.
 */
#ifndef O2TOP_PATHS_H
#define O2TOP_PATHS_H

#include "rank.h"

struct paths;

/* Takes in what nodes answered with this sample. */
void paths_take(struct paths **p, struct names **names, const struct model *m, struct collector *c,
		const struct sample *sample);
/* Asks for what the first `rows` rows lack. */
void paths_ask(struct paths **p, const struct model *m, const struct group *g, struct collector *c,
	       const struct sample *sample, unsigned rows);
void paths_free(struct paths *p);

#endif
