/* SPDX-License-Identifier: MIT */
/*
 * lockman.h - the interface between the glocks and a lock manager: two structs of functions.
 *
 * struct glock__lm_ops is what a lock manager has to do, struct glock__lm_events what it tells.
 * Polling, memory and files, at the end, are structs of functions that a lock manager may add.
 *
 * A lock manager knows nothing of glocks. It has locks on named resources, in the modes of the DLM.
 * It reports the result of each request, and the demands of other nodes. Modes, flags and statuses
 * are those of the DLM, in table.h.
 *
 * Rules for both sides
 *   1. A lock has one open request at a time. The owner makes the next one after the reply.
 *   2. An accepted request gets one reply. The reply may come before the call returns, and on any
 *      thread. Therefore the caller holds no lock that the handling of a reply needs.
 *   3. A demand (bast) may come at any time while the lock exists. It may come before the reply
 *      that grants the mode in question, or after the lock has already given way. Several demands
 *      may become one.
 *   4. After the reply to unlock, no event comes for the lock.
 *   5. While a request waits, each other node gets the lock at most once. The DLM guarantees that
 *      among conversions with QUECVT, but a new lock may wait behind conversions for ever.
 *      Therefore a lock manager asks for a new lock at NL with EXPEDITE, if the lock cannot be
 *      granted at once, and then converts the lock.
 *   6. Before leave returns, each open request has its reply, with -ENODEV if need be. Afterwards
 *      the lock manager accepts no request. leave gives back the locks that are left. If the node
 *      failed, the other nodes treat them as the locks of a dead node. While leave replies for a
 *      lock, no other thread is in an event of that lock, because the reply may free it.
 */
#ifndef GLOCK__LOCKMAN_H
#define GLOCK__LOCKMAN_H

#include "base/compiler.h"
#include "lockman/table/table.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

struct glock__lockman;

/* A lock, in the memory of its owner. Its value follows, GLOCK__LVB_LEN bytes, if it has one. */
struct glock__lm_lock {
	uint32_t id; /* of the lock manager; 0: the lock manager does not know this lock */
	/* Set by the owner: */
	uint8_t has_lvb;      /* has a value block */
	uint8_t tell_at_once; /* the owner wants demands while the lock is held */
	/* Set by the lock manager: */
	uint8_t lvb_valid; /* changes when it reads or writes the value block */
	/*
	 * With a grant: the owner calls idle() once after the last use. The owner sets
	 * GLOCK__LM_KEPT before leave_but(), and 0 afterwards. An atom.
	 */
	uint8_t held;
};
#define GLOCK__LM_KEPT 2
static_assert(sizeof(struct glock__lm_lock) == 8, "each glock has one, so it is small");

/* A process that a request waits for. */
struct glock__lm_peer {
	pid_t pid;
	char comm[16];
	int mode;   /* of the DLM */
	bool waits; /* waits for that mode, before this node; otherwise it has the mode */
	bool stopped, dead;
};

/* A member of the space: a process, or a machine. */
struct glock__lm_node {
	uint64_t id;   /* no other member had it, or will have it */
	uint32_t slot; /* a small number that no other member has now */
	bool self;
	pid_t pid; /* 0: the member is a machine */
	char name[64];
};

static inline void *glock__lm_lvb(struct glock__lm_lock *lk)
{
	return lk->has_lvb ? lk + 1 : NULL;
}

struct glock__lm_ops {
	const char *name;
	/*
	 * Asks for a new lock, or for another mode. After a negative errno no reply comes. -ETIME:
	 * a stopped process keeps the lock manager from an answer. The caller asks again later.
	 */
	int (*lock)(struct glock__lockman *lm, struct glock__lm_lock *lk, unsigned int type,
		    uint64_t number, int mode, uint32_t flags);
	/*
	 * Takes the open request back, if it is not too late. The reply comes in either case.
	 * Returns false if a stopped process is in the way, as with -ETIME: the caller calls again.
	 */
	bool (*cancel)(struct glock__lockman *lm, struct glock__lm_lock *lk);
	/* Gives the lock back. The reply is -GLOCK__DLM_EUNLOCK. The call does not fail. */
	void (*unlock)(struct glock__lockman *lm, struct glock__lm_lock *lk);
	void (*leave)(struct glock__lockman *lm, bool failed);
	void (*free)(struct glock__lockman *lm);

