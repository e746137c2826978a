/* SPDX-License-Identifier: MIT */
/*
 * names.h - paths of inodes, from a file that `find MOUNT_POINT -printf '%i %p\n'` wrote.
 */
#ifndef O2TOP_NAMES_H
#define O2TOP_NAMES_H

#include "o2top/base/problems.h"

#include <stdbool.h>
#include <stdint.h>

struct names;

/*
 * Adds a file's lines "INODE PATH" to *names, made where it is NULL. `space` is the lock space that
 * they are of, NULL for any. 0 or negative errno; lines that are not understood are problems.
 */
int names_read(struct names **names, const char *space, const char *file,
	       struct problems *problems);
/* The same of text in memory. */
int names_read_text(struct names **names, const char *text, size_t len, struct problems *problems);
/*
 * Inode numbers mean nothing without their file system. Lists that no lock space was named for are
 * tried on all: `holds` says whether a lock space has an inode, and a list stays with those where
 * clearly most of it is.
 */
typedef int names_holds_fn(const void *arg, size_t space, uint64_t inode);
void names_settle(struct names *names, const char *const spaces[], size_t n_spaces,
		  names_holds_fn *holds, const void *arg);
/*
 * The path, or NULL; names may be NULL. Of several hard links the first in the file. *sure is
 * whether the list is known to be of this lock space.
 */
const char *names_find(const struct names *names, const char *space, uint64_t inode, bool *sure);
/*
 * One path of an inode of this lock space, found while running: `first` replaces what was known,
 * else it is another name of the same file.
 */
int names_put(struct names **names, const char *space, uint64_t inode, const char *path,
	      bool first);
/* The inode's other names, " = " between them, or NULL; of those found while running. */
const char *names_links(const struct names *names, const char *space, uint64_t inode);
void names_free(struct names *names);

#endif
