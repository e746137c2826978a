/* SPDX-License-Identifier: MIT */
/*
 * What OCFS2's dentry locks tell: they name an inode by its low 32 bits and its directory in full.
 */
#ifndef O2TOP_DENTRY_H
#define O2TOP_DENTRY_H

#include "rank.h"

/*
 * Gives members that are names their inode's row. Where inode numbers are wider than 32 bits that
 * is the one inode known with those low bits; where there are several or none, the name has a row
 * of its own.
 */
int dentry_join(const struct model *m, struct member *members, size_t n);

/* Marks hot rows of unknown kind in which some name lies as directories. */
void dentry_find_directories(const struct model *m, struct row *rows, size_t n);

#endif
