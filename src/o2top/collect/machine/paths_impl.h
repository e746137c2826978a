/* SPDX-License-Identifier: MIT */
/*
 * paths_impl.h - shared declarations of the path finders: requests, answers, two ways of looking.
 */
#ifndef O2TOP_PATHS_IMPL_H
#define O2TOP_PATHS_IMPL_H

#include "paths_find.h"

#include <limits.h>
#include <stdint.h>

enum { ITEMS_MAX = 256, NAMES_MOST = 8, PATHS_REQUEST_MAX = 4096 };

struct item {
	uint64_t inode, generation, parent;
	unsigned flags;
	unsigned found;
	uint64_t told[NAMES_MOST]; /* hashes of the names that were told */
};

struct finding {
	char space[NAME_MAX + 1], mount[PATH_MAX];
	bool gfs2;
	struct item items[ITEMS_MAX];
	size_t n;
	const char *proc;
	int out;
	int mount_fd;
};

bool finding_parse(struct finding *f, const char *request);
/* Writes a name that was found; each once. */
void finding_tell(struct finding *f, struct item *item, const char *path);
/* The first item of an inode, which is the one whose names are counted; NULL where there is none.
 */
struct item *finding_item(struct finding *f, uint64_t inode);

/* The ladder, in this process. */
void paths_ladder(struct finding *f);
/*
 * The whole file system, slowly; ends when all with PATHS_FULL are found or all was seen. Says
 * every second how far it is: a line "walk SPACE DIRECTORIES FOUND", and "walked" at the end.
 */
void paths_walk(struct finding *f);

#endif
