/* SPDX-License-Identifier: MIT */
/*
 * glock.h - cluster locks that stay with the node that used them last.
 *
 * CACHE ONE FILE IN 40 LINES
 *
 * The program adds 1 to the number in FILE, 1000 times. Start several processes with the same FILE:
 * no step gets lost. A process reads FILE at its first step, and again only after another process
 * had the lock. docs/tutorial.md explains the program, and shows the traps.
 *
 * Only close writes back what is dirty at the end. A process that leaves without close loses it:
 * exit() then tells the log of the space, _exit() and signals tell nothing. See glock_sync().
 *
 *	cc cached_file.c $(pkg-config --cflags --libs glock) -o cached_file
 *	./cached_file FILE
 *
 *	#include <errno.h>
 *	#include <fcntl.h>
 *	#include <glock.h>
 *	#include <stdio.h>
 *	#include <stdlib.h>
 *	#include <unistd.h>
 *
 *	static int fd, dirty;
 *	static char text[17];
 *
 *	// Runs for the first holder, and for the first one after another process had the lock.
 *	static int read_in(struct glock_holder *gh)
 *	{
 *		(void)gh;
 *		puts("reads the file");
 *		return pread(fd, text, 16, 0) < 0 ? -EIO : 0;
 *	}
 *
 *	// Runs before another process gets the lock, and before close returns.
 *	static int write_back(struct glock *gl, enum glock_mode to, unsigned int sync)
 *	{
 *		(void)gl, (void)to;
 *		if (sync && dirty) {
 *			puts("writes the file");
 *			dirty = pwrite(fd, text, 16, 0) != 16;
 *		}
 *		return dirty ? -EIO : 0;
 *	}
 *
 *	int main(int argc, char **argv)
 *	{
 *		struct glock_ops ops = {
 *		    .size = sizeof(ops), .instantiate = read_in, .xmote_th = write_back};
 *		struct glock_type_options t = {.size = sizeof(t), .type = GLOCK_INODE, .ops = &ops};
 *		struct glock_space_options o = {.size = sizeof(o), .types = &t, .n_types = 1};
 *		struct glock_space *space;
 *		struct glock *gl;
 *		int err = 0;
 *
 *		fd = open(argc > 1 ? argv[1] : "number", O_RDWR | O_CREAT, 0666);
 *		if (fd < 0 || glock_space_open("counting", &o, &space) ||
 *		    glock_get(space, GLOCK_INODE, 1, &gl))
 *			return 1;
 *		for (int i = 0; i < 1000; i++) {
 *			GLOCK_SCOPE struct glock_holder gh = GLOCK_HOLDER_NONE; // its end lets go
 *
 *			err = glock_lock(gl, GLOCK_EX, &gh);
 *			if (err)
 *				break;
 *			dirty = 1;
 *			snprintf(text, sizeof(text), "%15d\n", atoi(text) + 1);
 *		}
 *		glock_put(gl);
 *		// Only close writes back what is dirty now. -EIO: a write failed.
 *		return glock_space_close(space) || err;
 *	}
 *
 * WHAT A GLOCK IS
 *
 * A glock is a lock on a numbered object. A node is a process that has the space of the glock open.
 * A node keeps the lock after use, so taking the lock again costs no message to another node. The
 * lock manager asks for the lock back only when another node wants it.
 *
 * A lock carries the right to cache what the lock protects. Before another node gets the lock, the
 * library calls the program. The program then writes back dirty data and drops data that it may
 * not keep. In mode EX one owner may read and change the data. In SH many owners read it, and keep
 * copies. In DF many owners share it without copies of the data, as direct I/O does.
 *
 * WHAT TO KNOW BEFORE USING IT
 *
 *   Fencing. A node that stands still for long and then goes on may believe that it still holds
 *   locks, which other nodes may have taken over. No lock service can prevent this. If such a node
 *   must not write to a storage, the storage has to refuse the write, by the number that
 *   glock_token() stores. glock_valid() tells only what the node itself knows.
 *
 *   Holders are never revoked. A demand of another node waits until all holders of this node have
 *   let go. A holder that keeps a glock for long stops other nodes for as long.
 *
 *   Threads. Any thread may call any function at any time, unless the function says otherwise.
 *   Only one thread at a time uses a holder, except for glock_cancel() and glock_poll().
 *   pthread_cancel() never ends a thread within a call.
 *
 *   Callbacks. Operations of a type run on a thread that runs the work. When the program opens the
 *   space, the program chooses such threads:
 *     - threads of the library, with all signals blocked; see work_threads;
 *     - with GLOCK_SPACE_DISPATCH, each thread in glock_dispatch() or in a function that waits.
 *   callback, demote_ok, dump, pages and lost run on any thread. There are three more exceptions:
 *     - unlock runs in glock_dq();
 *     - glock_sync() calls xmote_th on its own thread;
 *     - a thread in glock_nq() or glock_wait() may run what its own request needs. That is
 *       instantiate, lock, xmote_bh, and xmote_th with nothing to write back.
 *   So a program may hold a mutex around glock_dq() that xmote_th and inval take, except where
 *   glock_dq() waits. Operations of different glocks may run at the same time. Operations of one
 *   glock that need the bit lock never run at the same time.
 *
 *   callback, demote_ok, dump, pages and lost run under the internal lock of the glock. They must
 *   return at once and must not call the library. A function that needs the lock returns -EDEADLK
 *   there, and the library reports the call.
 *
 *   Other threads wait for the thread that runs any other operation. In these operations, a
 *   request that cannot be granted at once returns -EDEADLK. glock_dq_wait(), glock_dispatch() and
 *   glock_space_close() return -EDEADLK there, too.
 *
 *   fork. A space belongs to the process that opened it, and in a child process every call returns
 *   -ECHILD. Calls without an error number do nothing: glock_valid(), glock_owner_died() and
 *   glock_shrink() return 0, and glock_poll() returns 1. The child must not close the space, and
 *   the exit of the child gives nothing back. exec needs no care. A child may open spaces of its
 *   own, also if an operation or the log forked it.
 *
 *   Unloading. After dlclose() libglock.so stays loaded, because threads that used it call it once
 *   more when they end. A plug-in with libglock.a in it has to stay loaded, too: link the plug-in
 *   with -Wl,-z,nodelete.
 *
 *   Signals. Waits go on after a signal handler ran, unless GLOCK_WAIT_INTR is given. A signal
 *   handler must not call a function of this header, and must not leave one by siglongjmp().
 *
 *   Deadlocks. If an owner asks for the same glock twice, the second request returns -EDEADLK. Two
 *   owners that take two glocks in different orders wait for ever, on one node or on two.
 *   glock_nq_m() and GLOCK_SPACE_CHECK_ORDER help, and nothing else looks for deadlocks.
 *
 *   Memory. Pointers given to the library must be valid, and a function says what it keeps beyond
 *   the call. While the program uses anything of a glock, holders included, the program must keep
 *   its reference to the glock (glock_get()).
 *
 *   Stack. A call takes at most 16 KiB of the stack of the calling thread. The functions of the
 *   program that it calls come on top.
 *
 *   Files of "local". A space of processes on one machine is a file, in /dev/shm by default. If the
 *   file is removed while processes use it, later processes get a new, separate space. The earlier
 *   processes notice within 2 seconds, and withdraw; until then a cached lock is granted as before.
 *   The process that notices first marks the file. From then on no process gets a lock in the
 *   removed space, and each request fails with -EIO. The work drops their caches. If the work is
 *   inside an operation, it drops the caches as soon as the operation returns.
 *
 *   systemd-logind removes the files of a user from /dev/shm when the last session of this user
 *   ends (RemoveIPC=yes, its default). The files of root and of other system users stay. If a
 *   space must outlive a session, do one of these:
 *     - run the programs as a system user;
 *     - run `loginctl enable-linger`;
 *     - set RemoveIPC=no;
 *     - name another directory in memory (GLOCK_DIR).
 *
 *   Only the user or the group names the default directory. If another user made a directory of
 *   that name first, glock_space_open() fails with -EPERM. glock(1), FILES, has two ways out.
 *
 *   Memory of "local". The file also has the locks. If its file system has no memory for another
 *   lock, the library makes room in the space. This node gives back some of its idle locks, the
 *   least recently used first. If it has none, the other nodes do so, with xmote_th and inval as
 *   always. A request waits for that for about a second at most. A try does not wait. A lock
 *   that is held, wanted or referenced (glock_get()) is in use, and stays. Once memory is full of
 *   locks in use, or of other files, requests for more locks return -ENOSPC.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC. Functions that can fail return 0 or a negative errno.
 * No function aborts or prints. The log callback of the space is told of mistakes of the program.
 * GLOCK_DEBUG=stderr prints these messages without code: see glock_space_open().
 *
 * The comment of each function says how long the function takes, in these words:
 *   At once   The function waits for no holder and for no other node. It may wait for the internal
 *             lock of a glock. A thread holds that lock for a few instructions only.
 *   Waits     The function waits for what its comment names. If nothing limits this wait, it may
 *             last for ever.
 * The comments do not repeat two errors. A function returns -ECHILD in a child after fork, and
 * -EDEADLK in the operations callback, demote_ok, dump, pages and lost if it needs a lock.
 */