	/* The functions below may be NULL. start comes first: the owner is ready for events. */
	int (*start)(struct glock__lockman *lm);
	/*
	 * The node withdraws while operations of the program write under the locks with
	 * GLOCK__LM_KEPT. These locks stay, as those of a living node. leave_but gives the others
	 * back as a failed node does, and accepts no request afterwards, as after leave. It may
	 * keep them all instead. It comes again when a lock is kept no longer, and at the end comes
	 * leave. NULL: only leave comes, at once.
	 */
	void (*leave_but)(struct glock__lockman *lm);
	/* The last use of a granted lock has ended; see glock__lm_lock.held. */
	void (*idle)(struct glock__lockman *lm, struct glock__lm_lock *lk);
	/*
	 * Stores the fencing token of a lock held in EX. The token came with the grant, and is
	 * higher than each token that came with EX before. -EIO: this node cannot go on, and has
	 * lost the lock. Blocks for a few instructions only.
	 */
	int (*token)(struct glock__lockman *lm, struct glock__lm_lock *lk, uint64_t *token);
	/*
	 * Tells whether this node may rely on its locks now. NULL: it may, until an event says
	 * otherwise. A lock manager whose node has to be confirmed in time answers by the clock. So
	 * the answer is right even before the event pause.
	 */
	bool (*sure)(struct glock__lockman *lm);
	/* Stores up to max members, this node included. Returns their number, even above max. */
	size_t (*nodes)(struct glock__lockman *lm, struct glock__lm_node *out, size_t max);
	/* Stores the peers that the open request waits for. Returns their number. */
	size_t (*in_the_way)(struct glock__lockman *lm, struct glock__lm_lock *lk,
			     struct glock__lm_peer *out, size_t max);
	/* Stores a text that tells the space from others of its name. NULL: there are none. */
	void (*identity)(const struct glock__lockman *lm, char *text, size_t size);
	/* Returns the path of the space's file. */
	const char *(*path)(const struct glock__lockman *lm);
};

#define GLOCK__BAST_IDLE 0x8

/* The events of a lock manager, and two questions to the owner. */
struct glock__lm_events {
	/*
	 * The number of a lock, and the lock of a number. A lock manager that shares memory with
	 * other processes stores numbers there, and never addresses. find accepts any number, on
	 * any thread, under any lock. It returns NULL if no lock ever had the number. The lock may
	 * be free by now, and then its id is 0. Its memory stays readable while the owner lives.
	 */
	uint32_t (*number)(const struct glock__lm_lock *lk);
	struct glock__lm_lock *(*find)(void *owner, uint32_t number);
	void (*reply)(struct glock__lm_lock *lk, int status, unsigned int sbflags);
	/*
	 * With GLOCK__BAST_IDLE in mode a request with IDLE waits: the owner gives an unused lock
	 * up at once. Returns true if the lock is used, so that this request is to be refused.
	 */
	bool (*bast)(struct glock__lm_lock *lk, int mode);
	/*
	 * Other nodes died and their locks are being recovered: grants have to wait until thaw. The
	 * lock manager may send both events under a lock of its own, so that they come in order.
	 * Therefore no request is made before the event returns.
	 */
	void (*block)(void *owner);
	void (*thaw)(void *owner);
	/* This node cannot go on: other nodes may get each lock that it holds. */
	void (*gone)(void *owner);
	/*
	 * The same, but this node may go on later: then back follows lost. In between each request
	 * is refused with -ENODEV. After back the lock manager knows no lock (all ids are 0).
	 */
	void (*lost)(void *owner);
	void (*back)(void *owner);
	/*
	 * Tells whether the owner has dropped caches without writing them, because the node failed.
	 * Then unlock gives no lock back: only leave and the end of lost tell other nodes of it.
	 */
	bool (*has_failed)(void *owner);
	/*
	 * After lost: tells whether operations of the program still write under locks that were
	 * lost. The lock manager gives no lock back until they have ended.
	 */
	bool (*writes)(void *owner);
	/* No holder may be granted until resume. The locks that are held stay valid. */
	void (*pause)(void *owner);
	void (*resume)(void *owner);
	/* A node died: the program repairs its data. Grants wait until this returns. */
	void (*recover)(void *owner, const struct glock__lm_node *dead);
	/*
	 * Optional: memory for locks is short in these parts (a bit each). The owner gives idle
	 * locks of these parts back, the oldest first, and calls gave_back() for each part. The
	 * owner does so later, and this event only notes the parts. Under no lock.
	 */
	void (*give_back)(void *owner, uint32_t parts);
	/* Optional: the bell was rung without an event, perhaps by a reader. Under no lock. */
	void (*control)(void *owner);
};

/*
 * The first member of each lock manager. The lock manager sets ops and the parts that it has. The
 * owner sets events and owner before start.
 */
