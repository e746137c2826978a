/* SPDX-License-Identifier: MIT */
/*
 * glock.h - cluster locks that stay with the node that used them last.
 *
 * A glock is a lock on a numbered object. Once a node has it, the node keeps it after use: taking
 * it again costs no message to anybody. Only when another node wants it is it asked back. With the
 * lock comes the right to cache what it protects; before another node is let in, the library has
 * the program write back what is dirty and drop what may not be kept.
 *
 * WHAT TO KNOW BEFORE USING IT
 *
 *   Fencing. A node that is stopped for long and goes on later may believe that it still holds
 *   locks which the others have taken over. No lock service can prevent that: storage that must
 *   not be written by such a node has to refuse it. glock_valid() tells as much as the node knows.
 *
 *   Holders are never revoked. A demand from another node waits until everybody on this node has
 *   let go. Who holds a glock for long stops other nodes for as long.
 *
 *   Threads. Every function may be called from any thread, at any time, unless it says otherwise.
 *   A holder is used by one thread at a time, but for glock_cancel() and glock_poll().
 *
 *   Callbacks run on the thread that runs the work: one of the library's, with all signals blocked,
 *   or whichever calls glock_dispatch(), as chosen when the space is opened. unlock runs in
 *   glock_dq(); callback, demote_ok, dump and lost also in others. These last four run under the
 *   glock's internal lock and must return at once, without calling the library: what would need
 *   the lock is -EDEADLK there, and reported. The others run on the thread that others wait for:
 *   in them a lock that is not to be had at once is -EDEADLK, and so are glock_dq_wait(),
 *   glock_dispatch() and glock_space_close().
 *
 *   fork. A space belongs to the process that opened it. In a child every call is -ECHILD; the
 *   child must not close the space, and its exit gives nothing back. exec needs no care.
 *
 *   Signals. Waits go on after a signal handler ran, unless GLOCK_WAIT_INTR is given. No function
 *   here may be called from a signal handler.
 *
 *   Deadlocks. The same owner asking for the same glock twice is -EDEADLK. Two owners that take
 *   two glocks in different orders wait for ever, on one node or on two: see glock_nq_m() and
 *   GLOCK_SPACE_CHECK_ORDER. Nothing else looks for deadlocks.
 *
 *   Memory. Pointers given to the library must be valid; what is kept beyond the call is said. A
 *   glock must be referenced (glock_get()) for as long as anything of it is used, holders included.
 *
 *   Files of "local". A space of processes on one machine is a file, in /dev/shm by default. Who removes
 *   it while processes use it parts those who come later from them: they notice within a second or
 *   when they next ask for a lock, and withdraw, so that all they do is -EIO (what they have cached
 *   goes when the work is run: as soon as an operation that it is in returns). systemd-logind removes
 *   what a user has in /dev/shm when that user's last session ends (RemoveIPC=yes, its default; not
 *   of root and other system users). For what must outlive a session, run it as a system user, or
 *   say `loginctl enable-linger`, RemoveIPC=no, or a directory elsewhere in memory (GLOCK_DIR).
 *
 * Times are nanoseconds of CLOCK_MONOTONIC. Functions that can fail return 0 or a negative errno,
 * and never abort or print; what the program did wrong is also told to its log callback.
 *
 * Of each function is said how long it takes, in these words:
 *   At once   it waits for nobody's holder and for no other node. (The internal lock of a glock it
 *             may have to wait for; that is held for instructions only.)
 *   Waits     for what is said there; where nothing limits that, for ever.
 * Not repeated for each: -ECHILD in a child after fork, -EDEADLK in the four callbacks named above.
 */
#ifndef GLOCK_H
#define GLOCK_H

#ifdef __cplusplus
extern "C" {
#endif

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)

/*
 * Modes, with GFS2's numbers. A glock is in one of them on each node.
 *
 *                        here and elsewhere         may be cached      may be dirty
 *   GLOCK_UN  unlocked   anything                   nothing            nothing
 *   GLOCK_EX  exclusive  only UN                    data, metadata     data, metadata
 *   GLOCK_DF  deferred   UN, DF                     metadata           nothing
 *   GLOCK_SH  shared     UN, SH                     data, metadata     nothing
 */
