/* SPDX-License-Identifier: MIT */
/*
 * table.h - the distributed lock manager's lock table, as a pure data structure.
 *
 * The table has resources by name, locks on them in six modes, three queues, value blocks and
 * callbacks. In a cluster's DLM the master of a resource does the same work. Here all nodes see the
 * same memory. The table does no I/O, reads no clock and starts no thread. It allocates only cells
 * of the memory that it was given.
 *
 * Memory. A table lives in one piece of memory and refers to itself by numbers only. Therefore each
 * process may map it at another address, and it may be copied. Its last part is an array of 64-byte
 * cells: a resource is a cell, a lock is a cell. See table_impl.h.
 *
 * Trust. Ids are checked, so that a late or an invented id finds nothing. The table does not check
 * that the caller owns the lock. A process that may write to the memory may damage it at any time.
 * Then the results mean nothing, but no function reads or writes outside of GLOCK__TABLE_MAX bytes,
 * or goes on for ever. Only glock__table_attach() and glock__table_check() report damage.
 *
 * Locking rule. A table does not lock. The caller lets one thread at a time, of one process, into
 * any function here except glock__table_hash(). A program that wants less contention uses several
 * tables (shards), each with its own lock. It chooses a shard by the upper half of the name's hash,
 * because a table's buckets use the lower half. Nothing in a table refers to another table.
 *
 * Being killed. A caller may be killed after any store. The next process that gets the table's lock
 * finds that the last owner died. It calls glock__table_recover() before anything else. Until then
 * each call that returns an errno returns -EOWNERDEAD. An operation that was cut off before its
 * first commit is undone, as if it had never been called. After its first commit an operation is
 * completed. See table_undo.c. The death of a node is another thing: glock__table_purge().
 *
 * Completions. If a call can be answered at once, the answer is in its event, and no callback
 * follows. Otherwise the event says -EINPROGRESS, and the grant becomes an AST of the lock's node.
 * ASTs and BASTs are bits in the lock, and the locks that have one are linked. Therefore a stopped
 * node that does not fetch them costs no memory. glock__table_wake() names a node that has to be
 * told.
 *
 * Differences from the kernel's fs/dlm that a caller can see. Where its versions differ, this table
 * follows 6.17. So -EBUSY comes before -EINVAL for a bad pair with QUECVT, and canceling twice does
 * nothing.
 *   - After unlock no callback of that lock comes any more. Pending callbacks go with the lock.
 *   - An operation is in progress until its AST was fetched. A conversion before that is -EBUSY.
 *   - BASTs that were not fetched yet are one BAST (see glock__table_event). A grant voids the
 *     BASTs before it. Modes that the lock still blocks are told anew.
 *   - Unlocking a lock that waits or converts needs FORCEUNLOCK, as the manual says. The kernel
 *     checks only for messages under way, and so does GLOCK__TABLE_UNLOCK_ANY.
 *   - PERSISTENT and ORPHAN are -EOPNOTSUPP. They let a lock outlive its process. The process is
 *     the node here, and a dead node's locks must go. CONVERT without a lkid is -EINVAL, not
 *     -ENOENT.
 *   - A node's death invalidates the value blocks of all its PW and EX locks, as closing the
 *     kernel's device does. Locks without a value block are told of the death as well (OWNER_DIED).
 *     A lock that was told, and could not act on that, gives the death back (DEATH_UNREPORTED).
 *   - A value block is never written from a buffer that the call did not name. If VALBLK holds from
 *     an earlier request and unlock has no lvb, the value block is left alone.
 *   - A conversion may be queued with ALTPR or ALTCW and then be granted in the mode that it has
 *     already. Then it leaves the convert queue. The kernel leaves it there.
 *   - Conversions may deadlock each other only after they were queued (because of HEADQUE). They
 *     are demoted until none is left to demote. The kernel looks at the queue twice at most.
 *   - The grant queue is sorted. The kernel means to sort it, but compares the wrong field. Only
 *     the order of BASTs to different locks depends on that.
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

/* Flags of requests, with the DLM's values. Flags that the DLM ignores are ignored. */
#define GLOCK__LKF_NOQUEUE 0x00000001u     /* do not wait: -EAGAIN */
#define GLOCK__LKF_CANCEL 0x00000002u      /* unlock: cancel the request, keep the granted mode */
#define GLOCK__LKF_CONVERT 0x00000004u     /* another mode for a granted lock */
#define GLOCK__LKF_VALBLK 0x00000008u      /* read or write the value block */
#define GLOCK__LKF_QUECVT 0x00000010u      /* convert: queue up behind waiting conversions */
#define GLOCK__LKF_IVVALBLK 0x00000020u    /* instead of writing the value block, spoil it */
#define GLOCK__LKF_CONVDEADLK 0x00000040u  /* convert: in a deadlock give up the granted mode */
#define GLOCK__LKF_PERSISTENT 0x00000080u  /* -EOPNOTSUPP */
#define GLOCK__LKF_NODLCKWT 0x00000100u    /* convert: in a deadlock wait, and get a BAST for it */
#define GLOCK__LKF_NODLCKBLK 0x00000200u   /* ignored */
#define GLOCK__LKF_EXPEDITE 0x00000400u    /* new NL lock: past all that wait */
#define GLOCK__LKF_NOQUEUEBAST 0x00000800u /* with NOQUEUE: send BASTs all the same */
#define GLOCK__LKF_HEADQUE 0x00001000u     /* wait at the head of the queue */
#define GLOCK__LKF_NOORDER 0x00002000u     /* be granted out of order */
#define GLOCK__LKF_ORPHAN 0x00004000u      /* -EOPNOTSUPP */
#define GLOCK__LKF_ALTPR 0x00008000u       /* if the mode cannot be granted, take PR */
#define GLOCK__LKF_ALTCW 0x00010000u       /* if the mode cannot be granted, take CW */
#define GLOCK__LKF_FORCEUNLOCK 0x00020000u /* unlock: even if it waits or converts */
/* Not the DLM's. As IVVALBLK, and the next holder is told that a holder died. */
#define GLOCK__LKF_DEATH_UNREPORTED 0x80000000u
/*
 * Not the DLM's. convert: wait only for locks that no thread uses. -EBUSY if an earlier request
 * waits for a mode that conflicts, or as soon as a node says that it uses its lock:
 * glock__table_in_use().
 */