#ifndef GLOCK_H
#define GLOCK_H

#ifdef __cplusplus
/* A struct and a function have the same name, as in stat(2). */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
extern "C" {
#endif

#include <stddef.h>
#include <stdint.h>

/* Spares gcc the jump by the PLT, a tenth of the time of a cached pair. */
#if defined(__GNUC__) && !defined(__clang__)
#define GLOCK__NO_PLT __attribute__((noplt))
#else
#define GLOCK__NO_PLT
#endif

#pragma GCC visibility push(default)

/*
 * Modes, with GFS2's numbers. On each node a glock is in one of them.
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
 * and when they may be taken. Numbers from GLOCK_TYPE_OWN on belong to the program.
 */
enum glock_type {
	GLOCK_RESERVED = 0, /* locks by file path: see glock-path.h */
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

/* Flags of a request, with GFS2's values, and what a program uses them for. */
#define GLOCK_TRY 0x0001u        /* an answer without waiting for a holder; see glock_nq() */
#define GLOCK_TRY_1CB 0x0002u    /* one request, such as for a flock that must not wait */
#define GLOCK_RECOVER 0x0004u    /* repairs: be granted even while the lock manager recovers */
#define GLOCK_ANY 0x0008u        /* SH or DF: any mode that is cached, such as for metadata */
#define GLOCK_PRIORITY 0x0010u   /* a journal in a recovery: before all waiters */
#define GLOCK_NODE_SCOPE 0x0020u /* EX for several threads that exclude each other by a mutex */
#define GLOCK_ASYNC 0x0040u      /* return at once; poll or wait later */
#define GLOCK_EXACT 0x0080u      /* without holders: a stronger mode will not do; a flock in SH */
#define GLOCK_SKIP 0x0100u       /* a new or a removed object: skip instantiate and lock */
#define GLOCK_NOPID 0x0200u      /* a lock that outlives its thread; see below */
#define GLOCK_NOCACHE 0x0400u    /* a lock that is not needed again: give it back after use */
#define GLOCK_NOBLOCK 0x0800u    /* without sleeping and without queueing, or -ECHILD */
#define GLOCK_TRY_CACHED 0x1000u /* not of GFS2: only what this node has cached; see glock_nq() */
#define GLOCK_FLAGS_ALL 0x1fffu  /* the sum of these */
/*
 * With NOPID a holder has no owner: any thread may let it go, and the thread that asked may ask for
 * the same glock again meanwhile. GLOCK_SPACE_CHECK_ORDER leaves such a holder out. Holders with
 * NOPID or an owner take the fast path to a cached glock, too. A thread has room for four of them
 * there. Its further requests go by the queue, which takes some thirty times as long.
 */

/* The kinds of data that the glocks of a type cache. */
#define GLOCK_CACHES_METADATA 0x1u
#define GLOCK_CACHES_DATA 0x2u

/* ---- versions and features ---- */

#define GLOCK_VERSION 0x000200u /* of this header: major, minor, patch, a byte each */

/* Returns the version of the library that runs, as GLOCK_VERSION. At once. */
unsigned int glock_version(void);

/*
 * Structs with a member size. The program sets size to sizeof(the struct), so a program and a
 * library of different versions fit together. A member that the program does not have counts as 0.
 * A member that the library does not have must be 0, else glock_space_open() returns -E2BIG.
 * A size of 0, or below the size in version 0.2.0, is -EINVAL. The log names the struct. In an
 * array each entry has the same size.
 */

/*
 * Returns 1 if this library has the feature, else 0. Features: "lockman:none", "lockman:local",
 * "lockman:dlm", "lockman:etcd" (the plug-in may be missing), "probes" (USDT), "biased" (cached
 * locks without atomic operations: the kernel allows membarrier(2)). An unknown name gives 0.
 * At once; also before a space is opened.
 */
int glock_supports(const char *feature);

/* ---- objects ---- */

struct glock_space; /* a name space of glocks, and this node's part in it */
struct glock;       /* a lock; exists once in a space */

/*
 * A request for a lock, and later the lock held. The memory belongs to the program: a variable on
 * the stack or a part of the program's own structures. The holder must stay at its address from
 * glock_nq() until glock_dq() returns. Its contents belong to the library.
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

#define GLOCK_LVB_SIZE 32 /* bytes of a value block */

/* ---- types ---- */

/* Prints len bytes of text; `to` is the argument that the program gave with the function. */
typedef void glock_print_fn(void *to, const char *text, size_t len);

/*
 * The operations of a type. Each may be NULL. The table says which of the glock's two internal
 * locks an operation runs under. The bit lock means that a change of state goes on, and that no
 * other change starts meanwhile. Under the spinlock nothing else of that glock goes on at all.
 *
 *                bit lock   spinlock    may block   thread
 *   xmote_th     yes        no          yes         work, or the one in glock_sync(); with sync 0
 *                                                   also the waiting one
 *   xmote_bh     yes        no          yes         work, or the waiting one
 *   inval        yes        no          yes         work
 *   instantiate  yes        no          yes         work, or the waiting one
 *   demote_ok    sometimes  yes         no          any
 *   lock         yes        no          yes         work, or the waiting one
 *   unlock       yes        no          yes         the one in glock_dq()
 *   dump         sometimes  yes         no          any
 *   pages        sometimes  yes         no          any
 *   callback     sometimes  yes         no          any
 *   lost         sometimes  yes         no          any
 *
 * "work" is a thread that runs the work. "the waiting one" is a thread in glock_nq() or
 * glock_wait(), for its own request. See "Callbacks" above.
 *
 * If an operation breaks this table, the library tells the log of the space and goes on. The
 * message names the type, the number, the operation and the breach. An operation must not:
 *   - drop a lock that it was called with;
 *   - call the library under the spinlock;
 *   - take more than 10 ms of CPU time under the spinlock;
 *   - sleep under the spinlock (the library checks this only with GLOCK_SPACE_CHECK_OPS).
 *
 * An operation must return. During an operation the thread cannot be cancelled. If pthread_exit()
 * or an exception of C++ leaves an operation, it ends there: the operation has failed with
 * -ENOTRECOVERABLE, the log names it, and the thread goes on. xmote_th and inval then withdraw the
 * space, because no dirty data may go on unwritten. An exception that no frame of the thread
 * catches ends the process. A longjmp() must not leave an operation, because the lock then stays as
 * it is until the process ends. The log names such an operation at the next call of the thread that
 * is no cached request, or at the end of the thread.
 *
 * The life of a cached object is: instantiate; holders come and go; xmote_th, inval; instantiate
 * again. So read the object in with instantiate, write it with xmote_th, drop it with inval.
 *
 *   operation    runs                                 with SKIP       an error
 *   xmote_th     before each change of mode, and in   runs            withdraws the space; from
 *                glock_sync()                                         glock_sync(): its result
 *   inval        after xmote_th, if the new mode      runs            -
 *                allows less in the cache
 *   xmote_bh     after a change to SH, DF or EX       runs            fails all waiters
 *   instantiate  once: for the first holder after a   left out; the   fails this holder; the
 *                grant from UN, after each inval,     next holder     next one runs it again
 *                and after DF if data is cached       runs it
 *   lock         for each first holder of this node,  left out        fails this holder; the
 *                also if the cache is good                            next one runs it again
 *   unlock       when the last holder lets go, if a   left out        -
 *                holder without SKIP was there
 *
 * A holder in DF reads metadata only. If it stands under EX or SH of this node, instantiate runs
 * for it, and again for the next holder in SH or EX.
 *
 * While instantiate or lock runs, all other requests of this node for the glock wait. A try fails
 * meanwhile. NOBLOCK returns -ECHILD if one of the two runs, or would have to run. If the node
 * loses the lock during instantiate, the holder gets -EIO.
 *
 * In instantiate and lock, glock_lvb_read(), glock_lvb_write(), glock_token(), glock_owner_died()
 * and glock_valid() take the holder as granted. If the operation fails, the next holder in EX is
 * told of the death of an owner as well.
 */
struct glock_ops {
	size_t size; /* sizeof(struct glock_ops) */
	/*
	 * Called before the library asks the lock manager for another mode. Also called to sync,
	 * with the present mode as `to`. sync (GLOCK_CACHES_) names what may be dirty now and may
	 * not be dirty then. The operation must write it back before it returns. Return an error
	 * only if dirty data stays behind: the library then withdraws the space.
	 */
	int (*xmote_th)(struct glock *gl, enum glock_mode to, unsigned int sync);
	/* Called after the mode has changed, to any mode but UN. An error fails all waiters. */
	int (*xmote_bh)(struct glock *gl, enum glock_mode mode);
	/* Called after xmote_th. Must drop `what` (GLOCK_CACHES_), which may not be kept. */
	void (*inval)(struct glock *gl, unsigned int what);
	/* Returns not 0 if the library may demote a cached lock that no request asked for. */
	int (*demote_ok)(struct glock *gl);
	/*
	 * Called whenever a first holder of this node comes, also if the cache is good. A program
	 * that reads its object in here loses what it wrote since: see instantiate.
	 */
	int (*lock)(struct glock_holder *gh);
	/* Called when the last holder of this node lets go. */
	void (*unlock)(struct glock_holder *gh);
	/*
	 * Describes the object, in lines that begin with a space. Called only while the object may
	 * be cached.
	 */
	void (*dump)(struct glock *gl, glock_print_fn *print, void *to);
	/*
	 * Called when the mode of this node is to go down to `to`, because another mode is wanted.
	 * remote is not 0 if another node wants it.
	 */
	void (*callback)(struct glock *gl, enum glock_mode to, int remote);
	/*
	 * Called for a holder that lost its lock, because the space was withdrawn or lost the
	 * cluster.
	 */
	void (*lost)(struct glock_holder *gh);
	/*
	 * Reads the object in: once for each cache, before `lock`, for the first holder without
	 * SKIP. See the table above.
	 */
	int (*instantiate)(struct glock_holder *gh);
	/* Returns how many pages of the object are cached, for a dump. Called as dump is. */
	unsigned long (*pages)(struct glock *gl);
};

#define GLOCK_OPS_ASPACE 0x1u /* its glocks have pages, an address space; see pages */
#define GLOCK_OPS_LVB 0x2u    /* its glocks have a value block */
/* Only for the program's own types: */
#define GLOCK_OPS_BY_NUMBER 0x4u /* its glocks are taken in the order of their numbers */
#define GLOCK_OPS_RECUR 0x8u     /* one owner may ask twice, as with GFS2's flock type */

#define GLOCK_HOLD_NONE (-1) /* no hold time */

/* A type of a space: its operations, its hold time and its rules. */
struct glock_type_options {
	size_t size;        /* sizeof(struct glock_type_options), in each entry of an array */
	unsigned int type;  /* enum glock_type, or a number of the program's own */
	unsigned int flags; /* GLOCK_OPS_ */
	const struct glock_ops *ops;
	/*
	 * The hold time in ns. Demands of other nodes wait for this time after each grant
	 * of the lock manager, so holders of this node get something done.
	 *   0                 the library sets it for each glock; see below
	 *   GLOCK_HOLD_NONE   no hold time
	 *   any other value   always this time
	 *
	 * With 0 the library measures the cost of a hand-over: giving up, the grant, xmote_th,
	 * reading in, waking up. It also measures the gaps between the uses of this node. SH is
	 * given up at once. An unused lock in EX is given up within 1.5 hand-overs, and at once if
	 * no use is expected. A lock in EX that is used all the time is kept for some 19
	 * hand-overs, and for hold_max at most. The library learns within ten hand-overs, and
	 * forgets within ten.
	 *
	 * The library does not see uses of mapped memory after the release. If these come later
	 * than a hand-over after the release, set the hold time by hand.
	 */
	int64_t hold;
	/* Only for the program's own types; GFS2's types have their own values. */
	const char *name;    /* the library uses at most 8 bytes of it */
	unsigned int caches; /* GLOCK_CACHES_ */
	unsigned int modes;  /* 1 << GLOCK_SH and so on; 0: SH and EX */
	unsigned int order;  /* GFS2's: 2 rename, 3 inode, 6 rgrp, 7 transaction; 0: not ordered */
	/*
	 * With hold 0, for all types: for how long a demand of another node waits after a grant, at
	 * most, in ns. A use that goes on is not cut off. 0: 200 ms. Below 0: -EINVAL.
	 */
	int64_t hold_max;
};

/* ---- spaces ---- */

#define GLOCK_SPACE_DISPATCH 0x1u    /* the program runs the work: glock_space_fd() */
#define GLOCK_SPACE_CHECK_ORDER 0x2u /* waiting for locks in the wrong order is -EDEADLK; slow */
#define GLOCK_SPACE_CHECK_OPS 0x8u   /* report operations that sleep under the spinlock; costs */

/* A member of a space: a process, or with "dlm" a machine. */
struct glock_node {
	size_t size;   /* sizeof(struct glock_node) */
	uint64_t id;   /* of no other member now or earlier; with "dlm" corosync's node id */
	uint32_t slot; /* a small number that no other member has now; with "dlm" the id */
	int self;      /* this process, or this machine */
	int64_t pid;   /* in its own pid namespace, see docs/libglock.md; 0: a machine */
	char name[64]; /* of the process; with "dlm" the name in corosync.conf, or "node" and the id
			*/
};

struct glock_space_options {
	size_t size;                            /* sizeof(struct glock_space_options) */
	const char *lockman;                    /* "local" (default), "none", "dlm", "etcd" */
	unsigned int flags;                     /* GLOCK_SPACE_ */
	const struct glock_type_options *types; /* types without an entry have no operations */
	size_t n_types;
	/*
	 * The space keeps at most so many idle glocks, each for at most so long. 0: no limit. While
	 * a tenth more are cached, because they are still being given back, a request waits if it
	 * may wait and its lock is not cached. This wait ends after 10 ms.
	 */
	size_t cached_max;
	int64_t cached_age; /* ns; a limit above 13 days has no effect */
	/*
	 * Told what went wrong, on any thread, perhaps under internal locks. It must not call the
	 * library. A message has no byte that commands a terminal: names of others are cleaned.
	 */
	void (*log)(void *arg, const char *message);
	void *log_arg;
	/*
	 * For "local": the group whose members share the space, by name or number. NULL: the group
	 * that GLOCK_GROUP names, else only programs of this user share it. All members write to
	 * one file in memory. A hostile member can keep locks from others, forge locks, value
	 * blocks and tokens, and make calls fail with -EIO. It can end others with SIGBUS, if it
	 * shortens the file or fills the memory. It cannot crash others by storing bytes to the
	 * file. See SECURITY.md.
	 * -EINVAL if there is no such group, or no such number.
	 */
	const char *group;
	/*
	 * For "local": the directory of the space's file, whichever user owns the directory. NULL:
	 * the directory that GLOCK_DIR names, else one in /dev/shm that follows from user or group.
	 * -EINVAL if GLOCK_DIR names another directory. The program may change its working
	 * directory afterwards. If the program changes its root directory, it loses the space.
	 */
	const char *dir;
	/*
	 * Called once for each death of a process that had this space open. `dead` has the id, slot
	 * and name with which the member stood in the list of members. One living process that
	 * gave such a function runs it, on a thread of its own. While no process waits for a lock,
	 * the call may be delayed until one does. The function may take locks, with GLOCK_RECOVER,
	 * but must not close the space. Until the function returns, no waiter gets a lock without
	 * GLOCK_RECOVER. With "dlm": called when a machine left or died, on each of the other
	 * machines; see docs/cluster.md. With "etcd": called in each process that gave one.
	 */
	void (*recover)(void *arg, const struct glock_node *dead);
	void *recover_arg;
	/*
	 * The library runs the work of the space on at most so many threads, 256 at most. 0: 16.
	 * The library begins with one thread, and keeps each thread until the space is closed. When
	 * all threads are inside operations, the library starts one more, up to that number, so a
	 * slow operation of one glock does not delay other glocks. With 1 there is one thread for
	 * the whole space.
	 * Has no effect with GLOCK_SPACE_DISPATCH.
	 */
	size_t work_threads;
};

/*
 * Opens the space of that name, 1 to 64 bytes. With "dlm" the name has no '/' and does not begin
 * with a dot. options may be NULL: all defaults. If the program names no lock manager, the
 * environment variable GLOCK_LOCKMAN names it.
 *
 * Waits for the lock manager to let this node in. Of options the library keeps nothing but the
 * functions and their arguments. The library may call these functions from now on, before this
 * function returns, and until glock_space_close() has returned. The log says what is wrong or
 * missing, and what to do. If the environment has GLOCK_DEBUG=stderr, each message goes to standard
 * error, too, with the process, the time and a newline. Any other value names a file, to which the
 * messages are appended. A link, a file with a second name and a file of another user are refused,
 * and so is a path with a link of another user. A setuid program ignores GLOCK_DEBUG.
 *   -EINVAL           name or options. The log names the option, its value and its range. If the
 *                     size of the options is too small for a log, no message tells it
 *   -E2BIG            a struct of a later version has a member that this library does not know. The
 *                     log names its offset
 *   -EPROTONOSUPPORT  no such lock manager
 *   -ENOMEM, -EMFILE  no memory, too many open files
 *   -EAGAIN           no more threads
 * With "local" also:
 *   -ENOENT, -EACCES, -EPERM  the directory or the file, or who owns them
 *   -ENOTDIR, -ELOOP          what should be the directory is another file, or a symbolic link
 *   -ENAMETOOLONG             the path of the directory has more than 3,300 bytes
 *   -EOPNOTSUPP               the file system of the directory has no O_TMPFILE: use one in memory
 *   -ENOSPC, -EFBIG           no room for the file
 *   -EUSERS                   1,024 processes have the space open
 *   -EPROTO                   processes with another version use the file, or it is damaged
 *   -EMEDIUMTYPE              not the file of a space, or a file system that machines share
 *   -EBUSY                    another process is opening the space and makes no progress
 * With "etcd" also:
 *   -ENOPKG           the plug-in is missing, or of another version
 *   -ENETUNREACH      no member of the etcd answers
 *   -EACCES           the etcd refuses the user
 * With "dlm" also:
 *   -ENOPKG           libdlm is missing
 *   -ENODEV           the kernel's DLM, its device or dlm_controld is missing
 *   -ENETDOWN         no quorum
 *   -EACCES, -EPERM   no permission
 */
int glock_space_open(const char *name, const struct glock_space_options *options,
		     struct glock_space **space);

/*
 * Gives all locks back and frees the space. Waits for the lock manager, and for what callbacks
 * write back. No other call in this space may be going on. After 0 or -EIO the space is gone, and
 * the library calls nothing back.
 *   -EIO      closed, but xmote_th failed now or earlier: dirty data was not written
 *   -EBUSY    glocks are still referenced or held, which the log names with call sites; nothing
 *             happened
 *   -EDEADLK  called from a callback; nothing happened
 *
 * A process that leaves without close writes nothing back. Other nodes treat the process as dead.
 * exit() and a return from main() call log for each such space. The message counts the locks in EX
 * whose xmote_th did not run. _exit(), exec and signals leave none. dlclose() of the library calls
 * nothing.
 */
int glock_space_close(struct glock_space *space);

/*
 * Let the program do the work of the space, in place of the library.
 *
 * With GLOCK_SPACE_DISPATCH glock_space_fd() returns an fd that is readable when there is work;
 * else -1. The fd belongs to the library: poll it, and do nothing else with it.
 *
 * glock_dispatch() does the work that is due, and returns the number of glocks that it worked on.
 * Callbacks run in it, on the calling thread, one after the other. Functions that wait dispatch
 * meanwhile; a try runs only the work of its own glock. Any number of threads may dispatch. Then
 * operations of different glocks run at the same time. At once, except for the time that callbacks
 * take.
 *   -EINVAL   the library has threads for the work
 *   -EDEADLK  called from a callback
 */
int glock_space_fd(struct glock_space *space);
int glock_dispatch(struct glock_space *space);

/*
 * Withdraws this node, because it can no longer be trusted with the space. All waiters get -EIO.
 * Dirty caches are dropped. The lost operation, called in here, tells the holders. The other nodes
 * treat this node as dead. Every later glock_nq() returns -EIO; glock_dq() and glock_space_close()
 * go on working. Waits for the lock manager to let go. The library withdraws by itself if xmote_th
 * fails outside glock_sync(). With "local" it also does so if the file of the space was removed, or
 * if the file is damaged, so that a lock cannot be given back. A withdrawal is never undone.
 *
 * No operation is waited for. While xmote_th or inval runs, the lock stays with this node, as with
 * a living node. It goes when the operation has returned, or when the process ends. All other locks
 * go at once. An operation may call this function, and keeps its own lock in the same way. If a
 * process of the space has the function recover, no lock goes before the last of these operations
 * has returned. The same holds with "dlm". A new space in place of a removed file knows nothing of
 * these operations.
 *
 * With "dlm" the same happens when this node loses the cluster, and lasts until the node has the
 * cluster again. Then glock_nq() succeeds again. Locks that were held before stay lost. No holder
 * can use such a lock until its earlier holders have let go. The cluster does not wait for a lost
 * node: other nodes may have got the locks while xmote_th or inval runs here, see "Fencing" above.
 * This node itself gives no lock back before these operations have returned. If the etcd of
 * "etcd" has ended this node, that is a lost cluster, too.
 */
void glock_withdraw(struct glock_space *space);

/*
 * Has up to n idle locks given back, the least recently used first. Returns how many; locks whose
 * type objects (demote_ok, called in here) do not count. At once, because the locks are given back
 * afterwards, with xmote_th and inval called as always. The library does the same by itself if
 * memory for locks is short. Without cached_max and cached_age the order is that of 0.27 s ago if
 * many locks are used.
 */
size_t glock_shrink(struct glock_space *space, size_t n);

/*
 * Stores the members of the space, this one included, up to max of them. Returns their number,
 * which may be higher than max, or an error. Set the size of the first entry; max may be 0.
 * At once; with "dlm" the function asks corosync on this machine for the names. With "etcd" the
 * members are those of a second ago, or later.
 *   -EINVAL  size, see "Structs with a member size"
 *   -ENOMEM  no memory
 */
int glock_nodes(struct glock_space *space, struct glock_node *nodes, size_t max);

/*
 * Stores a number that all processes of the space get, and processes of other spaces do not. Two
 * containers may have spaces of one name in two directories. With "dlm" all nodes of the cluster
 * get the number. At once.
 */
int glock_space_identity(struct glock_space *space, uint64_t *identity);

/* ---- glocks ---- */

/*
 * Stores in *gl the glock of that type and number, with a reference that lasts until glock_put().
 * Makes the glock if need be. At once; asks no other node.
 *   -EINVAL     no such type; the log names it
 *   -ENOMEM     no memory
 *   -ESHUTDOWN  the space is being closed
 *
 * With GLOCK_DEBUG the space remembers the call
 * sites, and glock_space_close() names them in the log if it returns -EBUSY. `where` is kept, not
 * copied: give a literal.
 */
#define glock_get(space, type, number, gl) glock_get_at(space, type, number, gl, GLOCK_HERE)
int glock_get_at(struct glock_space *space, unsigned int type, uint64_t number, struct glock **gl,
		 const char *where);

/*
 * Gives the reference back. After the last one the program must not use the glock. A lock in a
 * mode other than UN stays cached. At UN the glock goes, and its statistics go with it. At once.
 */
void glock_put(struct glock *gl);

/*
 * Writes dirty data back, and keeps the lock and the cache. Calls xmote_th(gl, mode, sync) on the
 * calling thread. The mode is the one that the glock has and keeps. sync names what may be dirty.
 * Holders stay, and may change the object meanwhile: the program excludes its own threads. New
 * requests of this node wait until xmote_th has returned. Waits for an operation or a change of the
 * glock that goes on. The caller has a reference.
 *
 * If nothing can be dirty, the function does nothing and returns 0. Only EX may be dirty, and only
 * if the type has xmote_th and caches something. An error of xmote_th is the result. The space is
 * not withdrawn: the data stays dirty, and the program may try again.
 *   -EIO      the space is withdrawn, or has lost the cluster; the data is lost
 *   -EDEADLK  called from an operation, and another operation or a change of the glock goes on
 *
 * glock_space_sync() does this for each glock of the space, in no order, and returns the first
 * error. Waits as glock_sync() does.
 */
int glock_sync(struct glock *gl);
int glock_space_sync(struct glock_space *space);

/* Return type and number of the glock. At once, in every callback too. */
unsigned int glock_type_of(const struct glock *gl);
uint64_t glock_number(const struct glock *gl);

/*
 * Attach an object of the program to the glock, and return it; NULL at first. Callbacks find the
 * object for as long as the lock is cached, also when the program has no reference. So take the
 * object off before you free it, while you hold the lock. Then xmote_th, xmote_bh, inval, lock and
 * unlock do not run. When glock_set_object() returns, dump, demote_ok, callback and lost no longer
 * use the old object. At once, in every callback too.
 */
void glock_set_object(struct glock *gl, void *object);
void *glock_object(const struct glock *gl);

/* ---- holders ---- */

#define GLOCK__TEXT2(x) #x
#define GLOCK__TEXT(x) GLOCK__TEXT2(x)
#define GLOCK_HERE __FILE__ ":" GLOCK__TEXT(__LINE__)

/*
 * Prepares a request, for glock_nq(). A request without flags needs only glock_lock(), see below.
 * Must not be called while the holder is queued. If it was, glock_nq() of that thread returns
 * -EINVAL, and the log names the holder. Does not touch the glock: the program needs its reference
 * from glock_nq() until glock_dq() returns. glock_nq() reports a wrong mode or wrong flags. The
 * owner of the request is the thread that calls glock_nq(). If a coroutine or a client is the
 * owner, name it by glock_holder_owner(), with any number but 0. Call that function between
 * glock_holder_init() and glock_nq(). At once.
 */
void glock_holder_init(struct glock_holder *gh, struct glock *gl, enum glock_mode mode,
		       unsigned int flags);
void glock_holder_owner(struct glock_holder *gh, uint64_t owner);

/*
 * Asks for the lock. Requests are granted in the order of asking. Waits for all earlier requests
 * and for other nodes, without limit. A signal does not end the wait; glock_cancel() does.
 *
 * With ASYNC and NOBLOCK: at once. No try waits for a holder:
 *   GLOCK_TRY         waits for one hand-over of an idle lock. Fails with -EBUSY if a holder or an
 *                     earlier request, here or elsewhere, is in the way, and with -EAGAIN if the
 *                     wait ended without an answer
 *   GLOCK_TRY_CACHED  gets only what this node has cached, without a request to the lock manager,
 *                     or fails with -EAGAIN. At once
 *   GLOCK_TRY_1CB     makes one request, as GFS2 does for its flocks. Fails with -EAGAIN unless the
 *                     lock is free or cached here, and demands the lock for a later try
 *
 * With GLOCK_TRY a node without a holder gives the lock up at once, also within its hold time. The
 * wait lasts for four hand-overs at most, as measured for the type, but for 50 ms at least and 1 s
 * at most. A GLOCK_TRY that fails demands the lock, as TRY_1CB does. By lock manager:
 *   "local"  -EBUSY once the node with the lock has answered. -EAGAIN stands for a node that is
 *            stopped or dead, or writes back for long
 *   "dlm"    No node can say that it has a holder, and an idle lock stays for its hold time.
 *            -EAGAIN stands for both, and -EBUSY for this node only
 *   "etcd"   A node with a holder answers, as with "local"
 *   "none"   There is no other node, so that GLOCK_TRY never waits
 *
 * A try runs the operations that the try itself needs. Only GLOCK_TRY waits for others, those of a
 * hand-over. If this node has to give the glock up, the two other tries fail. A grant of the lock
 * manager is delayed while others recover, until they have recovered, unless with RECOVER.
 *
 * The operations instantiate and lock run before this function returns; with ASYNC, before the
 * request is granted. The error of the operation is the result.
 *   0           granted; with ASYNC: asked for
 *   -EAGAIN     TRY: no holder is known, but the lock did not come in time. TRY_CACHED, TRY_1CB:
 *               it would have to wait, or another thread was just about to ask. Each try: a
 *               stopped process keeps an internal lock of lock manager "local"
 *   -EBUSY      TRY: the lock is in use, or wanted by an earlier request
 *   -ECHILD     NOBLOCK: it would have to wait; in a child after fork: always
 *   -ECANCELED  glock_cancel() took the request back
 *   -EDEADLK    this owner has or wants the lock already, or the lock order is wrong. Also: the
 *               caller must not wait, see "Callbacks" above
 *   -EINVAL     mode, flags, or both: PRIORITY, ANY with EX, DF with a type that has none. Also:
 *               the holder is queued already, and stays so. Also: the program has no reference
 *   -EIO        the space is withdrawn, or has lost the cluster; or the lock manager failed
 *   -ENOSPC     with "local": memory is full of locks in use; see "Memory of local" above. With
 *               a try also: idle locks are only now given back, so try again
 *   -ESHUTDOWN  the space is being closed
 * or the error of the type's instantiate, lock or xmote_bh operation. After an error the holder is
 * not queued. The program may use the holder again, after glock_holder_init() or as it is. `where`
 * is kept, not copied: give a literal.
 */
#define glock_nq(gh) glock_nq_at(gh, GLOCK_HERE)
int glock_nq_at(struct glock_holder *gh, const char *where) GLOCK__NO_PLT;

/*
 * Lets the lock go, or takes the request back as glock_cancel() does. At once, except for the
 * type's unlock operation, which runs in here. No other operation that may block runs in here. If
 * the type has such operations, another thread gives the glock to other nodes.
 *
 * There are two waits. If the type has unlock, the last holder waits for a glock_sync() of the
 * glock that goes on. A request whose instantiate or lock runs waits for the operation. With
 * GLOCK_SPACE_DISPATCH these waits dispatch.
 *   -EINVAL  the holder is not queued, or is a copy, which the log names
 *   -EBUSY   called in the instantiate or lock operation of this holder
 *   -EDEADLK the type has unlock, and the call comes from xmote_th in glock_sync(); still held
 *   -EPERM   another thread asked for the lock, without NOPID or glock_holder_owner(). Any
 *            thread may let go what an ended thread still holds
 */
int glock_dq(struct glock_holder *gh) GLOCK__NO_PLT;

/*
 * Says that this use of the lock is in vain, such as a look at an empty queue. If another node
 * waits, and no thread of this node does, glock_dq() gives the lock up at once. The hold time does
 * not learn from such a use. Does nothing with a fixed hold time, or without the lock. At once.
 */
void glock_holder_idle(struct glock_holder *gh);

/*
 * glock_lock() asks for the lock in that mode, and glock_unlock() lets it go. These are the calls
 * for the common case, a request without flags. glock_lock() is glock_holder_init() and then
 * glock_nq(), with its waits and errors. glock_unlock() is glock_dq().
 */
#define glock_lock(gl, mode, gh) glock_lock_at(gl, mode, gh, GLOCK_HERE)
static inline int glock_lock_at(struct glock *gl, enum glock_mode mode, struct glock_holder *gh,
				const char *where)
{
	glock_holder_init(gh, gl, mode, 0);
	return glock_nq_at(gh, where);
}
static inline int glock_unlock(struct glock_holder *gh)
{
	return glock_dq(gh);
}

/*
 * Lets the lock go as glock_dq() does. Then waits until a demand that is due is met; with NOCACHE,
 * until the lock is given back. The wait lasts for as long as other holders of this node have the
 * lock. -EDEADLK: called from a callback; the lock is let go all the same.
 */
int glock_dq_wait(struct glock_holder *gh);

/*
 * Looks at a request with ASYNC. Returns 1 if the request was granted or has failed, so that
 * glock_wait() does not block; else 0. At once, from any thread. With GLOCK_SPACE_DISPATCH the
 * result becomes 1 only if a thread dispatches.
 */
int glock_poll(const struct glock_holder *gh);

#define GLOCK_WAIT_INTR 0x1u /* return -EINTR when a signal handler ran */

/*
 * Waits until the request is granted or has failed, or until the deadline, a CLOCK_MONOTONIC time
 * in ns. 0: no deadline. A deadline in the past: only looks. Returns the result of glock_nq(), the
 * same result each time until glock_dq().
 *   -ETIMEDOUT, -EINTR  the request is still queued: wait again, or call glock_dq()
 *   -EDEADLK            it would have to wait, in a callback
 *   -EINVAL             the holder was never queued
 * After a deadline of glock_holder_notify(), -ETIMEDOUT is the result: glock_poll() returns 1.
 */
int glock_wait(struct glock_holder *gh, int64_t deadline, unsigned int flags);

/*
 * Takes a request back, from any thread. A thread that waits for the request gets -ECANCELED.
 * Returns 0, or -EALREADY if the request was granted or had failed before. At once; but while an
 * operation of the request runs (instantiate, lock), the function waits for the operation. The lock
 * manager may grant the lock all the same; then this node caches the lock.
 */
int glock_cancel(struct glock_holder *gh);

/*
 * Returns 1 if the lock is held and still protects what it should, else 0. At once. The answer is
 * only this node's view: see "Fencing" above.
 */
int glock_valid(const struct glock_holder *gh);

/*
 * Changes a holder in EX to a weaker mode, in place. Other requests of this node may then join.
 * Other nodes wait until the holders of this node have let go. At once.
 *   -EINVAL  not held, not a weaker mode, or not a mode of the type
 *   -EIO     the lock was lost meanwhile
 *   -EBUSY   the holder shares EX
 *   -EPERM   another thread holds it; see glock_dq()
 */
int glock_downgrade(struct glock_holder *gh, enum glock_mode mode);

/*
 * Stores the number that goes with a lock held in EX. Storage can use the number to refuse an
 * earlier holder. The number is higher than that of each earlier holder in EX in this space.
 * Deaths, restarts and lost value blocks do not change this. For "dlm" see docs/cluster.md,
 * "Tokens", and for "etcd" see docs/etcd.md, "Restored". At once.
 *   -EPERM       not held in EX
 *   -EIO         the lock was lost meanwhile, and the number with it. With "etcd" also while the
 *                etcd has not confirmed this node for 4 s
 *   -EOPNOTSUPP  this lock manager has no such numbers
 */
int glock_token(const struct glock_holder *gh, uint64_t *token);

/*
 * Returns 1 if a node died that held the lock in EX or had it cached in EX, else 0. After 1, what
 * the lock protects may be half done. Once a holder in EX has been told, later holders get 0. A
 * process that ends without glock_space_close() is a node that died. Its idle locks count, too,
 * because their caches were not written back.
 *
 * No death is forgotten. But full memory of "local" may lead to reports of deaths that did not
 * happen. The log says so once. For each lock this ends with its first holder in EX, until memory
 * is full again.
 *
 * With "dlm" only if another node knew the lock, too: see docs/cluster.md, "The dead". At once.
 */
int glock_owner_died(const struct glock_holder *gh);

/*
 * Return the glock and the mode that the holder was initialized with. After a downgrade the mode is
 * the new one. At once.
 */
struct glock *glock_of(const struct glock_holder *gh);
enum glock_mode glock_mode_of(const struct glock_holder *gh);

/*
 * Lets the holder go at the end of the variable's scope:
 *
 *	GLOCK_SCOPE struct glock_holder gh = GLOCK_HOLDER_NONE;
 *	glock_holder_init(&gh, gl, GLOCK_SH, 0);
 *	if ((err = glock_nq(&gh)))
 *		return err;
 */
#define GLOCK_SCOPE __attribute__((cleanup(glock_scope_end)))
static inline void glock_scope_end(struct glock_holder *gh)
{
	(void)glock_dq(gh); /* a holder that is not queued: -EINVAL, and nothing happens */
}

/* ---- notification ---- */

/*
 * A notifier tells an event-driven program which of its requests with ASYNC have finished. A
 * request finishes when it is granted, when it fails, when glock_cancel() takes it back, or at its
 * deadline. examples/notify.c shows a loop around epoll.
 *
 *	glock_holder_init(&job->gh, gl, GLOCK_EX, GLOCK_ASYNC);
 *	glock_holder_notify(&job->gh, notifier, 0);
 *	err = glock_nq(&job->gh);
 *	...
 *	while (glock_notifier_next(notifier, &gh) > 0) // when the fd is readable
 *		result = glock_wait(gh, 0, 0);         // does not block
 *
 * A program may have several notifiers, for example one for each thread with a loop. A notifier
 * serves all spaces of the process.
 */
struct glock_notifier;

/*
 * Opens a notifier, or closes it. A close drops the notifications that were not read. No other call
 * for the notifier may be going on. At once.
 *   -ENOMEM, -EMFILE, -ENFILE  no memory, too many open files
 *   -ECHILD                    this process has not opened a space yet
 *   -EBUSY                     a request with this notifier has not finished; nothing happened
 */
int glock_notifier_open(struct glock_notifier **notifier);
int glock_notifier_close(struct glock_notifier *notifier);

/*
 * Returns an fd that is readable as long as glock_notifier_next() has a holder to return. The fd
 * belongs to the library: poll it, and do nothing else with it. With an edge-triggered epoll, call
 * glock_notifier_next() until it returns 0. At once.
 */
int glock_notifier_fd(const struct glock_notifier *notifier);

/*
 * Stores a holder whose request has finished, in the order of finishing. Any number of threads may
 * call this function. One of them gets the holder, once. After glock_dq() of a holder returned, no
 * thread gets it. At once, in every callback too.
 *   1  a holder
 *   0  no holder now
 */
int glock_notifier_next(struct glock_notifier *notifier, struct glock_holder **gh);

/*
 * Names the notifier of a request with ASYNC, between glock_holder_init() and glock_nq(). Without
 * ASYNC, glock_nq() returns -EINVAL. If glock_nq() returns 0, the holder comes from the notifier
 * once, also if the lock was granted at once. If glock_nq() fails, the holder does not come.
 *
 * The holder must stay at its address until it came from the notifier, or until glock_dq() has
 * returned. glock_dq() ends the notification also if it returns -EINVAL because the request has
 * failed. A request with a notifier goes by the queue. notifier NULL: no notification.
 *
 * At the deadline, a CLOCK_MONOTONIC time in ns, a request that still waits fails with -ETIMEDOUT.
 * While instantiate or lock runs for the request, the deadline has no effect. 0: no deadline. At
 * once.
 */
void glock_holder_notify(struct glock_holder *gh, struct glock_notifier *notifier,
			 int64_t deadline);

/* ---- several at once ---- */

/*
 * glock_nq_m_at() asks for all locks, in the order of their numbers, whatever order is given. An
 * owner that always takes several locks in this way, and takes no others meanwhile, cannot
 * deadlock. All the glocks must have one place in the lock order. Waits for each lock as glock_nq()
 * does, and returns its errors. After an error none of the locks is held.
 *   -EINVAL  also: a glock is there twice, or a request has ASYNC
 *   -ENOMEM  more than 16 requests, and no memory
 *
 * glock_dq_m() lets go of the holders that are held or asked for, the last first. At once, except
 * for unlock operations.
 */
#define glock_nq_m(n, ghs) glock_nq_m_at(n, ghs, GLOCK_HERE)
int glock_nq_m_at(size_t n, struct glock_holder *ghs, const char *where);
void glock_dq_m(size_t n, struct glock_holder *ghs);

/*
 * Waits for several requests with ASYNC, all of them, asked for in any order.
 *
 * -ESTALE: the wait took too long, so there may be a deadlock. All locks were let go or taken back,
 * and the function slept for some time. Ask again for all locks. The caller counts retries up from
 * 0. The allowed time begins with 10 ms. With retries this time and the sleep grow at random, to at
 * most 10 s. Any other error: one request failed, and no lock is held.
 */
int glock_async_wait(size_t n, struct glock_holder *ghs, unsigned int retries);

/* ---- value blocks ---- */

/*
 * Read and write the 32 bytes that go with the lock: read in any mode, write in EX. The next holder
 * on any node reads what was written. The value lasts while any node caches the lock, or has asked
 * for the lock and still has a reference. At once.
 *   -ENODATA     no value: no holder wrote one, or a node died that might have changed it. The next
 *                write ends this
 *   -EINVAL      with "dlm" the last 8 of the 32 bytes belong to the library, and must be 0
 *   -EOPNOTSUPP  the type has no value block (GLOCK_OPS_LVB)
 *   -EPERM       not held, or a write without EX
 *   -EIO         the lock was lost meanwhile, and the value with it
 */
int glock_lvb_read(struct glock_holder *gh, void *value);
int glock_lvb_write(struct glock_holder *gh, const void *value);

/* ---- statistics ---- */

/*
 * Times are in ns. The first eight are GFS2's estimators and counters. The estimators are smoothed
 * means and deviations (var):
 *   srtt    the round trip of requests that other nodes cannot hold up
 *   srttb   the round trip of requests that other nodes can hold up
 *   sirt    the time between requests
 * dcount counts requests to the lock manager; qcount counts holders queued.
 */
struct glock_statistics {
	size_t size; /* to be set: sizeof(struct glock_statistics) */
	int64_t srtt, srttvar, srttb, srttvarb, sirt, sirtvar;
	int64_t dcount, qcount;
	int64_t age, usable; /* since the glock was made; of that, this node could use it */
	int64_t basts;       /* demands of other nodes */
	int64_t demotes;     /* times it was given up or weakened for a demand, or by itself */
	int64_t held_off;    /* demands that had to wait for the hold time */
	int64_t conversions_failed;
	int64_t tries_failed;
};

/*
 * Stores the statistics since the glock was made. The means begin with those of its type on that
 * CPU, the counts with 0. At once. -EINVAL: size, see "Structs with a member size".
 */
int glock_statistics(struct glock *gl, struct glock_statistics *out);

/*
 * Counts n uses of the glock in that mode that needed no request, because the program kept a holder
 * over several uses of its own. qcount and the published grants grow by n. At once.
 *   -EINVAL  mode: not SH, DF or EX
 */
int glock_count_uses(struct glock *gl, enum glock_mode mode, uint64_t n);

/* A holder of a glock, or a request that waits. */
struct glock_holder_info {
	size_t size;          /* sizeof(struct glock_holder_info) */
	enum glock_mode mode; /* held or wanted; UN: it recovers what a dead process left */
	unsigned int flags;   /* GLOCK_ flags of the request; 0 of another node */
	int waits;            /* it waits */
	int own;              /* of this process */
	int64_t pid;    /* own: the thread that asked; else the process, as in struct glock_node */
	char comm[16];  /* of that thread, or of the process */
	uint64_t owner; /* what glock_holder_owner() named; else 0 */
	int64_t waited; /* ns since the request, if it waits; else 0 */
	const char *where; /* the call site; NULL of another node */
	int stopped, dead; /* another process; of another pid namespace, only dead is known */
};

/*
 * Stores the holders of the glock and the requests that wait, up to max. Those of this process come
 * first, in the order of their grants and requests. Then come the processes of other nodes that the
 * open request waits for, up to 32 of them, which only "local" knows. Returns their number, which
 * may be higher than max, or an error. Set the size of the first entry; max may be 0. At once.
 *   -EINVAL  size, see "Structs with a member size"
 */
int glock_holders(struct glock *gl, struct glock_holder_info *holders, size_t max);

/* ---- text ---- */

enum glock_file { GLOCK_FILE_GLOCKS, GLOCK_FILE_GLSTATS, GLOCK_FILE_SBSTATS, GLOCK_FILE_MAX };
enum glock_format { GLOCK_FORMAT_LINUX_6_1, GLOCK_FORMAT_LINUX_7_0, GLOCK_FORMAT_MAX };

/*
 * Prints a file of this name as Linux does, one glock after the other. Each glock is a snapshot of
 * one moment; the whole file is not. The function calls print under no lock: print may wait and
 * call the library. The function calls the types' dump operations under the spinlock. At once,
 * except for print; the time grows with the number of glocks.
 *   -ENOMEM  no memory
 *   -EINVAL  file or format
 */
int glock_dump(struct glock_space *space, enum glock_file file, enum glock_format format,
	       glock_print_fn *print, void *to);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#pragma GCC diagnostic pop
#endif

#endif
