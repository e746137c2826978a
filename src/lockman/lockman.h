/* SPDX-License-Identifier: MIT */
/*
 * lockman.h - what a lock manager is to the glocks above it: a struct of functions.
 *
 * A lock manager knows nothing of glocks: it has locks on named resources in the DLM's modes, and
 * tells what became of requests and that others wait. Modes, flags and statuses are the DLM's, in
 * table.h.
 *
 * Rules for both sides
 *   - Of each lock one request is open at a time: none is made before the last one's reply.
 *   - A request that was accepted gets one reply, which may come before the call returns, on any
 *     thread. The caller therefore holds no lock that a reply needs.
 *   - A demand (bast) may come at any time while the lock exists, early or late: before the reply
 *     that grants the mode it is about, or after the lock has given way already. Several may
 *     become one.
 *   - After the reply to unlock nothing more comes for the lock.
 *   - leave: all open requests are answered, with -ENODEV if need be, before it returns, and none
 *     is accepted any more. Locks still there are given back, or, if the node failed, treated as
 *     those of a dead node.
 */
#ifndef GLOCK_LOCKMAN_LOCKMAN_H
#define GLOCK_LOCKMAN_LOCKMAN_H

#include "table.h"

#include <inttypes.h>
#include <stdio.h>

struct glock__lockman;

/* A lock, in its owner's memory; behind it the GLOCK__LVB_LEN bytes of its value, if it has one. */
struct glock__lm_lock {
	uint32_t id;       /* the lock manager's own; 0: it does not know this lock */
	uint8_t has_lvb;   /* has a value block */
	uint8_t lvb_valid; /* set by the lock manager when it reads or writes the value */
	uint8_t own[2];    /* the lock manager's; zero at first */
};

static inline void *glock__lm_lvb(struct glock__lm_lock *lk)
{
	return lk->has_lvb ? lk + 1 : NULL;
}

struct glock__lm_ops {
	const char *name;
	/* A new lock, or another mode for one. 0, or a negative errno: then no reply comes. */
	int (*lock)(struct glock__lockman *lm, struct glock__lm_lock *lk, unsigned int type,
		    uint64_t number, int mode, uint32_t flags);
	/* Take the open request back, if it is not too late. The reply comes all the same. */
	void (*cancel)(struct glock__lockman *lm, struct glock__lm_lock *lk);
	/* Gives the lock back; the reply is -GLOCK__DLM_EUNLOCK. Does not fail. */
	void (*unlock)(struct glock__lockman *lm, struct glock__lm_lock *lk);
	void (*leave)(struct glock__lockman *lm, bool failed);
	void (*free)(struct glock__lockman *lm);
	/*
	 * Optional, or -EOPNOTSUPP. file: a new, empty file of this node's own where others find it,
	 * open for reading and writing; the caller closes it. alive: a descriptor that is to be
	 * inherited by a child: this node lives for the others as long as somebody has it open. It
	 * is the lock manager's and closed by exec unless the caller changes that.
	 */
	int (*file)(struct glock__lockman *lm);
	int (*alive)(struct glock__lockman *lm);
};

/* What it tells. */
struct glock__lm_events {
	void (*reply)(struct glock__lm_lock *lk, int status, unsigned int sbflags);
	void (*bast)(struct glock__lm_lock *lk, int mode);
	/* Others died, and what they left is being put in order: hold new grants back until thaw.
	 */
	void (*block)(void *owner);
	void (*thaw)(void *owner);
};

/* A lock manager's first member. */
struct glock__lockman {
	const struct glock__lm_ops *ops;
	const struct glock__lm_events *events;
	void *owner;
};

/* A resource's name: type and number in hexadecimal, right-aligned in 8 and 16 columns. */
#define GLOCK__LM_NAME_LEN 24
static inline void glock__lm_name(char name[GLOCK__LM_NAME_LEN + 1], unsigned int type,
				  uint64_t number)
{
	snprintf(name, GLOCK__LM_NAME_LEN + 1, "%8x%16" PRIx64, type, number);
}

#endif
