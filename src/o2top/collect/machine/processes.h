/* SPDX-License-Identifier: MIT */
/*
 * processes.h - the processes of this machine that are in lock spaces of libglock; each is a node.
 *
 * o2top reads their published parts without their help and hands out text; see sources/glock.c.
 */
#ifndef O2TOP_PROCESSES_H
#define O2TOP_PROCESSES_H

#include "o2top/collect/collect.h"

struct processes;

/*
 * Appends the processes that exist now to the n nodes in *nodes. *p is NULL at first, and is kept
 * from sample to sample. Nodes point into it until the next call. problems may be NULL. Returns 0
 * or a negative errno.
 */
int processes_take(struct processes **p, struct node_sample **nodes, size_t *n,
		   struct problems *problems);
/*
 * Opens the text of a process. Returns -ENOENT if the node is no such process, or has no such file.
 */
int processes_open(const struct processes *p, const struct node_sample *node,
		   const struct space_sample *space, enum file_kind kind, struct input *in);
void processes_free(struct processes *p);

/*
 * Returns whether a process with these spaces is to be listed. has_fs: a node has a cluster file
 * system.
 */
bool processes_want(const struct processes_wanted *wanted, bool has_fs,
		    const struct space_sample *spaces, size_t n);

#endif