enum glock_mode { GLOCK_UN = 0, GLOCK_EX = 1, GLOCK_DF = 2, GLOCK_SH = 3, GLOCK_MODE_MAX };

/*
 * Types of glocks, with GFS2's numbers. A type says what its glocks cache, which modes they know
 * and when they may be taken. Numbers from GLOCK_TYPE_OWN on are the program's.
 */
enum glock_type {
	GLOCK_RESERVED = 0,
	GLOCK_NONDISK = 1,
	GLOCK_INODE = 2,
	GLOCK_RGRP = 3,
	GLOCK_META = 4,
	GLOCK_IOPEN = 5,
	GLOCK_FLOCK = 6,
	GLOCK_PLOCK = 7,
	GLOCK_QUOTA = 8,
	GLOCK_JOURNAL = 9,
	GLOCK_TYPE_OWN = 10,
	GLOCK_TYPE_MAX = 32
};

/* How a lock is asked for, with GFS2's values. */
#define GLOCK_TRY 0x0001u        /* do not wait for others: -EAGAIN */
#define GLOCK_TRY_1CB 0x0002u    /* the same, but tell the other nodes that it is wanted */
#define GLOCK_RECOVER 0x0004u    /* be granted even while the lock manager recovers */
#define GLOCK_ANY 0x0008u        /* with SH or DF: any mode but UN will do */
#define GLOCK_PRIORITY 0x0010u   /* before all who wait; journal glocks, while recovering */
#define GLOCK_NODE_SCOPE 0x0020u /* with EX: share it with this node's others who say the same */
#define GLOCK_ASYNC 0x0040u      /* return at once; poll or wait for it */
#define GLOCK_EXACT 0x0080u      /* an idle glock in a stronger mode will not do */
#define GLOCK_SKIP 0x0100u       /* do not read the object in */
#define GLOCK_NOPID 0x0200u      /* the holder is nobody's: it may be asked for again meanwhile */
#define GLOCK_NOCACHE 0x0400u    /* give the lock back to the cluster after use */
#define GLOCK_NOBLOCK 0x0800u    /* without sleeping and without queueing, or -ECHILD */
/*
 * Not a flag of GFS2's. The holder belongs to whoever has it: any thread may let it go, and the one
 * that asked may ask for the same glock again meanwhile. It always goes by the queue, which takes
 * some thirty times as long as the fast way to a cached glock.
 */
#define GLOCK_MOVABLE 0x1000u
#define GLOCK_FLAGS_ALL 0x1fffu

/* What a type's glocks cache. */
#define GLOCK_CACHES_METADATA 0x1u
#define GLOCK_CACHES_DATA 0x2u

/* ---- versions and features ---- */

#define GLOCK_VERSION 0x000100u /* of this header: major, minor, patch, a byte each */

/* Of the library that runs. At once. */
unsigned int glock_version(void);

/*
 * Whether this library can do that: 1 or 0. Names: "lockman:none", "lockman:local", "lockman:dlm",
 * "probes" (USDT). What it does not know it cannot do. At once; also before a space is opened.
 */
int glock_supports(const char *feature);

/* ---- objects ---- */

struct glock_space; /* a name space of glocks, and this node's part in it */
struct glock;       /* a lock; exists once in a space */

/*
 * A request for a lock, and then the lock held. It is the program's memory, on the stack or in its
 * own structures, and must stay where it is from nq until dq returns. Its contents are not.
 */
struct glock_holder {
	uint64_t opaque[24];
};
#define GLOCK_HOLDER_NONE \
	{                 \
		{         \
			0 \
		}         \
	}

#define GLOCK_LVB_SIZE 32

/* ---- types ---- */

/* Prints a piece of text to somewhere. */
typedef void glock_print_fn(void *to, const char *text, size_t len);

