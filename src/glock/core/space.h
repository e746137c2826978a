/* SPDX-License-Identifier: MIT */
/*
 * space.h - the struct of a lock space and of its types. internal.h says which lock protects what.
 */
#ifndef GLOCK__SPACE_H
#define GLOCK__SPACE_H

#include "glock/base/lock.h"
#include "glock/base/mode.h"
#include "glock/stats/record.h"
#include "glock/stats/stats.h"
#include "glock/trace/trace.h"
#include "lockman/lockman.h"
#include "slab.h"

#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/types.h>

struct glock__busy;

struct glock;
struct glock__holder;

/* The operation `lock` of a path returns this to go down to UN, or from EX to the holder's mode. */
enum { GLOCK__PATH_CHANGE = INT_MAX };

/* Functions that the type of locks by file path has beside its operations; see glock/path. */
struct glock__path_ops {
	/* The mode to ask for, on behalf of a waiter; under gl->lock. */
	enum glock_mode (*mode)(const struct glock *gl, const struct glock__holder *gh);
	void (*put)(struct glock *gl);            /* a reference of the program is about to go */
	void (*freed)(void *file);                /* the glock is gone, and this was its file */
	bool (*valid)(const struct glock *gl);    /* the file is still locked for a holder */
	void (*share)(struct glock *gl);          /* the holder has SH now; under gl->lock */
	void **(*object)(const struct glock *gl); /* where the program has its object, or NULL */
};

struct glock__type {
	struct glock__type_info info;
	struct glock_ops ops;
	unsigned int flags; /* GLOCK_OPS_ */
	int64_t hold;       /* as in glock_type_options */
	int64_t hold_max;   /* the same; never 0 */
	int64_t hold_first; /* the hold time of a glock at first; demote.c derives it from hold */
	const struct glock__path_ops *path; /* of locks by file path; else NULL */
	bool known;
	bool fast;    /* glocks of this type may take the fast path */
	bool has_ops; /* a change of state may call an operation that may block */
	/* Of glock_choose(); atoms. The shortest known use time, 0: none; when to explore next. */
	uint64_t shortest_use, explore_at, fetch_at;
};

/* A thread of the library that runs the work. Under work.lock. */
struct glock__worker {
	pthread_t thread;
	const struct glock_space *space;
	int64_t until;    /* it looks at the work then, or earlier; 0: before it sleeps */
	unsigned int ops; /* the depth of operations of the program in which it is */
};

/* The seams to the system: a test supplies its own clock and random numbers. */
struct glock__env {
	int64_t (*now)(void *arg); /* NULL: CLOCK_MONOTONIC */
	uint32_t (*random)(void *arg);
	unsigned int (*cpu)(void);
	unsigned int cpus;
	/* Start a thread that runs the work, and join all of them; NULL: real threads. */
	void (*start)(void *arg, void (*fn)(struct glock_space *space), struct glock_space *space);
	void (*join)(void *arg, struct glock_space *space);
	void *arg;
	struct glock__mem *mem;    /* the memory of records; NULL: private memory */
	unsigned int major, minor; /* of the device in traces: the replay has the kernel's */
};

/*
 * The lines of the table are in so many parts. A line stays in its part when the table grows, and
 * the table has this many lines at least.
 */
enum { GLOCK__PARTS = 64, GLOCK__HASH_PIECES = 20, GLOCK__HASH_ENTRIES = 15 };

/* A cache line for the lock of a part of the table. Some threads count idle glocks there. */
struct glock__part {
	struct glock__lock lock;
	uint32_t idle; /* an atom */
	uint32_t unused[14];
};

/* A line of the table of glocks, see hash.h. All of it are atoms. */
struct glock__hash_line {
	uint32_t entries[GLOCK__HASH_ENTRIES]; /* a tag and a number; 0: empty */
	uint32_t chain;                        /* the first glock without an entry */
};

struct glock_space {
	struct glock__lock lock;
	struct glock__part parts[GLOCK__PARTS];
	uint32_t n_glocks;
	uint32_t alive; /* glocks not freed yet, dead ones included; a futex */
	struct glock__hash_line *hash[GLOCK__HASH_PIECES];
	uint32_t lines;               /* of the table of glocks; an atom */
	uint8_t look_locked;          /* look-ups need the lock of the part now; an atom */
	struct glock__slab glocks[2]; /* without and with a value block */
	struct glock__slab busy;
	struct glock__slab thread_records;
	struct glock__thread *threads; /* under threads_lock, see thread.h */
	uint32_t ended;                /* so many of them belong to ended threads */
	bool fast;                     /* no option of this space forbids the fast path */
	uint8_t bias;                  /* words may get a bias, see bias.h; an atom */
	uint32_t bias_base;            /* where an open word begins to count grants, see word.h */
	uint64_t bias_not_before;      /* an atom; no bias begins before that time */

