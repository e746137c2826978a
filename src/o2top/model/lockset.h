/* SPDX-License-Identifier: MIT */
/*
 * lockset.h - one lock on all nodes, in one frame.
 *
 * A member is one node's Lock with what the Lock did in the frame. The members point into the
 * model. They are good until the next sample.
 */
#ifndef O2TOP_LOCKSET_H
#define O2TOP_LOCKSET_H

#include "shot.h"
#include "table.h"

/* The key of a row: an inode, or a lock that belongs to no file. */
struct row_id {
	uint8_t class; /* 0 is an inode; other classes are the source's */
	uint64_t number;
};

/* One node's Lock, and its change in the frame. */
struct member {
	uint32_t space, node;
	struct row_id row;
	const struct lock *lock;
	const struct change *change;
};

struct lockset {
	const struct member *members;
	uint32_t n_members;
	struct change sum;
	double lost_per_s, acquired_per_s; /* each member by its own node's time */
};

/* The root of a row's longest wait, as the row's sentence names it. */
struct blocker {
	int32_t node;  /* -1: not known, or o2top does not watch the node */
	int number;    /* of a node that o2top does not watch, in its DLM; 0 not known */
	int64_t pid;   /* the process that holds the lock there; 0 not known */
	bool watched;  /* with `number`: it may be a node that o2top watches, too */
	bool inside;   /* a process holds the lock */
	bool silent;   /* the node does not answer */
	bool chain;    /* the nodes for which requests wait wait themselves */
	bool deadlock; /* the chain surely comes back to its begin */
	bool other;    /* the chain ends at a lock of another row */
	struct row_id row; /* with `other`: the row of that lock */
};

/* The longest wait of a row. The source makes a sentence about it. */
struct row_wait {
	uint32_t space;
	struct row_id row;
	const char *label;         /* the row's name for the user */
	const struct lockset *set; /* the lock for which requests wait */
	bool opened;               /* the user has opened the row, so short waits count, too */
};

#endif