/*
 * A type's operations. Any may be NULL. Which of a glock's two internal locks are held: the bit
 * lock says that a state change is going on, and no other starts meanwhile; under the spinlock
 * nothing else of that glock goes on at all.
 *
 *               bit lock    spinlock    may block
 *   xmote_th    yes         no          yes
 *   xmote_bh    yes         no          yes
 *   inval       yes         no          yes
 *   demote_ok   sometimes   yes         no
 *   lock        yes         no          yes
 *   unlock      yes         no          yes
 *   dump        sometimes   yes         no
 *   callback    sometimes   yes         no
 *   lost        sometimes   yes         no
 *
 * What breaks this table is told to the space's log by the glock's type and number, the operation
 * and what it did: dropped a lock that it was called with, called the library, took more than 10 ms
 * under the spinlock, or slept there (with GLOCK_SPACE_CHECK_OPS). The library goes on.
 */
struct glock_ops {
	size_t size; /* sizeof(struct glock_ops) */
	/*
	 * Before the lock manager is asked for another mode. sync: what may be dirty now and may
	 * not be then (GLOCK_CACHES_): it must be written back when this returns. An error is one
	 * that leaves dirty data behind: the space is withdrawn.
	 */
	int (*xmote_th)(struct glock *gl, enum glock_mode to, unsigned int sync);
	/* After the mode has changed, to any but UN. An error fails all who wait. */
	int (*xmote_bh)(struct glock *gl, enum glock_mode mode);
	/* After xmote_th: what may not be kept must be dropped now (GLOCK_CACHES_). */
	void (*inval)(struct glock *gl, unsigned int what);
	/* Whether it is well to give up a cached lock that nobody asked for. */
	int (*demote_ok)(struct glock *gl);
	/* For the first holder on this node: read the object in. An error fails that holder. */
	int (*lock)(struct glock_holder *gh);
	/* When the last holder on this node lets go. */
	void (*unlock)(struct glock_holder *gh);
	/* Describe the object, in lines that begin with a space; only while it may be cached. */
	void (*dump)(struct glock *gl, glock_print_fn *print, void *to);
	/* Somebody wants the lock in a mode that needs ours to go down to `to`. */
	void (*callback)(struct glock *gl, enum glock_mode to, int remote);
	/* This holder's lock is lost: the space was withdrawn while it held it. */
	void (*lost)(struct glock_holder *gh);
};

#define GLOCK_OPS_ASPACE 0x1u    /* its pages are counted in dumps; see glock_set_pages() */
#define GLOCK_OPS_LVB 0x2u       /* has a value block */
/* Of own types: */
#define GLOCK_OPS_BY_NUMBER 0x4u /* among themselves to be taken in the order of numbers */
#define GLOCK_OPS_RECUR 0x8u     /* one owner may ask twice; as GFS2's flock type */

#define GLOCK_HOLD_NONE (-1) /* a hold time of nothing */

struct glock_type_options {
	size_t size;        /* sizeof(struct glock_type_options); the stride of an array of them */
	unsigned int type;  /* enum glock_type, or a number of the program's own */
	unsigned int flags; /* GLOCK_OPS_ */
	const struct glock_ops *ops;
	/*
	 * The minimum hold time: for as long after a grant from the lock manager, demands of other
	 * nodes wait, so that somebody here gets something done. 0: 200 ms at first, then by itself
	 * between 10 and 200 ms. GLOCK_HOLD_NONE: none. Else this one, always.
	 */
	int64_t hold;
	/* Of own types; GFS2's have theirs. */
	const char *name;    /* at most 8 bytes of it are used */
	unsigned int caches; /* GLOCK_CACHES_ */
	unsigned int modes;  /* 1 << GLOCK_SH and so on; 0: SH and EX */
	unsigned int order;  /* GFS2's: 2 rename, 3 inode, 6 rgrp, 7 transaction; 0: not ordered */
};

/* ---- spaces ---- */

#define GLOCK_SPACE_DISPATCH 0x1u    /* the program runs the work: glock_space_fd() */
#define GLOCK_SPACE_CHECK_ORDER 0x2u /* waiting for locks in the wrong order is -EDEADLK; slow */
#define GLOCK_SPACE_LINUX_6_1 0x4u   /* hold times as there: of inodes in use, in ticks of hz */
#define GLOCK_SPACE_CHECK_OPS 0x8u   /* tell of operations that sleep under the spinlock; costs */

/* A process that uses the same space. */
struct glock_peer {
	int64_t pid;
	char comm[16];
	enum glock_mode mode; /* that it holds, or waits for; UN: it recovers what others left */
	int waits;            /* it waits for it, before us */
	int stopped, dead;
};

