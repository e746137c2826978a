/* SPDX-License-Identifier: MIT */
/*
 * snapshot.h - a lasting frame: everything that a view needs of a sample, without the model.
 *
 * The next sample can be taken while a snapshot is on the screen. A group points into the model's
 * tables, but a snapshot's group points into copies. The copies are a Lock for each LockSet, the
 * processes at the Lock, and paths. The snapshot also has a shell of the model with the nodes'
 * names, states and clocks.
 */
#ifndef O2TOP_SNAPSHOT_H
#define O2TOP_SNAPSHOT_H

#include "o2top/rank/group.h"

/* Processes at one member's Lock. */
struct span {
	uint32_t first, n;
};

struct snapshot {
	struct model model; /* a shell: its tables are empty, its only sample is this one */
	struct group group;
	struct problems problems;
	char *label;
	bool single;
	/* in a recording: the number of this sample, and of all samples; otherwise 0 */
	size_t position, count;
	/* storage */
	struct node_space *shell;
	struct lock *locks;
	struct holder *holders;
	struct span *at; /* by member */
	char *paths;
};

/*
 * Makes a snapshot and takes over the group and the problems. The group is empty afterwards.
 * Without memory the function frees the group and returns NULL.
 */
struct snapshot *snapshot_make(const struct model *m, struct group *g, struct problems *problems,
			       const char *label, bool single);
void snapshot_free(struct snapshot *s);

/* Returns the processes at a member's Lock. */
const struct holder *snapshot_holders(const struct snapshot *s, const struct member *member,
				      uint32_t *n);

#endif
