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
 * Gives members that are names their inode's row. Where inode numbers are wider than 32 bits that
 * is the one inode known with those low bits; where there are several or none, the name has a row
 * of its own.
 */
int dentry_join(const struct model *m, struct member *members, size_t n);

/* An inode whose directories are looked for. */
struct dentry_child {
	uint64_t inode;
	uint64_t parents[DENTRY_PARENTS]; /* of several names */
	uint32_t n_parents;
};
/* Sorts the children. What no node has a name of in its cache has no parent. */
void dentry_find_parents(const struct model *m, uint32_t space, struct dentry_child *children,
			 size_t n);

/*
 * Says of hot rows without a path in which directory they are, where the path of that is known.
 */
void dentry_find_within(const struct model *m, const struct names *names, struct row *rows,
			size_t n);

/* Marks hot rows of unknown kind in which some name lies as directories. */
void dentry_find_directories(const struct model *m, struct row *rows, size_t n);

#endif