#define GLOCK__LKF_IDLE 0x40000000u

/* Completions have these beside their status. The first three have the DLM's values. */
#define GLOCK__SBF_DEMOTED 0x01u /* a deadlock: the granted mode was given up for NL meanwhile */
#define GLOCK__SBF_VALNOTVALID 0x02u /* the value block must not be trusted */
#define GLOCK__SBF_ALTMODE 0x04u     /* granted in the alternative mode */
/* A holder at PW or EX died, and no lock at PW or EX was told so far. */
#define GLOCK__SBF_OWNER_DIED 0x80u

/* Statuses besides errnos. They are negative in an event, as in the kernel. */
#define GLOCK__DLM_ECANCEL 0x10001
#define GLOCK__DLM_EUNLOCK 0x10002

#define GLOCK__RESNAME_MAX 64
#define GLOCK__LVB_LEN 32
#define GLOCK__RES_LOCKS_MAX 65535 /* locks on one resource; one more is -ENOSPC */

/*
 * The largest table, in bytes. Where other processes may damage the memory, the caller reserves
 * that many bytes of address space.
 */
#define GLOCK__TABLE_MAX ((uint64_t)64 << 20)

struct glock__table;

struct glock__table_params {
	uint32_t nodes;   /* nodes are 0 to nodes - 1; each costs 16 bytes */
	uint32_t buckets; /* of the hash; a power of two, 4 bytes each; does not grow later */
	uint32_t flags;
};
#define GLOCK__TABLE_UNLOCK_ANY 0x1u /* plain unlock of a lock that waits is allowed */
#define GLOCK__TABLE_KEEP_DIED 0x2u  /* after a holder died: keep the resource until one is told */

struct glock__table_request {
	uint32_t node;    /* the owner; only for a new lock */
	int mode;         /* enum glock__lkmode */
	uint32_t flags;   /* GLOCK__LKF_ */
	uint64_t lkid;    /* with CONVERT */
	const void *name; /* without CONVERT */
	size_t namelen;
	uint64_t cookie; /* a number of the caller; comes back in events */
	bool no_bast;    /* the lock wants no BASTs */
	const void *lvb; /* GLOCK__LVB_LEN bytes, with VALBLK */
};

