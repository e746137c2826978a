/* SPDX-License-Identifier: MIT */
/*
 * paths_kept.h - the paths that nodes have found so far, which a recording keeps in each sample.
 *
 * A node answers once. A replay may begin behind that sample, or in a later file of the recording.
 */
#ifndef O2TOP_PATHS_KEPT_H
#define O2TOP_PATHS_KEPT_H

#include "o2top/collect/lines.h"

struct paths_kept {
	struct {
		char *node;
		struct buffer text;
	} * list;
	size_t n, room;
};

/*
 * Adds the answers of a node: lines "SPACE INODE GENERATION PATH". New lines of an inode replace
 * the old ones. Returns the text of all of them, or NULL if there is none, or no memory.
 */
const struct buffer *paths_kept_add(struct paths_kept *k, const char *node, const char *text,
				    size_t len);
void paths_kept_free(struct paths_kept *k);

#endif
