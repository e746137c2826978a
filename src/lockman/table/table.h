/* SPDX-License-Identifier: MIT */
/*
 * table.h - the distributed lock manager's lock table, as a pure data structure.
 *
 * Resources by name, locks on them in six modes, three queues, value blocks, callbacks: what the
 * master of a resource does in a cluster's DLM, for nodes that all see the same memory. It does
 * no I/O, reads no clock, starts no thread and allocates nothing but cells of the memory that it
 * was given.
 *
 * Memory. A table lives in one piece of memory and refers to itself by numbers only, so that it
 * may be mapped at another address in every process, and be copied. Its last part is an array
 * of 64-byte cells; a resource is a cell, a lock is a cell. See table_impl.h.
 *
 * Trust. All who may write to the memory are trusted with it: only glock__table_attach() and
 * glock__table_check() expect anything to be wrong. Ids are checked, so that a late or a made up
 * one finds nothing; whose lock it is, is not.
 *
 * Locking rule. A table does not lock. The caller lets one thread at a time, of one process, into
 * any function here but glock__table_hash(). Programs that want less contention use several
 * tables (shards), each with its own lock, and choose one by the upper half of the name's hash,
 * since a table's buckets go by the lower. Nothing in a table refers to another table.
 *
 * Being killed. A caller may be killed after any store. Whoever gets the table's lock next, and
 * finds that its last owner died, calls glock__table_recover() before anything else; until then
 * every call that returns an errno says -EOWNERDEAD. An operation is then either undone, as if it
 * had never been called, or completed. Which of the two: undone up to its first commit, completed
 * after; see table_undo.c. Node death is another thing: glock__table_purge().
 *
 * Completions. A call that can be answered at once is, in its event, and no callback follows. Else
 * it says -EINPROGRESS, and the grant becomes an AST of the lock's node. ASTs and BASTs are bits
 * in the lock, and the locks that have one are linked: a node that does not fetch them (because
 * it is stopped) costs no memory. glock__table_wake() says whom to tell that there is something.
 *
 * Differences from the kernel's fs/dlm that a caller can see. Where its versions differ, this is
 * 6.17: -EBUSY comes before -EINVAL for a bad pair with QUECVT, canceling twice does nothing.
 *   - After unlock no callback of that lock comes any more; its pending ones are gone with it.
 *   - An operation is in progress until its AST was fetched: converting before is -EBUSY.
 *   - BASTs that were not fetched yet are one BAST (see glock__table_event), and those from before
 *     a grant are void with it; what the lock still blocks is told anew.
 *   - Unlocking a lock that waits or converts needs FORCEUNLOCK, as the manual says. The kernel
 *     checks only for messages under way; GLOCK__TABLE_UNLOCK_ANY does the same.
 *   - PERSISTENT and ORPHAN are -EOPNOTSUPP: they let a lock outlive its process, which here is
 *     the node, and a dead node's locks must go. CONVERT without a lkid is -EINVAL, not -ENOENT.
 *   - A node's death invalidates the value blocks of all its PW and EX locks, as closing the
 *     kernel's device does, and is told to locks without a value block as well (OWNER_DIED). Who
 *     was told, and could not act on it, gives that back (DEATH_UNREPORTED).
 *   - A value block is never written from a buffer that the call did not name: where VALBLK holds
 *     from an earlier request and unlock has no lvb, it is left alone.
 *   - A conversion that was queued with ALTPR or ALTCW and is then granted in the mode that it
 *     has already leaves the convert queue; the kernel forgets it there.
 *   - Conversions that deadlock each other only after they were queued (because of HEADQUE) are
 *     demoted until none is left to demote; the kernel looks at the queue twice at most.
 *   - The grant queue is sorted. The kernel means to, but compares the wrong field; nothing but
 *     the order of BASTs to different locks depends on it.
 */
#ifndef GLOCK__TABLE_H
#define GLOCK__TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Modes, with the DLM's numbers. */
enum glock__lkmode {
	GLOCK__IV = -1,
	GLOCK__NL = 0,
	GLOCK__CR = 1,
	GLOCK__CW = 2,
	GLOCK__PR = 3,
	GLOCK__PW = 4,
	GLOCK__EX = 5,
	GLOCK__LKMODE_MAX,
};

