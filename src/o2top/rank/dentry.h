/* SPDX-License-Identifier: MIT */
/*
 * dentry.h - facts from OCFS2's dentry locks.
 *
 * A dentry lock names an inode by its low 32 bits and the inode's directory in full.
 */
#ifndef O2TOP_DENTRY_H
#define O2TOP_DENTRY_H

#include "names.h"
#include "row.h"

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
