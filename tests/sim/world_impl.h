/* SPDX-License-Identifier: MIT */
/*
 * world_impl.h - the simulated cluster from the inside.
 *
 *   open.c     opening: what a seed means
 *   world.c    what comes next; the end
 *   client.c   what clients do
 *   fate.c     what befalls them
 *   cache.c    the types' operations, and what is cached
 *   mirror.c   the other computation of statistics; what was seen
 *   check.c    what must always be so
 *   log.c      what happened, in order
 */
#ifndef TESTS_SIM_WORLD_IMPL_H
#define TESTS_SIM_WORLD_IMPL_H

#include "glock/core/internal.h"

#include "world.h"

#define MS 1000000ll

extern struct world *world_current; /* operations are told of a glock only */

/* The first thing that is wrong is kept. */
void trouble(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
uint32_t chance(uint32_t n);
int64_t world_now(void);
unsigned int node_of(const struct glock *gl);
/* Inodes cache data and metadata; resource groups only metadata, and have lock operations. */
unsigned int type_of(unsigned int g);
/* Runs it as a task: at once and, if nothing takes time in it, to its end; or, with threads, soon. */
void world_call(unsigned int node, void (*fn)(void *arg), void *arg);
/* Whether nobody is in the middle of it; only then may it be looked at. */
bool is_free(const struct glock__lock *lock);
bool world_open_node(struct world *w, unsigned int n);

/* ---- client.c ---- */

void client_act(struct world *w, unsigned int i);
/* Its answer was looked at: takes the lock, or goes. */
void client_answered(struct world *w, struct client *c);
/* With threads: every client is one. They end. */
void clients_live(struct world *w);
void clients_end(struct world *w);
/* The end: whoever holds something lets go. False: nobody does. */
bool clients_let_go(struct world *w);
/* Another's request is canceled. */
void client_cancel(struct world *w, unsigned int i);

/* ---- fate.c ---- */

void fate(struct world *w);
void fate_restarts(struct world *w);
void fate_shrinks(struct world *w);
void fate_closes(struct world *w);

/* ---- cache.c ---- */

extern const struct glock_ops world_inode_ops, world_rgrp_ops;
/* What the holder does with the lock: it reads, and in EX it writes. */
void cache_use(struct client *c);
/* A node is gone with what it had not written back. */
void cache_lose(struct world *w, unsigned int n);
/* Whether the node is withdrawn, be it by itself. */
bool cache_lost(struct world *w, unsigned int n);

/* ---- check.c ---- */

/* After a step of a node, and one of the master. A step changes nothing elsewhere. */
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

#endif