/* Flags of requests, with the DLM's values. Those that it ignores are ignored. */
#define GLOCK__LKF_NOQUEUE 0x00000001u     /* do not wait: -EAGAIN */
#define GLOCK__LKF_CANCEL 0x00000002u      /* unlock: cancel what waits, keep what is granted */
#define GLOCK__LKF_CONVERT 0x00000004u     /* another mode for a lock that is granted */
#define GLOCK__LKF_VALBLK 0x00000008u      /* read or write the value block */
#define GLOCK__LKF_QUECVT 0x00000010u      /* convert: not before those who convert already */
#define GLOCK__LKF_IVVALBLK 0x00000020u    /* where the value block would be written: spoil it */
#define GLOCK__LKF_CONVDEADLK 0x00000040u  /* convert: in a deadlock give up the granted mode */
#define GLOCK__LKF_PERSISTENT 0x00000080u  /* -EOPNOTSUPP */
#define GLOCK__LKF_NODLCKWT 0x00000100u    /* convert: in a deadlock wait, and be told so */
#define GLOCK__LKF_NODLCKBLK 0x00000200u   /* ignored */
#define GLOCK__LKF_EXPEDITE 0x00000400u    /* new NL lock: whatever waits */
#define GLOCK__LKF_NOQUEUEBAST 0x00000800u /* with NOQUEUE: BASTs all the same */
#define GLOCK__LKF_HEADQUE 0x00001000u     /* wait at the head of the queue */
#define GLOCK__LKF_NOORDER 0x00002000u     /* be granted out of order */
#define GLOCK__LKF_ORPHAN 0x00004000u      /* -EOPNOTSUPP */
#define GLOCK__LKF_ALTPR 0x00008000u       /* if it cannot be granted: PR will do */
#define GLOCK__LKF_ALTCW 0x00010000u       /* if it cannot be granted: CW will do */
#define GLOCK__LKF_FORCEUNLOCK 0x00020000u /* unlock: even if it waits or converts */
/* Not the DLM's. As IVVALBLK, and whoever comes next is told that a holder died. */
#define GLOCK__LKF_DEATH_UNREPORTED 0x80000000u

/* What a completion says besides its status; the first three with the DLM's values. */
#define GLOCK__SBF_DEMOTED 0x01u     /* a deadlock: was given up for NL before it was granted */
#define GLOCK__SBF_VALNOTVALID 0x02u /* the value block is not to be trusted */
#define GLOCK__SBF_ALTMODE 0x04u     /* granted in the alternative mode */
#define GLOCK__SBF_OWNER_DIED 0x80u  /* a holder at PW or EX died, and no one at PW knows yet */

/* Statuses besides errnos. They are negative in an event, as in the kernel. */
#define GLOCK__DLM_ECANCEL 0x10001
#define GLOCK__DLM_EUNLOCK 0x10002

#define GLOCK__RESNAME_MAX 64
#define GLOCK__LVB_LEN 32
#define GLOCK__RES_LOCKS_MAX 65535 /* locks on one resource; one more is -ENOSPC */

struct glock__table;

struct glock__table_params {
	uint32_t nodes;   /* nodes are 0 to nodes - 1; each costs 16 bytes */
	uint32_t buckets; /* of the hash; a power of two, 4 bytes each; does not grow later */
	uint32_t flags;
};
#define GLOCK__TABLE_UNLOCK_ANY 0x1u /* plain unlock of a lock that waits is allowed */
#define GLOCK__TABLE_KEEP_DIED 0x2u  /* a dead EX holder's resource stays until one is told */

struct glock__table_request {
	uint32_t node;    /* whose lock; only for a new one */
	int mode;         /* enum glock__lkmode */
	uint32_t flags;   /* GLOCK__LKF_ */
	uint64_t lkid;    /* with CONVERT */
	const void *name; /* without CONVERT */
	size_t namelen;
	uint64_t cookie; /* the caller's; comes back in events */
	bool no_bast;    /* this lock wants no BASTs */
	const void *lvb; /* GLOCK__LVB_LEN bytes, with VALBLK */
};

/* What became of a call, or a callback. */
#define GLOCK__EVENT_AST 0x1u  /* status and sbflags are set */
#define GLOCK__EVENT_LVB 0x2u  /* the value block was read: lvb and lvb_seq are set */
#define GLOCK__EVENT_BAST 0x4u /* bast is set; if AST is set too, it was granted first */

struct glock__table_event {
	uint64_t lkid;
	uint64_t cookie;
	unsigned int what;
	/*
	 * 0: granted (or, of a cancel: there was nothing to cancel). -EINPROGRESS: not yet.
	 * -EAGAIN, -EDEADLK: refused; a conversion's lock has its old mode.
	 * -GLOCK__DLM_ECANCEL: canceled; the same. -GLOCK__DLM_EUNLOCK: the lock is no more.
	 */
	int status;
	unsigned int sbflags;
	int mode; /* granted now; GLOCK__IV: none, the lock is no more unless it waits */
	/*
	 * Others want this mode: make yourself compatible with it, or they wait. Of several since
	 * the last event it is the least one that conflicts with all that they conflict with: the
	 * highest, but PW for PR and CW.
	 */
	int bast;
	uint32_t lvb_seq; /* goes up with every write */
	unsigned char lvb[GLOCK__LVB_LEN];
};

/* Bytes for a table with that many cells: one a resource, one a lock; see table_impl.h for more. */
size_t glock__table_size(const struct glock__table_params *params, uint64_t cells);

/*
 * Makes an empty table in memory aligned to 64 bytes. -EINVAL: parameters; -ENOSPC: too small.
 * As long as it did not return, glock__table_attach() refuses the memory.
 */
int glock__table_init(void *mem, size_t size, const struct glock__table_params *params);

