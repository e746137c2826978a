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

/* The end of a search, for the next one, in memory that the processes share. */
struct finding_left {
	int scanned; /* the last process whose open files were looked at; 0 all were */
};

struct finding {
	char space[NAME_MAX + 1], mount[PATH_MAX];
	bool gfs2;
	struct item items[ITEMS_MAX];
	size_t n;
	const char *proc;
	struct finding_left *left; /* or NULL */
	bool open_files_only;      /* the file system hangs */
	int out;
	int mount_fd;
	uint64_t root; /* the inode of the mount point */
};

bool finding_parse(struct finding *f, const char *request);
/* Writes a name that was found. Each name is written once. */
void finding_tell(struct finding *f, struct item *item, const char *path);
/* Returns the first item of an inode, which counts the inode's names; NULL if there is none. */
struct item *finding_item(struct finding *f, uint64_t inode);

/* Takes the steps from the safest on, in this process. */
void paths_ladder(struct finding *f);
/*
 * Searches the whole file system slowly. The search ends when all inodes with PATHS_FULL are found,
 * or when it has seen everything.
 *
 * Every second it writes a line "walk SPACE DIRECTORIES FOUND", and at the end a line "walked".
 */
void paths_walk(struct finding *f);

#endif