struct glock__lockman {
	const struct glock__lm_ops *ops;
	const struct glock__lm_polling *polling; /* NULL: events come on threads of their own */
	const struct glock__lm_memory *memory;   /* NULL: memory for locks does not run short */
	const struct glock__lm_files *files;     /* NULL: the space has no place for files */
	const struct glock__lm_events *events;
	void *owner;
	unsigned int value_len; /* bytes of a value block that the owner may use; 0: all */
	/*
	 * ns, a mean: from the reply to a release until another node, which sleeps, sees its grant.
	 * 0: the reply comes as late as that grant. An atom.
	 */
	uint32_t wake_up;
	/* Two words that differ when events wait for poll(). NULL: events come without poll(). */
	const uint32_t *bell;
};

/* ---- optional parts ---- */

/* Threads of the owner fetch the events. */
struct glock__lm_polling {
	/*
	 * Between begin and end the calling thread is the one that polls: the lock manager wakes no
	 * other thread for an event. end delivers each event that came meanwhile. begin returns
	 * false if another thread polls already: then there is no end.
	 */
	bool (*begin)(struct glock__lockman *lm);
	void (*end)(struct glock__lockman *lm);
	/* Fetches the events that are there and delivers them, in the calling thread. */
	void (*poll)(struct glock__lockman *lm);
	/*
	 * Sleeps until the word is not `seen`, or events came, or for no reason. Also ends at the
	 * deadline (CLOCK_MONOTONIC, ns; 0: none) with -ETIMEDOUT, and after a signal with -EINTR.
	 * -EBUSY: another thread waits here, so that the caller has to sleep on the word itself. A
	 * thread that changes the word calls nudge.
	 */
	int (*wait)(struct glock__lockman *lm, void *word, uint32_t seen, int64_t deadline);
	void (*nudge)(struct glock__lockman *lm, void *word);
};

/* Memory for locks is limited, and locks that nodes give back make room. */
struct glock__lm_memory {
	/*
	 * Looks for memory after lock() returned -ENOSPC, `waited` ns after the first time. Asks
	 * the owner, and then the other nodes, to give idle locks back (the event give_back).
	 * Returns the time in ns after which the owner asks for the lock again. 0: no memory will
	 * come. At once.
	 */
	int64_t (*make_room)(struct glock__lockman *lm, unsigned int type, uint64_t number,
			     int64_t waited);
	/*
	 * Returns the part of the lock manager's memory that the lock is in, below 32. Only locks
	 * of one part make room for each other. NULL: there is one part, 0.
	 */
	unsigned int (*part)(struct glock__lockman *lm, unsigned int type, uint64_t number);
	/* The owner has served the event give_back for a part, and gives n locks back. */
	void (*gave_back)(struct glock__lockman *lm, unsigned int part, size_t n);
};

/* The space has files on this machine. Only file has to be there. */
struct glock__lm_files {
	/*
	 * Opens a new, empty file of this node for reading and writing, in a place where readers
	 * find it. The caller closes the file. -EOPNOTSUPP: there is no such place.
	 */
	int (*file)(struct glock__lockman *lm);
	/*
	 * Returns a descriptor that a child may inherit. It gives no access to the space, so the
	 * child may be of another user. For the other nodes this node lives while a process has it
	 * open. It belongs to the lock manager, and exec closes it unless the caller changes that.
	 */
	int (*alive)(struct glock__lockman *lm);
	/* Looks whether the space is still there. If not, the event gone has come. */
	bool (*is_there)(struct glock__lockman *lm);
};

static inline bool glock__lm_rung(const uint32_t bell[2])
{
	return __atomic_load_n(&bell[0], __ATOMIC_ACQUIRE) !=
	       __atomic_load_n(&bell[1], __ATOMIC_ACQUIRE);
}

/* Tells whether a thread should call poll(). */
static inline bool glock__lm_due(const struct glock__lockman *lm)
{
	return lm->bell && glock__lm_rung(lm->bell);
}

/* Returns the lock manager `none`, of a process that shares with no other. NULL: no memory. */
struct glock__lockman *glock__none_new(void);

/* The time of all lock managers and of the library: CLOCK_MONOTONIC, in nanoseconds. */
GLOCK__INLINE int64_t glock__clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/*
 * Starts a thread of the library. The thread inherits the mask, so that no signal of the program is
 * handled there. Returns 0 or a negative errno.
 */
static inline int glock__start_thread(pthread_t *thread, const char *name, void *(*run)(void *),
				      void *arg)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = -pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!err)
		pthread_setname_np(*thread, name);
	return err;
}

/* The name of a resource: type and number in hexadecimal, right-aligned in 8 and 16 columns. */
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