/* The table in that memory, or NULL if what is there is none or needs more than size bytes. */
struct glock__table *glock__table_attach(void *mem, size_t size);

/* The memory now is that large. What does not fit a whole cell is not used. Never shrinks. */
int glock__table_grow(struct glock__table *t, size_t size);

/* After the death of a thread or process inside. 1: there was something to do; 0: nothing. */
int glock__table_recover(struct glock__table *t);

/*
 * A new lock, or with CONVERT another mode for one. 0: accepted, and *event says what came of it.
 * -EINVAL: arguments; -EOPNOTSUPP: PERSISTENT, ORPHAN; -ENOENT: no such lock; -EBUSY: an operation
 * on it is in progress; -ENOSPC: memory is full, nothing changed.
 *
 * Returns -EINVAL for each of these requests:
 * - the mode or the node does not exist, or the name is too long
 * - CANCEL is set
 * - CONVDEADLK is set together with NOQUEUE
 * - CONVERT is missing beside QUECVT or beside CONVDEADLK
 * - EXPEDITE is set for another mode than NL, or together with CONVERT, QUECVT or NOQUEUE
 * - VALBLK has no lvb, or CONVERT no lkid
 * - QUECVT is set, and the conversion does not go up
 */
int glock__table_lock(struct glock__table *t, const struct glock__table_request *args,
		      struct glock__table_event *event);

/*
 * Gives a lock back (VALBLK: writes the value block first if it is PW or EX), or with CANCEL takes
 * back the request that waits. It never fails for want of memory. -ENOENT: no such lock; -EINVAL:
 * other flags than CANCEL, VALBLK, IVVALBLK, DEATH_UNREPORTED, FORCEUNLOCK, or both CANCEL and FORCEUNLOCK;
 * -EBUSY.
 *
 * VALBLK, IVVALBLK and DEATH_UNREPORTED of the lock's last request hold as if they were given here. The value
 * block is written only by locks that were once requested or converted with VALBLK.
 */
int glock__table_unlock(struct glock__table *t, uint64_t lkid, uint32_t flags, const void *lvb,
			struct glock__table_event *event);

/* The oldest callback of a node: 1, or 0 if there is none. */
int glock__table_take(struct glock__table *t, uint32_t node, struct glock__table_event *event);

/*
 * A node that has callbacks and was not told yet, or -1. Tell it, then call glock__table_woken():
 * in this order, so that if the caller dies in between, whoever recovers tells it once more.
 */
int glock__table_wake(const struct glock__table *t);
void glock__table_woken(struct glock__table *t);

/*
 * Whether that node has to be told at once: a lock of its was granted, or others want one that is
 * not held. What its owner says is held it will look after by itself as soon as it is not, so that
 * nobody needs to be woken for it.
 */
bool glock__table_urgent(const struct glock__table *t);
void glock__table_held(struct glock__table *t, uint64_t lkid, bool held);

/*
 * A number that goes with a lock in EX until it is given up: stored right after the grant, by whom
 * it was granted to. It is that owner's alone, who reads it as long as it has the lock in EX,
 * without the table's lock, by the lower half of the lock's id.
 */
void glock__table_give_token(struct glock__table *t, uint64_t lkid, uint64_t token);
uint64_t glock__table_token(const struct glock__table *t, uint32_t ref);

/* The id of the lock in that cell: the lower half of one that is known to be there. */
uint64_t glock__table_lkid(const struct glock__table *t, uint32_t ref);

/* Whom a lock that waits waits for, as far as max: those who hold, then those before it. */
struct glock__table_blocker {
	uint32_t node;
	int mode;   /* that it holds, or wants */
	bool waits; /* it wants it */
};
size_t glock__table_blockers(const struct glock__table *t, uint64_t lkid,
			     struct glock__table_blocker *out, size_t max);

/*
 * The node is dead: removes up to max of its locks; how many it still has. Each removal is an
 * operation of its own, and grants what it can grant: being killed in between is no harm, and the
 * table's lock can be let go between calls.
 */
int glock__table_purge(struct glock__table *t, uint32_t node, uint32_t max);

/*
 * Gives up on telling of the dead: frees the resources that GLOCK__TABLE_KEEP_DIED kept and nobody
 * has locked again. How many.
 */
int glock__table_forget(struct glock__table *t);

/* NULL, or what is wrong with the table: every invariant, in time linear in its size. */
const char *glock__table_check(const struct glock__table *t);

/*
 * As glock__table_recover(), for memory of which nobody knows what became of it since its last
 * user died: it is checked before, and after. NULL, or what is wrong; then it must not be used.
 */
const char *glock__table_salvage(struct glock__table *t);

/* Of a resource's name; the upper half is for choosing a shard. */
uint64_t glock__table_hash(const void *name, size_t namelen);

struct glock__table_usage {
	uint32_t resources;
	uint32_t locks;
	uint32_t idle; /* resources kept because a holder died; counted in resources */
	uint32_t cells_used;
	uint32_t cells_free;
};
void glock__table_usage(const struct glock__table *t, struct glock__table_usage *usage);

#endif