struct glock_space_options {
	size_t size;                            /* sizeof(struct glock_space_options) */
	const char *lockman;                    /* "local" (default), "none", "dlm": see below */
	unsigned int flags;                     /* GLOCK_SPACE_ */
	const struct glock_type_options *types; /* types without an entry have no operations */
	size_t n_types;
	/* Idle glocks that are kept: so many, so long. 0: no limit. */
	size_t cached_max;
	int64_t cached_age;
	/* Text: what traces call the device; ticks a second for hold times (0: 1000). */
	unsigned int major, minor;
	unsigned int hz;
	unsigned int trace_order; /* keep the last 2^trace_order events; 0: none, at most 24 */
	/* Told what went wrong. Any thread; may be called under internal locks: do not call back.
	 */
	void (*log)(void *arg, const char *message);
	void *log_arg;
	/*
	 * Of "local": the members of which group share the space (a name or a number; NULL: this
	 * user's programs); in which directory its file is, whoever that belongs to (NULL: what
	 * GLOCK_DIR says, or one in /dev/shm that follows from user or group; -EINVAL: GLOCK_DIR
	 * says another one). The program may change its directory afterwards; if it changes its root
	 * it loses the space.
	 */
	const char *group;
	const char *dir;
	/*
	 * A process died that had this space open: called once for each death, by one of those that
	 * gave such a function and live, on a thread of its own; where nobody waits for a lock it may
	 * take until somebody does. It may take locks, with GLOCK_RECOVER, but not close the space.
	 * Until it returns, nobody is granted a lock that he waits for without. With "dlm": a machine
	 * left or died; on each of the others; see docs/cluster.md.
	 */
	void (*recover)(void *arg, const struct glock_peer *dead);
	void *recover_arg;
};

/*
 * Opens the space of that name, 1 to 64 bytes, with "dlm" without '/' and not a dot first. options
 * may be NULL: all as by default. Those of another size than this library's are understood: what it
 * lacks is 0. Where the program does not name a lock manager, the environment variable GLOCK_LOCKMAN
 * does. -EINVAL: name or options; -EPROTONOSUPPORT: no such lock manager; -ENOMEM, -EMFILE, -EAGAIN
 * (no more threads). With "local" also -ENOENT, -EACCES and -EPERM (its directory or file, or whose they
 * are), -ENOSPC and -EFBIG (no room for it), -EUSERS (1,024 processes have it open), -EPROTO (in use by
 * those of another version, or damaged), -EMEDIUMTYPE (no space's file, or on a file system that machines
 * share), -EBUSY (who is opening it does not get on). With "dlm" also -ENOPKG (libdlm), -ENODEV (the
 * kernel's DLM, its device or dlm_controld), -ENETDOWN (quorum), -EACCES and -EPERM. The log is told what
 * is wrong or missing, and what to do. Waits for the lock manager to let this node in. Of options
 * nothing is kept but the functions and their arguments, which may be called from now on, before this
 * returns, and until close has returned.
 */
int glock_space_open(const char *name, const struct glock_space_options *options,
		     struct glock_space **space);

/*
 * Gives all locks back and frees the space. Waits for the lock manager, and for what callbacks
 * write back on the way. -EBUSY: glocks are still referenced; nothing happened. -EDEADLK: from a
 * callback. No other call in this space may be going on; after 0 nothing more is called back.
 */
int glock_space_close(struct glock_space *space);

/*
 * With GLOCK_SPACE_DISPATCH: readable when there is work. Else -1. The fd is the library's: poll
 * it, and do nothing else with it. glock_dispatch() does what is due and returns how many glocks
 * it worked on. Callbacks run in it, on the calling thread, one after the other; functions that
 * wait dispatch meanwhile. Any number of threads may. At once, but for what callbacks do.
 * -EINVAL: the space has a thread for that; -EDEADLK: from a callback.
 */
int glock_space_fd(struct glock_space *space);
int glock_dispatch(struct glock_space *space);

