/* SPDX-License-Identifier: MIT */
/*
 * world.h - a cluster of programs that use libglock, in one thread, with everything checked.
 *
 * Nodes run the library as it is, on the simulator's lock manager and its time. On each node some
 * clients take and let go locks. Each glock protects a number on a disk that all nodes share: who
 * has the glock in EX counts it up, in his cache; who has it at all reads it, from his cache or
 * the disk, and must see the last value that was written.
 *
 * After every step it is checked that
 *   - no two nodes hold a glock in modes that exclude each other;
 *   - each cache has no more than the glock's mode allows, and what is asked for will allow;
 *   - granted holders are at the head of their queue, and nobody was overtaken;
 *   - nobody waits who could be granted, or whom the lock manager was not asked for, unless work
 *     is to come or a change in flight;
 *   - every glock's statistics are what another computation of them gives;
 *   - demotes that are wanted and the flags that say so agree;
 * and at the end that every request was answered, and that nothing is left, neither in the library
 * nor in the master.
 */
#ifndef TESTS_SIM_WORLD_H
#define TESTS_SIM_WORLD_H

#include "impl.h"
#include "sim.h"

enum { NODES_MAX = 8, CLIENTS_MAX = 16, GLOCKS_MAX = 3, MIRRORS = 64 };

enum client_state { IDLE, WAITING, HELD };

struct client {
	unsigned int node, g;
	enum client_state state;
	struct glock_holder gh;
	struct glock *gl;
	uint64_t turn; /* of asking; grants of a glock go by it */
	int64_t next;  /* when it does something */
};

struct cache {
	unsigned int bits; /* enum glock__cache */
	long value;
};

struct world_node {
	struct glock_space *space; /* NULL: dead */
	bool withdrawn;
	struct cache cache[GLOCKS_MAX];
	struct glock__stats types[GLOCK_TYPE_MAX]; /* the other computation */
	int64_t restart;
};

/* A glock's statistics, computed once more. */
struct mirror {
	struct glock *gl; /* NULL: free */
	unsigned int node;
	struct glock__stats stats;
	int64_t stamp;
	bool asked, blocking;
	bool unlocking; /* out of the table, its lock is being given back */
	bool seen;      /* at this step's check */
};

struct world_features {
	bool kills, pauses, cancels, withdraws, tries, no_hold, disorder;
	bool steady; /* every message takes as long */
};

struct world {
	struct glock__sim *sim;
	unsigned int nodes, clients, glocks;
	struct world_features f;
	struct world_node node[NODES_MAX];
	struct client client[CLIENTS_MAX];
	struct mirror mirror[MIRRORS];
	long disk[GLOCKS_MAX], truth[GLOCKS_MAX];
	uint64_t turns;
	unsigned long steps, grants;
	char trouble[256]; /* what is wrong; empty: nothing */
};

/* How often a reply came in a state, with a demote waiting or due. */
extern unsigned long world_seen[GLOCK_MODE_MAX][5][3];

void world_open(struct world *w, uint64_t seed, unsigned int nodes, unsigned int clients,
		unsigned int glocks, struct world_features f);
/* The same, with everything from the seed. */
void world_open_seed(struct world *w, uint64_t seed);
/* With one glock and a client a node, without delays and hold times: time stands still. */
void world_open_still(struct world *w, unsigned int nodes);
/* Runs on to the end of time, then lets all go. False: see trouble. */
bool world_run(struct world *w, unsigned int steps);
bool world_settle(struct world *w);
void world_close(struct world *w);

/* For tests that choose for themselves what comes next. */
int world_ask(struct world *w, unsigned int client, unsigned int g, enum glock_mode mode,
	      unsigned int flags);
void world_let_go(struct world *w, unsigned int client);
/* A node's glock, with a reference. */
struct glock *world_glock(struct world *w, unsigned int node, unsigned int g);
/* The next thing that happens of itself, and the checks. False: nothing will. */
bool world_step(struct world *w);
int64_t world_next(struct world *w); /* when; INT64_MAX: never */
void world_check(struct world *w);
void world_kill(struct world *w, unsigned int node);

#endif
