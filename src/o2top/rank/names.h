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
 * Adds a file's lines "INODE PATH" to *names, and makes *names if it is NULL. `space` is the lock
 * space of the inodes, or NULL if it is not known. A line that is not understood is a problem.
 * Returns 0 or negative errno.
 */
int names_read(struct names **names, const char *space, const char *file,
	       struct problems *problems);
/* Adds the lines of a text in memory, for any lock space. */
int names_read_text(struct names **names, const char *text, size_t len, struct problems *problems);
/*
 * Finds the lock space of each list that was read without one. An inode number means nothing
 * without its file system. `holds` tells whether a lock space has an inode. A list goes to
 * the lock space that clearly has the most of its inodes.
 */
typedef int names_holds_fn(const void *arg, size_t space, uint64_t inode);
void names_settle(struct names *names, const char *const spaces[], size_t n_spaces,
		  names_holds_fn *holds, const void *arg);
/*
 * Returns the path, or NULL; names may be NULL. If there are several hard links, the first in the
 * file is returned. *sure tells whether the list is known to describe this lock space.
 */
const char *names_find(const struct names *names, const char *space, uint64_t inode, bool *sure);
/*
 * Adds a path that was found while running, of an inode of this lock space. With `first` the path
 * replaces the known paths. Otherwise the path is another name of the same file.
 */
int names_put(struct names **names, const char *space, uint64_t inode, const char *path,
	      bool first);
/* Returns the inode's other names that were found while running, " = " between them, or NULL. */
const char *names_links(const struct names *names, const char *space, uint64_t inode);
void names_free(struct names *names);

#endif
