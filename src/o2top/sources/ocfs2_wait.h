/* SPDX-License-Identifier: MIT */
/*
 * ocfs2_wait.h - the change between two Shots of an OCFS2 lock on one node.
 */
#ifndef O2TOP_OCFS2_WAIT_H
#define O2TOP_OCFS2_WAIT_H

#include "o2top/model/source.h"
#include "ocfs2_line.h"

/* A Lock that may be waiting, until the DLM was asked and it is known whether the kernel counts. */
struct ocfs2_pending {
	uint32_t lock;
	bool followed;    /* two samples showed it at the same point */
	double dt, share; /* the time since the Shot before and how much of it is in this frame */
};

struct ocfs2_waits {
	struct source_sample *t;
	struct ocfs2_pending *pending;
	size_t n, room;
};

/* A request of this node's is with the DLM, and it is not one that gives the lock up. */
static inline bool ocfs2_busy(const struct ocfs2_shot *s)
{
	return (s->flags & OCFS2_BUSY) &&
	       (s->action == OCFS2_ACT_ATTACH || s->action == OCFS2_ACT_CONVERT);
}

/*
 * Adds what happened since Shot p, NULL where there is none, to the Lock's change; the Lock still
 * has p. `renewed`: its inode is another one in the same block.
 */
void ocfs2_compare(struct ocfs2_waits *w, struct lock *lock, const struct ocfs2_shot *p,
		   const struct ocfs2_shot *s, bool renewed);

/*
 * After the last line: decides on what may be waiting. `counts`: this node's kernel keeps
 * statistics.
 */
void ocfs2_settle(struct ocfs2_waits *w, bool counts);

#endif
