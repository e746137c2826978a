/* SPDX-License-Identifier: MIT */
/*
 * world.h - a cluster of programs that use libglock, in one thread, with everything checked.
 *
 * Nodes run the library unchanged, on the simulator's lock manager and its time. On each node some
 * clients take and drop locks. Each glock protects a number on a disk that all nodes share. A
 * holder in EX increments the number, in its cache. A holder in any mode reads it, from its cache
 * or the disk, and must see the last value that was written.
 *
 * Each caller of the library is a task (task.h): a client's request, an arriving reply, the work.
 * The type's operations may take time and fail, and all other tasks go on meanwhile. With
 * `threads`, tasks are also interrupted at the library's atomics.
 *
 * After every step these checks run:
 *
 * - No two nodes hold a glock in modes that exclude each other.
 * - Each cache has no more than the glock's mode and the requested mode allow.
 * - Granted holders are at the head of their queue, and no waiter was overtaken.
 * - No waiter waits that could be granted. For each waiter, the lock manager was asked, or work is
 *   pending, or a change is in flight.
 * - While a node's request waits at the master, every other node is granted at most once.
 * - Every glock's statistics agree with a second computation of them.
 * - Wanted demotes agree with their flags.
 *
 * At the end, each request must have an answer, and nothing may be left in the library or the
 * master. With threads, data that a task is changing is checked as soon as the task is through.
 */
#ifndef TESTS_SIM_WORLD_H
#define TESTS_SIM_WORLD_H

#include "glock/core/internal.h"
#include "lockman/sim/sim.h"

#include "sim/task.h"

#include <stdio.h>

enum { NODES_MAX = 8, CLIENTS_MAX = 16, GLOCKS_MAX = 3, MIRRORS = 64, CPUS_MAX = 3 };
enum { WORKERS_MAX = 3 };

enum client_state {
	IDLE,
	ASKING,  /* about to */
	WAITING, /* its request is made, or being made */
	HELD,
	LEAVING, /* dropping the lock, or its request failed */
};

struct client {
	unsigned int node, g;
	enum client_state state;
	bool busy;         /* a task works for it */
	bool granted;      /* and this client saw the grant */
	struct task *task; /* with threads: its own, as long as it has that id */
	pid_t tid;
	unsigned int cancels; /* tasks that are canceling its request */
	enum glock_mode mode;
	unsigned int flags;
	struct glock_holder gh;
	struct glock *gl;
	uint64_t asked, queued; /* turns: at its call; when a check saw it in the queue */
	int64_t next;           /* the time of its next action */
};

struct cache {
	unsigned int bits; /* enum glock__cache */
	long value;
	bool entered; /* the type's lock operation was called */
	bool in_op;   /* an operation with the bit lock runs */
	/* The mode in which the object was read in since the cache was dropped; UN: it was not. */
	enum glock_mode instantiated;
	bool partly; /* instantiate ran for a holder in DF, which reads metadata only */
};

/* A request at the master. */
struct petition {
	bool open, down, fresh; /* fresh: for a lock that the master does not know yet */
	unsigned int granted;   /* grants to others meanwhile */
};

struct world_node {
	struct glock_space *space; /* NULL: dead */
	bool withdrawn, closing;
	bool write_failed;        /* xmote_th returned an error */
	unsigned int dispatchers; /* tasks that run its work */
	bool receiving;           /* a task gets a message */
	bool starting;
	struct task *thread[WORKERS_MAX]; /* the library's */
	unsigned int n_threads;
	struct cache cache[GLOCKS_MAX];
	struct petition petition[GLOCKS_MAX];
	struct glock__stats types[GLOCK_TYPE_MAX][CPUS_MAX]; /* the second computation */
	int64_t restart;
};

/* A glock's statistics, computed a second time. */
struct mirror {
	struct glock *gl; /* NULL: free */
	unsigned int node;
	bool known; /* its first state is known */
	struct glock__stats stats;
	struct glock__counts counts;
	int64_t born;
	int64_t used, since; /* how long it was usable before `since`; since when it is usable */
	bool usable;
	int64_t stamp;
	bool granted, blocking;
	bool giving;    /* it was asked for UN */
	bool refused;   /* the last request was */
	bool unlocking; /* out of the table; its lock is being given back */
	bool seen;      /* at this step's check */
};