	char name[65];
	unsigned int flags;  /* GLOCK_SPACE_ */
	uint32_t generation; /* of the process that opened it; a forked child has another one */
	struct glock__type types[GLOCK_TYPE_MAX];
	struct glock__env env;
	struct glock__lockman *lm;
	struct glock__type_stats type_stats;
	struct glock__ring *ring;
	struct glock__publisher *publisher; /* NULL: this node publishes nothing */
	uint64_t *trace_until;              /* in the head of the segment; NULL without publisher */
	struct glock__ring *live_ring;      /* made when a reader first asks for events */
	uint32_t live_ring_made;
	uint32_t demote_answered; /* the last request of a reader that was served; see control.c */
	uint32_t traced;          /* a reader traces: no thread takes the fast path */
	struct glock__call_sites *sites;
	void (*log)(void *arg, const char *message);
	void *log_arg;
	struct glock__debug *debug;         /* cleans messages; NULL: no log gets any */
	struct glock__get_sites *get_sites; /* with GLOCK_DEBUG; else NULL */
	void (*recover)(void *arg, const struct glock_node *dead);
	void *recover_arg;
	/*
	 * The states of a space. Each is an atom; several may be set at a time.
	 *
	 *   state          set by                 cleared by           effect
	 *   recovering     event block            event thaw or lost,  grants wait, but not RECOVER
	 *                                         withdraw
	 *   thaw_pending   event thaw             glock__thaw()        the work applies the grants
	 *   grants_paused  event pause            event resume         no holder is granted
	 *   cluster_lost   event lost             event back           holders fail, requests are
	 *                                                              refused meanwhile
	 *   withdrawn      glock_withdraw(),      never                holders fail, requests are
	 *                  a failed operation,                         refused for ever
	 *                  event gone
	 *   withdraw_done  glock_withdraw()       never                each glock was visited
	 *   closing        glock_space_close()    never                no new glock, no new holder
	 *
	 * A glock adds two states of its own. With GLOCK__F_FROZEN its reply waits for the thaw.
	 * With recover_first a holder with RECOVER was let in, or the glock gave up a frozen grant.
	 * The other waiters wait for the thaw.
	 */
	uint8_t recovering, thaw_pending, grants_paused, cluster_lost;
	uint8_t withdrawn, withdraw_done, closing;
	uint32_t writers;     /* lost locks under which operations still write; an atom */
	uint32_t leaves;      /* reasons to leave the lock manager, see glock__leave(); an atom */
	uint32_t short_of;    /* parts of the lock manager that need memory; see lru.c */
	uint8_t has_paths;    /* the program had a lock by file path; an atom */
	uint8_t write_failed; /* xmote_th failed once: close says so */
	struct glock__list opened; /* of the spaces that the program opened, see exit.c */

	struct {
		size_t max;
		int64_t age;
		uint64_t unused[8]; /* glock_put() reads the limits: no lock is in their line */
		struct glock__lock lock;
		uint32_t first, last; /* glocks, the coldest first */
		uint32_t hand;        /* the next glock of a walk through the list; 0: no walk */
		uint32_t leaving;     /* glocks that a limit gave up, but are cached; an atom */
	} lru;
	struct {
		struct glock__lock lock;
		struct glock__busy **heap; /* the earliest work first */
		size_t n, room;
		int64_t armed;    /* when its thread looks next; INT64_MAX: never */
		uint32_t events;  /* grows with each event that a waiter may wait for */
		uint32_t idle;    /* threads that sleep on events */
		uint32_t waiters; /* threads that wait for a holder, a demote or a free glock */
		uint8_t stop;
		int fd;           /* a timer, or -1 */
		bool have_thread; /* threads of the library run the work, not the program */
		int (*run_due)(struct glock_space *space);
		struct glock__worker *workers;
		uint32_t n_workers, max_workers;
		uint32_t n_running;         /* workers that have begun to run */
		bool starting;              /* a worker is being started */
		struct glock__list running; /* struct glock__running, the longest first */
	} work;
	struct {
		struct glock__lock lock;
		struct glock__list holders;
	} order;
	struct {
		struct glock__lock lock;
		uint32_t n, max; /* lent records */
		uint32_t hand;   /* the next record that glock__lent_trim() looks at */
		struct glock__slab slab;
		struct glock__policy types[GLOCK_TYPE_MAX];
	} lent;
	/* The published histograms of each type; NULL: nothing was counted yet. Atoms. */
	struct glock__type_histogram *histograms[GLOCK_TYPE_MAX];
	unsigned int histogram_parts; /* of each type; a power of two */
	uint8_t histograms_full;      /* the segment had no room for one */
	struct glock__lock histograms_lock;
};

/* No lock of this space protects anything now. */
GLOCK__INLINE bool glock__is_unusable(const struct glock_space *space)
{
	return atom_load8(&space->withdrawn) ||
	       __atomic_load_n(&space->cluster_lost, __ATOMIC_ACQUIRE);
}

/* Under gl->lock. The thread that sets grants_paused visits every glock afterwards. */
GLOCK__INLINE bool glock__grants_paused(const struct glock_space *space)
{
	return __atomic_load_n(&space->grants_paused, __ATOMIC_RELAXED);
}

GLOCK__INLINE int64_t glock__now(struct glock_space *space)
{
	return space->env.now ? space->env.now(space->env.arg) : glock__clock();
}

/* ---- log.c: messages for the program ---- */

struct glock__holder;

GLOCK__COLD void glock__log(struct glock_space *space, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Checks the member size of a public struct. `first` is the size that the struct had in its first
 * version: see GLOCK__FIRST_SIZE. Returns 0, or -EINVAL with a message. A size of 0 would switch
 * off in silence all that the program set.
 */
int glock__check_size(struct glock_space *space, const char *name, size_t size, size_t first);

/*
 * Checks the rest of a public struct, of a later version, behind the `known` bytes. Returns 0, or
 * the offset of the first byte there that is not 0.
 */
size_t glock__unknown_member(const void *at, size_t size, size_t known);

/* Returns the size of a struct whose last member was `last`. */
#define GLOCK__FIRST_SIZE(type, last) \
	(offsetof(struct type, last) + sizeof(((struct type *)0)->last))

/* Logs an operation that the thread, which calls the library or ends, left by longjmp(). */
GLOCK__COLD void glock__check_left(bool ends);

/* Logs why a holder stays: -EPERM another thread took it, -EINVAL it is a copy. Returns err. */
GLOCK__COLD int glock__not_let_go(const struct glock__holder *gh, int err);

#endif
