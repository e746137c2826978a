/* SPDX-License-Identifier: MIT */
/*
 * sim.h - a cluster in one thread: a lock manager for several nodes, with time that stands still.
 *
 * One lock table is the master of everything; nodes send it requests and get replies and demands,
 * as messages that are under way for some time. Nothing moves by itself: whoever owns the
 * simulator delivers one message after the other, in the order of time or in any other. All that
 * is left to chance comes from the seed, so that a run can be had again.
 *
 * What it keeps of a real one: a node's messages to the master arrive in the order sent; messages
 * to a node may overtake each other, so that a demand may come before the grant that it is about;
 * a dead node's messages are lost, whether under way or not. When a death is noticed, the other
 * nodes are told to hold grants back, the dead node's locks go, and then they may go on.
 *
 * Not to be used by more than one thread.
 */
#ifndef GLOCK__SIM_H
#define GLOCK__SIM_H

#include "lockman/lockman.h"

struct glock__sim;

struct glock__sim_params {
	uint64_t seed;
	unsigned int nodes;
	int64_t delay_min, delay_max; /* of a message, ns */
	int64_t demand_late;          /* a demand may take that much more */
	int64_t notice;               /* from a death until the others know */
	int64_t recovery;             /* from then until they may go on */
	unsigned int refuse;          /* one request of so many fails with -ENOMEM; 0: none */
	unsigned int at_once; /* one request of so many finds its master on its node; 0: none */
	bool unfair;          /* a new lock waits behind conversions, as the DLM has it */
	/* For whoever watches; any may be NULL. Of requests for a mode: */
	void *watcher;
	void (*on_arrival)(void *watcher, unsigned int node, struct glock__lm_lock *lk, int mode,
			   uint32_t flags); /* at the master */
	void (*on_decision)(void *watcher, unsigned int node, struct glock__lm_lock *lk,
			    int status); /* by the master; also of those to give back */
	/* A request is about to be made; others may do things meanwhile. */
	void (*on_call)(void *watcher, unsigned int node);
	/* Before a node leaves: to wait until nothing that arrived is under way in the library. */
	void (*on_leave)(void *watcher, unsigned int node);
	/* Right before the node is told. */
	void (*on_bast)(void *watcher, unsigned int node, struct glock__lm_lock *lk, int mode);
	void (*on_request)(void *watcher, unsigned int node, struct glock__lm_lock *lk, int mode,
			   uint32_t flags);
	void (*on_reply)(void *watcher, unsigned int node, struct glock__lm_lock *lk, int status);
};

struct glock__sim *glock__sim_new(const struct glock__sim_params *params);
void glock__sim_free(struct glock__sim *sim);

/* A random number below n. */
uint32_t glock__sim_random(struct glock__sim *sim, uint32_t n);

int64_t glock__sim_now(const struct glock__sim *sim);
void glock__sim_set_now(struct glock__sim *sim, int64_t now);

/* A node that is not there joins; NULL: not while a death is put in order. Its lock manager's
 * free() is its death, if it did not leave. */
struct glock__lockman *glock__sim_join(struct glock__sim *sim, unsigned int node);

/* A node stops, as if frozen, for so long: what is for it waits. */
void glock__sim_pause(struct glock__sim *sim, unsigned int node, int64_t until);
int64_t glock__sim_paused_until(const struct glock__sim *sim, unsigned int node);

/* Messages that could be delivered next. In the order of time, or of sending if that is the same.
 */
size_t glock__sim_messages(struct glock__sim *sim);
int64_t glock__sim_next(struct glock__sim *sim); /* when the first is due; INT64_MAX: none */
/* Of the i'th: who gets it, which node it is about, and its place in order of sending. */
enum glock__sim_to {
	GLOCK__SIM_MASTER,
	GLOCK__SIM_NODE, /* the library is called in glock__sim_deliver() */
	GLOCK__SIM_ALL, /* a death, or the end of its recovery: nodes are told to hold grants back */
};
enum glock__sim_to glock__sim_to(struct glock__sim *sim, size_t i, unsigned int *node,
				 uint64_t *order);
int64_t glock__sim_due(struct glock__sim *sim, size_t i);
uint64_t glock__sim_sent(const struct glock__sim *sim); /* how many were sent */
/*
 * Delivers the i'th of them, or if that is for the master and the same node has sent another one
 * before, that; time goes on to when it is due.
 */
void glock__sim_deliver(struct glock__sim *sim, size_t i);

/* NULL, or what is wrong with the master's table. */
const char *glock__sim_check(struct glock__sim *sim);
/* Locks and resources in it. */
void glock__sim_usage(struct glock__sim *sim, struct glock__table_usage *usage);

#endif