/* The result of a call, or a callback. */
#define GLOCK__EVENT_AST 0x1u  /* status and sbflags are set */
#define GLOCK__EVENT_LVB 0x2u  /* the value block was read: lvb and lvb_seq are set */
#define GLOCK__EVENT_BAST 0x4u /* bast is set; if AST is set too, the grant came first */
#define GLOCK__EVENT_IDLE 0x8u /* with BAST: a request with IDLE waits, and wants an answer */

struct glock__table_event {
	uint64_t lkid;
	uint64_t cookie;
	unsigned int what;
	/*
	 * 0			granted; for a cancel: there was nothing to cancel
	 * -EINPROGRESS		not yet
	 * -EAGAIN, -EDEADLK	refused; a conversion's lock has its old mode
	 * -EBUSY		the same: see IDLE
	 * -GLOCK__DLM_ECANCEL	canceled; a conversion's lock has its old mode
	 * -GLOCK__DLM_EUNLOCK	the lock is no more
	 */
	int status;
	unsigned int sbflags;
	int mode; /* granted now; GLOCK__IV: none, the lock is no more unless it waits */
	/*
	 * Other locks want this mode, and wait until this lock is compatible with it. Several
	 * demands since the last event become one: the least mode that conflicts with all modes
	 * that they conflict with. That is the highest one, but PW for PR and CW.
	 */
	int bast;
	uint32_t lvb_seq; /* grows with each write */
	unsigned char lvb[GLOCK__LVB_LEN];
};

/*
 * Returns the bytes that a table with that many cells needs. A resource takes one cell, a lock
 * takes one; see table_impl.h for more.
 */
size_t glock__table_size(const struct glock__table_params *params, uint64_t cells);

/*
 * Makes an empty table in memory aligned to 64 bytes. -EINVAL: parameters; -ENOSPC: too small.
 * glock__table_attach() refuses the memory until this returns.
 */
int glock__table_init(void *mem, size_t size, const struct glock__table_params *params);

/* Returns the table in that memory. NULL: there is no table, or it needs more than size bytes. */
struct glock__table *glock__table_attach(void *mem, size_t size);

/* The memory now has that size. A rest smaller than a cell is not used. Never shrinks. */
int glock__table_grow(struct glock__table *t, size_t size);

/*
 * Returns how many of its bytes the table ever used. The rest need not be copied. 0: the memory has
 * no table that fits in that size.
 */
size_t glock__table_used(const struct glock__table *t, size_t size);
/*
 * Returns the number of operations that were made. An operation that changed nothing may not count.
 * An operation that was undone does not count. glock__table_woken() does not count.
 */
uint32_t glock__table_ops(const struct glock__table *t);

/* After the death of a thread or process inside. Returns 1 if there was something to do, else 0. */
int glock__table_recover(struct glock__table *t);

/*
 * Makes a new lock, or with CONVERT changes the mode of a lock. Returns
 *   0            accepted; *event has the result
 *   -EINVAL      bad arguments, see below
 *   -EOPNOTSUPP  PERSISTENT or ORPHAN
 *   -ENOENT      there is no such lock
 *   -EBUSY       an operation on the lock is in progress
 *   -ENOSPC      memory is full, nothing changed
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
 * Gives a lock back, or with CANCEL takes back the request that waits. With VALBLK a lock in PW or
 * EX writes the value block first. Never fails for want of memory. Returns 0, or
 *   -ENOENT  there is no such lock
 *   -EINVAL  a flag other than CANCEL, VALBLK, IVVALBLK, DEATH_UNREPORTED and FORCEUNLOCK; or
 *            both CANCEL and FORCEUNLOCK
 *   -EBUSY   an operation on the lock is in progress
 *
 * VALBLK, IVVALBLK and DEATH_UNREPORTED of the lock's last request hold as if they were given here.
 * Only a lock that was once requested or converted with VALBLK writes the value block.
 */
int glock__table_unlock(struct glock__table *t, uint64_t lkid, uint32_t flags, const void *lvb,
			struct glock__table_event *event);

/*
 * The node of that lock uses it. Refuses the requests with IDLE that wait for the lock. Each
 * refusal is an operation of its own, and becomes an AST.
 */
void glock__table_in_use(struct glock__table *t, uint64_t lkid);

/* Takes the oldest callback of a node. Returns 1, or 0 if there is none. */
int glock__table_take(struct glock__table *t, uint32_t node, struct glock__table_event *event);

/*
 * Returns a node that has callbacks and was not told yet, or -1. First tell the node, then call
 * glock__table_woken(). If the caller dies in between, the process that recovers tells the node
 * once more.
 */