struct world_features {
	bool kills, pauses, cancels, withdraws, tries, no_hold, fixed_hold, disorder;
	bool steady;          /* every message takes the same time */
	bool late;            /* demands come late */
	bool slow;            /* operations take time, and demote_ok sometimes says no */
	bool failing;         /* operations fail */
	bool refuse;          /* the lock manager fails */
	bool no_room;         /* the lock manager is short of memory */
	bool unfair;          /* the master lets new locks wait behind any number of conversions */
	bool convert;         /* all ask for SH first and for EX then */
	bool duel;            /* conversions that exclude each other, and tries meanwhile */
	bool exact;           /* many EXACT, ANY and DF: changes between all modes */
	bool threads;         /* tasks are interrupted at atomics */
	bool waits_only;      /* and of threads: they are switched only where they wait */
	bool fast;            /* owners are threads, so that locks may take the fast path */
	bool at_once;         /* some requests are answered before their call returns */
	bool quiet;           /* one type has no operations at all */
	bool worker;          /* the library's threads run the work, not the program */
	unsigned int workers; /* at most so many; 0: one */
};

struct world {
	struct glock__sim *sim;
	struct tasks tasks;
	unsigned int nodes, clients, glocks;
	struct world_features f;
	struct world_node node[NODES_MAX];
	struct client client[CLIENTS_MAX];
	struct mirror mirror[MIRRORS];
	long disk[GLOCKS_MAX], truth[GLOCKS_MAX];
	uint64_t turns;
	bool ending;
	size_t picked; /* the message that comes next */
	unsigned long steps, grants, fast_grants, workers;
	unsigned int passed, passed_fresh; /* most grants to others while one waited */
	char trouble[256];                 /* the failure; empty: none */
};

/* Counts how often a reply came in a state, with a demote waiting or due. */
enum world_reply { GRANTED, TRY_AGAIN, DEADLOCK, CANCELED, FAILED, WORLD_REPLY_MAX };
extern unsigned long world_seen[GLOCK_MODE_MAX][WORLD_REPLY_MAX][3];

void world_open(struct world *w, uint64_t seed, unsigned int nodes, unsigned int clients,
		unsigned int glocks, struct world_features f);
/* Takes everything from the seed, for schedules of events or of threads. */
void world_open_seed(struct world *w, uint64_t seed, bool threads);
/*
 * Of threads that are switched only where they wait. Such a schedule does not depend on the number
 * of atomics. Many requests are answered at once, and many types have no operations.
 */
void world_open_waits(struct world *w, uint64_t seed);
/* Opens one glock and a client a node, without delays and hold times: time stands still. */
void world_open_still(struct world *w, unsigned int nodes);
/* Runs on, then drops all locks until no event is left. Returns false with `trouble` set. */
bool world_run(struct world *w, unsigned int steps);
bool world_settle(struct world *w);
void world_close(struct world *w);

/* These functions are for tests that choose the next event themselves. */
int world_ask(struct world *w, unsigned int client, unsigned int g, enum glock_mode mode,
	      unsigned int flags);
void world_let_go(struct world *w, unsigned int client);
/* Returns a node's glock, with a reference. */
struct glock *world_glock(struct world *w, unsigned int node, unsigned int g);
/* Runs the next event of the simulation, and the checks. Returns false if there is none. */
bool world_step(struct world *w);
int64_t world_next(struct world *w); /* its time; INT64_MAX: never */
void world_check(struct world *w);
void world_kill(struct world *w, unsigned int node);

/* ---- log.c ---- */

enum world_note {
	NOTE_GRANT,   /* by the queue */
	NOTE_ANSWER,  /* that a client gets */
	NOTE_CALL,    /* of an operation of the type */
	NOTE_REQUEST, /* to the lock manager: lock, cancel or unlock */
	NOTE_MAX,
};

struct world_log {
	bool on;
	FILE *to; /* or NULL */
	uint64_t hash;
	unsigned long n[NOTE_MAX];
};
extern struct world_log world_log;

/* Begins a new log. Before the cluster is opened. */
void world_log_begin(FILE *to);

#endif
