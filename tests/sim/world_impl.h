/* SPDX-License-Identifier: MIT */
/*
 * world_impl.h - the simulated cluster from the inside.
 *
 *   open.c     opens a cluster; the meaning of a seed
 *   world.c    the next event; the end
 *   client.c   the actions of clients
 *   fate.c     faults of nodes
 *   cache.c    the types' operations, and the caches
 *   mirror.c   the second computation of statistics; counts
 *   check.c    the checks after every step
 *   log.c      the log of grants, calls and requests, in order
 */
#ifndef TESTS_SIM_WORLD_IMPL_H
#define TESTS_SIM_WORLD_IMPL_H

#include "glock/core/internal.h"

#include "world.h"

#define MS 1000000ll

extern struct world *world_current; /* operations know only a glock */

/* Keeps the first failure. */
void trouble(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
uint32_t chance(uint32_t n);
int64_t world_now(void);
unsigned int node_of(const struct glock *gl);
/* Inodes cache data and metadata. Resource groups only cache metadata, and have lock operations. */
unsigned int type_of(unsigned int g);
/*
 * Runs fn as a task. Without threads, the task runs immediately, and to its end if it takes no
 * time. With threads, it runs soon.
 */
void world_call(unsigned int node, void (*fn)(void *arg), void *arg);
/* Tells whether no task is inside the lock. Only then may a check read its data. */
bool is_free(const struct glock__lock *lock);
bool world_open_node(struct world *w, unsigned int n);

/* ---- client.c ---- */

void client_act(struct world *w, unsigned int i);
/* Handles the client's answer: takes the lock, or leaves. */
void client_answered(struct world *w, struct client *c);
/* With threads: starts each client as a thread. clients_end() ends them. */
void clients_live(struct world *w);
void clients_end(struct world *w);
/* At the end: makes holders drop their locks. Returns false if there is no holder. */
bool clients_let_go(struct world *w);
/* Cancels another client's request. */
void client_cancel(struct world *w, unsigned int i);

/* ---- fate.c ---- */

void fate(struct world *w);
void fate_restarts(struct world *w);
void fate_shrinks(struct world *w);
void fate_closes(struct world *w);

/* ---- cache.c ---- */

extern const struct glock_ops world_inode_ops, world_rgrp_ops;
/* Uses the lock: the holder reads, and in EX it writes. */
void cache_use(struct client *c);
/* Drops a node's cache with the data that was not written back. */
void cache_lose(struct world *w, unsigned int n);
/* Tells whether the node is withdrawn, for any reason. */
bool cache_lost(struct world *w, unsigned int n);

/* ---- check.c ---- */

/* After a step of a node, and one of the master. A step affects no other party. */
void check_turns(struct world *w, struct client *c);
void check_step(struct world *w, unsigned int n);
void check_master(struct world *w);
void check_timers(struct world *w);

/* ---- log.c ---- */

void world_note(enum world_note kind, const char *what, const struct glock *gl, int a, int b);
/* Logs what a node asks of its lock manager. */
void world_log_requests(struct glock__lockman *lm);

/* ---- mirror.c ---- */

struct mirror *mirror_of(const struct glock *gl);
void mirror_new(struct glock *gl, unsigned int n);
void mirror_queued(const struct glock *gl, unsigned int n, int by);
void mirror_check(struct world *w, struct glock *gl, unsigned int n);
void mirror_check_types(struct world *w, unsigned int n);
void mirror_check_petitions(struct world *w);
void mirror_sweep(struct world *w, unsigned int n);
void mirror_watch(struct world *w, struct glock__sim_params *p);

/* Returns the glock after gl in the table, NULL after the last one. Takes no lock. */
struct glock *world_next_glock(struct glock_space *space, struct glock *gl);

#endif
