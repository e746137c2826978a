/* SPDX-License-Identifier: MIT */
/*
 * ocfs2_wait.h - the change between two Shots of an OCFS2 lock on one node.
 */
#ifndef O2TOP_OCFS2_WAIT_H
#define O2TOP_OCFS2_WAIT_H

#include "o2top/model/source.h"
#include "o2top/sources/lines/ocfs2_line.h"

/*
 * A Lock that may be waiting. ocfs2_settle() decides, once the DLM was asked and the kernel is
 * known to count or not.
 */
struct ocfs2_pending {
	uint32_t lock;
	bool followed;    /* two samples showed the Lock at the same point */
	double dt, share; /* seconds since the Shot before; the frame's share of them */
};

struct ocfs2_waits {
	struct source_sample *t;
	struct ocfs2_pending *pending;
	size_t n, room;
};

/* Returns whether a request of this node is with the DLM and is no downconvert. */
static inline bool ocfs2_busy(const struct ocfs2_shot *s)
{
	return (s->flags & OCFS2_BUSY) &&
	       (s->action == OCFS2_ACT_ATTACH || s->action == OCFS2_ACT_CONVERT);
}

/*
 * Adds the events since Shot p to the Lock's change.
 *
 * - p: the Lock's last Shot, which the Lock still has; NULL if there is none
 * - renewed: another inode is in the same block
 */
void ocfs2_compare(struct ocfs2_waits *w, struct lock *lock, const struct ocfs2_shot *p,
		   const struct ocfs2_shot *s, bool renewed);

/* Decides, after the last line, which Locks wait. `counts`: this node's kernel keeps statistics. */
void ocfs2_settle(struct ocfs2_waits *w, bool counts);

#endif
