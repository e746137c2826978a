/* SPDX-License-Identifier: MIT */
/*
 * find_spaces.h - the lock spaces of this machine, their nodes and the nodes' conditions.
 *
 * A node is a process.
 *
 * A reader looks from outside, without joining and without a lock. A space is a file in a directory
 * of its owner. A node's published data lies beside it, under the same name, a comma and the node's
 * number. A node lives while a process has a lock on the byte of that number in the space's file. A
 * reader can ask for such a lock without taking one. That holds for lock manager local. Nodes of a
 * space of another lock manager have files of their own (node_file.h).
 */
#ifndef GLOCK__FIND_SPACES_H
#define GLOCK__FIND_SPACES_H

#include "peek.h"

#include <sys/types.h>

enum glock__condition {
	GLOCK__NODE_OK,
	GLOCK__NODE_DEAD,      /* gone without a goodbye */
	GLOCK__NODE_INHERITED, /* its program is gone, and one that inherited the locks is not */
	GLOCK__NODE_STOPPED,
	GLOCK__NODE_HANGS, /* the kernel does not let it go on, or it does not do its work */
	GLOCK__NODE_WITHDRAWN,
	GLOCK__CONDITION_MAX
};

extern const char *const glock__condition_names[GLOCK__CONDITION_MAX];

struct glock__found_node {
	unsigned int slot;
	pid_t pid;
	uint64_t started; /* in clock ticks since boot */
	char command[16];
	char *path;               /* its file, or NULL */
	struct glock__peek *peek; /* what it publishes; NULL: that cannot be read, see error */
	int error;
	enum glock__condition condition;
	char why[96]; /* more about it, or "" */
};

struct glock__found_space {
	char name[68];
	char lockman[12];
	char *
	    path; /* of its file; of another lock manager's than local: what its nodes' files begin with */
	uid_t uid;
	gid_t gid;
	bool other_version;               /* of glock: what is in it cannot be told */
	struct glock__found_node *nodes; /* by slot */
	size_t n_nodes;
};

struct glock__find_spaces {
	struct glock__found_space *spaces; /* by name */
	size_t n;
};

/*
 * name: only spaces called so, or the one at that path, if it has a slash; NULL: all. 0 or negative errno; that there are none is no error.
 * What is found is put into *s, which is to be freed also after an error.
 */
int glock__find_spaces(struct glock__find_spaces *s, const char *name);
void glock__found_free(struct glock__find_spaces *s);

/*
 * Asks a node to trace until then (CLOCK_MONOTONIC, ns; 0: no more), and has it look at once. Needs
 * the right to write to its file and the space's.
 */
int glock__found_trace(const struct glock__found_space *space,
			const struct glock__found_node *node, int64_t until);

/*
 * Has a node give a glock up, down to that mode: at once when nobody uses it there and its hold time
 * is over, else then. -ENOENT: it does not have this glock. -ETIMEDOUT: it does not answer, as it is
 * stopped or hangs, and will do so when it goes on.
 */
int glock__found_demote(const struct glock__found_space *space,
			 const struct glock__found_node *node, unsigned int type, uint64_t number,
			 enum glock_mode to);

/*
 * Removes a space that no node lives in, and all that belongs to it. -EBUSY: one does, or joins at
 * this moment; or as open(2) and unlink(2).
 */
int glock__found_remove(const struct glock__found_space *space);

#endif