/*
 * This node can no longer be trusted with the space: everybody who waits gets -EIO, dirty caches
 * are dropped, holders are told (lost, called in here), and the other nodes treat this one as
 * dead. Every later nq is -EIO; dq and close go on working. Waits for the lock manager to let go.
 * Happens by itself when xmote_th fails. Not undone.
 *
 * With "dlm" the same happens when this node loses the cluster, until it has it again: then nq
 * succeeds again. What was held before stays lost, and of use to nobody until it is let go.
 */
void glock_withdraw(struct glock_space *space);

/*
 * Has up to n idle locks given back, the least recently used first. Returns how many: those whose
 * type did not object (demote_ok, called in here). At once: they are given back afterwards, with
 * xmote_th and inval called as always.
 */
size_t glock_shrink(struct glock_space *space, size_t n);

/* ---- glocks ---- */

/*
 * The glock of that type and number, made if need be; a reference to it, until glock_put().
 * -EINVAL: no such type; -ENOMEM; -ESHUTDOWN: the space is being closed. At once; asks nobody.
 */
int glock_get(struct glock_space *space, unsigned int type, uint64_t number, struct glock **gl);

/*
 * Gives the reference back; of the last one nothing may be used any more. A lock in a mode other
 * than UN stays cached, at UN the glock goes, and with it its statistics. At once.
 */
void glock_put(struct glock *gl);

/* What it was got by. At once, in every callback too. */
unsigned int glock_type_of(const struct glock *gl);
uint64_t glock_number(const struct glock *gl);
struct glock_space *glock_space_of(const struct glock *gl);

/*
 * What the program attached; NULL at first. Callbacks find it there, as long as the lock is cached,
 * also when nobody has a reference: take it off before you free it, while you hold the lock. Then
 * xmote_th, xmote_bh, inval, lock and unlock do not run, and dump, demote_ok, callback and lost have
 * done with the old one when this returns. At once, in every callback too.
 */
void glock_set_object(struct glock *gl, void *object);
void *glock_object(const struct glock *gl);

/* For dumps only: whether the cache is dirty, how many pages it has. At once. */
void glock_set_dirty(struct glock *gl, int dirty);
void glock_set_pages(struct glock *gl, unsigned long pages);

/* ---- holders ---- */

#define GLOCK__TEXT2(x) #x
#define GLOCK__TEXT(x) GLOCK__TEXT2(x)
#define GLOCK_HERE __FILE__ ":" GLOCK__TEXT(__LINE__)

/*
 * Prepares a request. Does not touch the glock, which must be referenced from nq until dq returns.
 * Not while it is queued. What is wrong with mode or flags nq says. The owner is the thread that
 * calls nq; or, if who asks is no thread (a coroutine, a client), any number but 0: call
 * glock_holder_owner() between init and nq. At once.
 */
void glock_holder_init(struct glock_holder *gh, struct glock *gl, enum glock_mode mode,
		       unsigned int flags);
void glock_holder_owner(struct glock_holder *gh, uint64_t owner);

/*
 * Asks for the lock. Granted in the order of asking. Waits for all who asked before and for other
 * nodes, without limit; a signal does not end that, glock_cancel() does. With ASYNC, TRY and
 * NOBLOCK: at once, but that a try may have to ask the lock manager, and what that grants while
 * others recover is kept back until they have, unless with RECOVER. A lock operation runs on the
 * thread that does the work, before this returns; its error is the result.
 *   0           granted; with ASYNC: asked for
 *   -EAGAIN     TRY, TRY_1CB: it would have to wait; also if somebody was just about to ask for it
 *   -ECHILD     NOBLOCK: the same. In a child after fork: always
 *   -ECANCELED  glock_cancel() took it back
 *   -EDEADLK    this owner has or wants it already; or the lock order is wrong; or it is called
 *               where it must not wait, see "Callbacks" above
 *   -EINVAL     mode, flags, or both: PRIORITY, ANY with EX, DF with a type that has none
 *   -EIO        the space is withdrawn, or has lost the cluster; or the lock manager failed
 *   -ENOSPC     with "local": no memory is left for its locks
 *   -ESHUTDOWN  the space is being closed
 * or what the type's lock or xmote_bh operation said. After any but 0 the holder is not queued: it
 * may be used again, after glock_holder_init() or as it is.
 */
