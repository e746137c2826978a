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
 *   - While a request waits, each other node gets the lock once at most. The DLM keeps to that among
 *     conversions with QUECVT; a new lock it lets wait behind conversions for ever. So a new lock
 *     that cannot be granted at once is asked for at NL, with EXPEDITE, and then converted.
 *   - leave: all open requests are answered, with -ENODEV if need be, before it returns, and none
 *     is accepted any more. Locks still there are given back, or, if the node failed, treated as
 *     those of a dead node. No other thread is in an event of such a lock when it is answered: the
 *     answer may free it.
 */
#ifndef GLOCK__LOCKMAN_H
#define GLOCK__LOCKMAN_H

#include "lockman/table/table.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

struct glock__lockman;

/* A lock, in its owner's memory; behind it the GLOCK__LVB_LEN bytes of its value, if it has one. */
struct glock__lm_lock {
	uint32_t id; /* the lock manager's own; 0: it does not know this lock */
	/* Set by its owner: */
	uint8_t has_lvb;      /* has a value block */
	uint8_t tell_at_once; /* wants to hear of demands while it is held */
	/* Set by the lock manager: */
	uint8_t lvb_valid; /* when it reads or writes the value */
	uint8_t held;      /* with a grant: idle() is to be called once when nobody uses it */
};
static_assert(sizeof(struct glock__lm_lock) == 8, "every glock has one");

/* Somebody whom a request waits for. */
struct glock__lm_peer {
	pid_t pid;
	char comm[16];
	int mode;   /* the DLM's */
	bool waits; /* for that mode, before us; else has it */
	bool stopped, dead;
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

	/* The rest may be NULL. First of all, when its owner is ready for events. */
	int (*start)(struct glock__lockman *lm);
	/*
	 * Between poll_begin and poll_end the calling thread is the one that polls: the lock manager
	 * wakes no other thread for an event. poll_end delivers each event that came meanwhile.
	 * poll_begin returns false if another thread polls already: then there is no poll_end.
	 */
	bool (*poll_begin)(struct glock__lockman *lm);
	void (*poll_end)(struct glock__lockman *lm);
	/* Fetches the events that are there and delivers them, in the calling thread. */
	void (*poll)(struct glock__lockman *lm);
	/* What was granted is not in use any more; see glock__lm_lock.held. */
	void (*idle)(struct glock__lockman *lm, struct glock__lm_lock *lk);
	/*
	 * Sleeps until the word is not `seen` any more, or events came, or the deadline
	 * (CLOCK_MONOTONIC, ns; 0: none; -ETIMEDOUT), or a signal (-EINTR), or for no reason. -EBUSY: another thread does
	 * so: sleep on the word itself. Whoever changes the word calls nudge.
	 */
	int (*wait)(struct glock__lockman *lm, void *word, uint32_t seen, int64_t deadline);
	void (*nudge)(struct glock__lockman *lm, void *word);
	/*
	 * Of a lock held in EX: the number that was given with the grant, higher than any that went
	 * with EX before. 0, or -EIO: this node can not go on, and does not have it any more.
	 * Blocks for no longer than instructions.
	 */
	int (*token)(struct glock__lockman *lm, struct glock__lm_lock *lk, uint64_t *token);
	/* Whom the open request waits for; how many of them are in out. */
	size_t (*in_the_way)(struct glock__lockman *lm, struct glock__lm_lock *lk,
			     struct glock__lm_peer *out, size_t max);
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
	/*
	 * Others died, and what they left is being put in order: hold new grants back until thaw. They
	 * may be told under a lock of the lock manager's, so that they come in order: no request is to
	 * be made before they return.
	 */
	void (*block)(void *owner);
	void (*thaw)(void *owner);
	/* This node can not go on: whatever it holds may be held by others. */
	void (*gone)(void *owner);
	/*
	 * The same, but it may be that this node can go on later: lost, and if so, back. In between
	 * all requests are refused with -ENODEV, and after it no lock is known (all ids are 0).
	 */
	void (*lost)(void *owner);
	void (*back)(void *owner);
	/* Nobody is to be granted anything, though what is held is not lost; and it goes on. */
	void (*pause)(void *owner);
	void (*resume)(void *owner);
	/* Somebody died: put in order what it left. Grants are held back until this returns. */
	void (*recover)(void *owner, const struct glock__lm_peer *dead);
	/* Optional: the bell was rung and there was no event. A reader may have asked; under no lock. */
	void (*control)(void *owner);
};

/* A lock manager's first member. */
struct glock__lockman {
	const struct glock__lm_ops *ops;
	const struct glock__lm_events *events;
	void *owner;
	unsigned int value_len; /* of a value block, what the owner may use; 0: all */
	/* Two words that differ when there is something to fetch; NULL: events come by themselves. */
	const uint32_t *bell;
};

static inline bool glock__lm_rung(const uint32_t bell[2])
{
	return __atomic_load_n(&bell[0], __ATOMIC_ACQUIRE) !=
	       __atomic_load_n(&bell[1], __ATOMIC_ACQUIRE);
}

/* Whether somebody should poll(). */
static inline bool glock__lm_due(const struct glock__lockman *lm)
{
	return lm->bell && glock__lm_rung(lm->bell);
}

/* A resource's name: type and number in hexadecimal, right-aligned in 8 and 16 columns. */
#define GLOCK__LM_NAME_LEN 24
static inline void glock__lm_name(char name[GLOCK__LM_NAME_LEN + 1], unsigned int type,
				  uint64_t number)
{
	char *at = name + GLOCK__LM_NAME_LEN;

	*at = 0;
	memset(name, ' ', GLOCK__LM_NAME_LEN);
	do
		*--at = "0123456789abcdef"[number & 15];
	while (number >>= 4);
	at = name + 8;
	do
		*--at = "0123456789abcdef"[type & 15];
	while (type >>= 4);
}

#endif
