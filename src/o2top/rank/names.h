/* SPDX-License-Identifier: MIT */
/*
 * names.h - paths of inodes, from a file that `find MOUNT_POINT -printf '%i %p\n'` wrote.
 */
#ifndef O2TOP_NAMES_H
#define O2TOP_NAMES_H

#include "o2top/base/problems.h"
#include "row.h"

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

/* ---- dentry.c: facts from OCFS2's dentry locks.
 *
 * A dentry lock names an inode by its low 32 bits and the inode's directory in full.
 */

enum { DENTRY_PARENTS = 4 };

/*
 * Puts each member that is a name into the row of its inode.
 *
 * Inode numbers wider than 32 bits are matched by their low bits. If no inode or several inodes
 * with these bits are known, the name gets a row of its own.
 */
int dentry_join(const struct model *m, struct member *members, size_t n);

/* An inode whose directories are looked for. */
struct dentry_child {
	uint64_t inode;
	uint64_t parents[DENTRY_PARENTS]; /* several names may be in several directories */
	uint32_t n_parents;
};
/*
 * Finds the directories of the children, and sorts the children. A child has no parent if no node
 * has a name of the child in its cache.
 */
void dentry_find_parents(const struct model *m, uint32_t space, struct dentry_child *children,
			 size_t n);

/* Gives hot rows without a path the directory that they are in, if its path is known. */
void dentry_find_within(const struct model *m, const struct names *names, struct row *rows,
			size_t n);

/* Marks a hot row of unknown kind as a directory if a name lies in it. */
void dentry_find_directories(const struct model *m, struct row *rows, size_t n);

#endif