#define glock_nq(gh) glock_nq_at(gh, GLOCK_HERE)
int glock_nq_at(struct glock_holder *gh, const char *where); /* where is kept, not copied: a literal */

/*
 * Lets the lock go, or takes the request back. At once, but for the type's unlock operation, which
 * runs in here. -EINVAL: it is not queued; -EBUSY: called in this holder's own lock operation;
 * -EPERM: another thread than asked for it, without GLOCK_MOVABLE (or NOPID, or an owner of the
 * program's). What a thread that has ended still holds may be let go by any.
 */
int glock_dq(struct glock_holder *gh);

/*
 * The same. Waits until a demand that is due is met: with NOCACHE, until the lock is given back;
 * for as long as others here hold it. -EDEADLK: from a callback; it is let go all the same.
 */
int glock_dq_wait(struct glock_holder *gh);

/*
 * After ASYNC. 1: granted or failed, so that glock_wait() does not block; 0: not yet. At once, from
 * any thread. With GLOCK_SPACE_DISPATCH somebody has to dispatch for it to become 1.
 */
int glock_poll(const struct glock_holder *gh);

#define GLOCK_WAIT_INTR 0x1u /* return -EINTR when a signal handler ran */

/*
 * Waits until granted or failed; deadline: CLOCK_MONOTONIC, 0 for never; in the past: only looks.
 * Result as of nq, again and again until dq. -ETIMEDOUT, -EINTR: the request is still queued; wait
 * again, or dq. -EDEADLK: it would have to wait, in a callback. -EINVAL: was never queued.
 */
int glock_wait(struct glock_holder *gh, int64_t deadline, unsigned int flags);

/*
 * Takes back a request, from any thread: whoever waits for it gets -ECANCELED. 0, or -EALREADY:
 * it was granted or had failed before. At once; but while its lock operation runs it waits for
 * that. The lock manager may grant the lock all the same: then it is cached here.
 */
int glock_cancel(struct glock_holder *gh);

/*
 * 1: it is held, and as far as this node knows still protects what it should; else 0. At once. No
 * more than this node's own view: see "Fencing" above.
 */
int glock_valid(const struct glock_holder *gh);

/*
 * EX or DF held becomes the weaker mode, in place. Others here may join then, other nodes when
 * they ask. -EINVAL: not held, not weaker, or not a mode of the type; -EBUSY: shared EX; -EPERM:
 * held by another thread, without MOVABLE. At once.
 */
int glock_downgrade(struct glock_holder *gh, enum glock_mode mode);

/*
 * A number that goes with a lock held in EX, for storage that can refuse what comes from somebody
 * who had the lock before: higher than that of anyone in this space who had it in EX before, over
 * deaths, restarts and lost value blocks as well. -EPERM: not held in EX; -EIO: lost meanwhile, and
 * so is the number; -EOPNOTSUPP: this lock manager has none. At once.
 */
int glock_token(const struct glock_holder *gh, uint64_t *token);

/*
 * Whether somebody died who held it in EX or had it cached so, and nobody was told in EX since then:
 * what it protects may be half done. 1 or 0. With "dlm" only if somebody else knew the lock, too: see
 * docs/cluster.md, "The dead". At once.
 */
int glock_owner_died(const struct glock_holder *gh);

/*
 * Whom the glock's open request waits for: up to max of them, 32 at most, are in peers. How many, or
 * 0; only "local" knows. At once.
 */
size_t glock_in_the_way(struct glock *gl, struct glock_peer *peers, size_t max);

/* What it was initialized with; after a downgrade: the mode that it has. At once. */
struct glock *glock_of(const struct glock_holder *gh);
enum glock_mode glock_mode_of(const struct glock_holder *gh);

/*
 * A scope that lets go at its end:
 *
 *	GLOCK_SCOPE struct glock_holder gh = GLOCK_HOLDER_NONE;
 *	glock_holder_init(&gh, gl, GLOCK_SH, 0);
 *	if ((err = glock_nq(&gh)))
 *		return err;
 */
#define GLOCK_SCOPE __attribute__((cleanup(glock_scope_end)))
static inline void glock_scope_end(struct glock_holder *gh)
{
	(void)glock_dq(gh); /* of one that is not queued: -EINVAL, and nothing happens */
}

