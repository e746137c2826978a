/* SPDX-License-Identifier: MIT */
/*
 * tree.h - the layout of a node's files under one folder.
 *
 * The folder is debugfs itself, or a recording's folder of a node, which has the same names.
 *
 *	ocfs2/UUID/{locking_state,fs_state}  gfs2/TABLE/{glocks,glstats,sbstats|lkstats,condition}
 *	ocfs2/UUID/locking_filter  dlm/LOCKSPACE_all dlm/LOCKSPACE_plocks
 *	o2dlm/UUID/{locking_state,dlm_state}
 *	trace  tasks  ids  realtime  uptime
 */
#ifndef O2TOP_TREE_H
#define O2TOP_TREE_H

#include "o2top/collect/collect.h"

#include <limits.h>

/*
 * Opens a file. Its label is its path from `from` characters on. Returns -ENOENT if there is none.
 */
int tree_open(const char *root, size_t from, const struct space_sample *space, enum file_kind kind,
	      struct input *in);
/*
 * Lists the lock spaces under root, in a stable order. Returns 0 or a negative errno. An empty list
 * is not an error.
 */
int tree_spaces(const char *root, struct space_sample **out, size_t *n);
void tree_free_spaces(struct space_sample *spaces, size_t n);
/* Takes the node's clocks from realtime and uptime, if they exist. */
void tree_clock(const char *root, size_t from, struct node_sample *node, struct problems *problems);
/* Returns whether a folder looks like a node's. */
bool tree_is_node(const char *root);

/*
 * Lists the names in a folder except . and .., sorted as people count (t9 before t10). Returns how
 * many there are, or a negative errno.
 */
int tree_names(const char *path, char ***names);
void tree_free_names(char **names, int n);

#endif