int glock__table_wake(const struct glock__table *t);
void glock__table_woken(struct glock__table *t);

/*
 * Tells whether that node has to be told at once. A grant of one of its locks is urgent. A demand
 * for one of its locks is urgent unless the lock is held. The owner of a held lock looks as soon as
 * the lock is held no longer. Therefore no thread needs to be woken.
 */
bool glock__table_urgent(const struct glock__table *t);
void glock__table_held(struct glock__table *t, uint64_t lkid, bool held);

/*
 * A token goes with a lock in EX until the lock is given up. The owner of the lock stores the token
 * right after the grant. No other node uses it. While the owner has the lock in EX, it may read the
 * token without the table's lock. `ref` is the lower half of the lock's id.
 */
void glock__table_give_token(struct glock__table *t, uint64_t lkid, uint64_t token);
uint64_t glock__table_token(const struct glock__table *t, uint32_t ref);

/* Returns the id of the lock in that cell. `ref` is the lower half of an id known to exist. */
uint64_t glock__table_lkid(const struct glock__table *t, uint32_t ref);

/*
 * Stores up to max locks that a waiting lock waits for. The holders come first, then the locks
 * before it in the queue. Returns their number.
 */
struct glock__table_blocker {
	uint32_t node;
	int mode;   /* that the node holds, or wants */
	bool waits; /* the node wants it */
};
size_t glock__table_blockers(const struct glock__table *t, uint64_t lkid,
			     struct glock__table_blocker *out, size_t max);

/*
 * Removes up to max locks of a dead node. Returns how many the node still has. Each removal is an
 * operation of its own, and grants what it can grant. Therefore being killed in between is no harm,
 * and the caller may drop the table's lock between calls.
 */
int glock__table_purge(struct glock__table *t, uint32_t node, uint32_t max);
/*
 * The same for a node that withdraws, but for the locks whose cookie `keeps` returns true for.
 * Returns 1 if the node still has another lock, else 0.
 */
int glock__table_purge_but(struct glock__table *t, uint32_t node, uint32_t max,
			   bool (*keeps)(void *arg, uint64_t cookie), void *arg);

/*
 * Frees at least max resources that GLOCK__TABLE_KEEP_DIED kept, and that no node has locked again,
 * or all of them. Returns their number. No death gets lost. From now on the table cannot tell some
 * other resources from those whose holder died. It reports a death of each of them (OWNER_DIED),
 * until a lock at PW or EX was told. Such a resource takes a cell that the next call frees first.
 */
int glock__table_forget(struct glock__table *t, uint32_t max);

/* Checks each invariant, in time linear in the table's size. Returns NULL, or what is wrong. */
const char *glock__table_check(const struct glock__table *t);

/*
 * As glock__table_recover(), for memory whose fate since the death of its last user is unknown.
 * Checks the memory before and after. Returns NULL, or what is wrong: then do not use the memory.
 */
const char *glock__table_salvage(struct glock__table *t);

/* Returns the hash of a resource's name. Its upper half is for choosing a shard. */
uint64_t glock__table_hash(const void *name, size_t namelen);

/*
 * The value block and the deaths of a resource. A table that is made for one operation takes them
 * from elsewhere, and gives them back. -ENOENT, false: no lock has made the resource yet.
 */
struct glock__table_value {
	uint32_t seq;
	uint8_t flags; /* 0: no value was ever written, and no holder died */
	unsigned char data[GLOCK__LVB_LEN];
};
#define GLOCK__TABLE_VALUE_FLAGS 0x7u
#define GLOCK__TABLE_VALUE_SET 0x1u  /* there is a value, or the reason that it is not valid */
#define GLOCK__TABLE_VALUE_DIED 0x4u /* the next holder has to be told of a death */
int glock__table_put_value(struct glock__table *t, const void *name, size_t namelen,
			   const struct glock__table_value *v);
bool glock__table_get_value(const struct glock__table *t, const void *name, size_t namelen,
			    struct glock__table_value *v);

struct glock__table_usage {
	uint32_t resources;
	uint32_t locks;
	uint32_t idle; /* resources without locks, kept because a holder died; in resources, too */
	uint32_t cells_used;
	uint32_t cells_free;
};
void glock__table_usage(const struct glock__table *t, struct glock__table_usage *usage);

#endif