/* ---- several at once ---- */

/*
 * All or none, in the order of numbers, whatever the order given: who always takes several locks
 * like this, and no others meanwhile, cannot deadlock. For glocks of one place in the lock order.
 * Waits for each as glock_nq(), and returns its errors; then none is held. -EINVAL: also one of
 * them twice, or ASYNC; -ENOMEM: more than 16, and no memory. glock_dq_m() lets go of those that
 * are held or asked for, last to first; at once, but for unlock operations.
 */
#define glock_nq_m(n, ghs) glock_nq_m_at(n, ghs, GLOCK_HERE)
int glock_nq_m_at(size_t n, struct glock_holder *ghs, const char *where);
void glock_dq_m(size_t n, struct glock_holder *ghs);

/*
 * For several ASYNC requests, asked for in any order: waits for all of them. -ESTALE: it took too
 * long, there may be a deadlock, and all were let go or taken back, and some time was slept; ask
 * again for all, with retries counted up from 0: the time allowed, from 10 ms, and the sleep grow
 * at random, to at most 10 s. Any other error: one of them failed, and none is held.
 */
int glock_async_wait(size_t n, struct glock_holder *ghs, unsigned int retries);

/* ---- value blocks ---- */

/*
 * 32 bytes that go with the lock: read in any mode, written in EX. The next holder has what was
 * written, on any node. -ENODATA: no value, as none was written, or a node died that might have
 * changed it; to write one ends that. With "dlm" the last 8 of the 32 bytes are the library's, and
 * -EINVAL if they are not 0. -EOPNOTSUPP: the type has none (GLOCK_OPS_LVB); -EPERM: not
 * held, or to write not in EX. Kept as long as any node caches the lock, or has asked for it and
 * still has a reference. At once.
 */
int glock_lvb_read(struct glock_holder *gh, void *value);
int glock_lvb_write(struct glock_holder *gh, const void *value);

/* ---- statistics ---- */

/*
 * Times in ns. The first eight are GFS2's estimators and counters: smoothed means and deviations
 * of the round trip of requests that cannot (srtt) and can (srttb) be held up by others, and of
 * the time between requests (sirt); requests to the lock manager, holders queued.
 */
struct glock_statistics {
	size_t size; /* to be set: sizeof(struct glock_statistics) */
	int64_t srtt, srttvar, srttb, srttvarb, sirt, sirtvar;
	int64_t dcount, qcount;
	int64_t age, usable; /* since it was made; of that, this node could use it */
	int64_t basts;       /* demands of other nodes */
	int64_t demotes;     /* times it was given up or weakened for one, or by itself */
	int64_t held_off;    /* demands that had to wait for the hold time */
	int64_t conversions_failed;
	int64_t tries_failed;
};

/* Since the glock was made: the means begin with its type's on that CPU, counts with 0. At once. */
int glock_statistics(struct glock *gl, struct glock_statistics *out);

/* ---- text ---- */

enum glock_file { GLOCK_FILE_GLOCKS, GLOCK_FILE_GLSTATS, GLOCK_FILE_SBSTATS, GLOCK_FILE_MAX };
enum glock_format { GLOCK_FORMAT_LINUX_6_1, GLOCK_FORMAT_LINUX_7_0, GLOCK_FORMAT_MAX };

/*
 * As Linux prints its files of these names, a glock after the other. Each glock is a moment; all
 * together are not. print is called in here, under no lock: it may wait and call the library. The
 * types' dump operations are called in here, under the spinlock. At once, but for print; takes as
 * long as there are glocks. -ENOMEM; -EINVAL: file or format.
 */
int glock_dump(struct glock_space *space, enum glock_file file, enum glock_format format,
	       glock_print_fn *print, void *to);

/*
 * The next trace event as text, without a newline, cut off to fit. *cursor: 0 at first. Returns
 * 1, or 0: none now, or -ESTALE: some were overwritten, go on; -EOPNOTSUPP: trace_order is 0. Each
 * reader has a cursor of its own; readers do not disturb each other or what is traced. At once.
 */
int glock_trace(struct glock_space *space, enum glock_format format, uint64_t *cursor, char *buf,
		size_t size);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
