/* SPDX-License-Identifier: MIT */
/*
 * sim.h - a cluster in one thread: a lock manager for several nodes, with time that stands still.
 *
 * One lock table is the master of all resources. Nodes send it requests, and get replies and
 * demands. These are messages that are under way for some time. Nothing moves by itself. The owner
 * of the simulator delivers one message after the other, in the order of time or in any other. Each
 * random choice comes from the seed, so that a run can be repeated.
 *
 * The simulator keeps these properties of a real cluster:
 *   - A node's messages to the master arrive in the order sent.
 *   - Messages to a node may overtake each other. So a demand may come before the grant that it is
 *     about.
 *   - A dead node's messages are lost, whether under way or not.
 *   - When a death is noticed, the other nodes are told that grants wait. Then the dead node's
 *     locks go. Then the other nodes may go on.
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
	unsigned int locks; /* the master has memory for so many locks and resources; 0: 256 */
	int64_t delay_min, delay_max; /* of a message, ns */
	int64_t demand_late;          /* a demand may take that much more */
	int64_t notice;               /* from a death until the others know */
	int64_t recovery;             /* from then until they, or the program, may go on */
	unsigned int refuse;          /* one request of so many fails with -ENOMEM; 0: none */
	unsigned int no_room; /* one request of so many finds no memory for its lock; 0: none */
	unsigned int at_once; /* one request of so many finds its master on its node; 0: none */
	bool unfair;          /* a new lock waits behind conversions, as in the DLM */
	/* For a watcher. Each may be NULL. The first two are for requests for a mode. */
	void *watcher;
	void (*on_arrival)(void *watcher, unsigned int node, struct glock__lm_lock *lk, int mode,
			   uint32_t flags); /* at the master */
	void (*on_decision)(void *watcher, unsigned int node, struct glock__lm_lock *lk,
			    int status); /* by the master; also about locks that are given back */
	/* A request is about to be made; other threads may do things meanwhile. */
	void (*on_call)(void *watcher, unsigned int node);
	/* Before a node leaves: waits until no event that arrived is under way in the library. */
	void (*on_leave)(void *watcher, unsigned int node);
	/*
	 * A death is recovered, except by the program. Returns true if the owner of the simulator
	 * calls glock__sim_go_on() later. Otherwise the nodes go on now.
	 */
	bool (*on_recovered)(void *watcher, const struct glock__lm_node *dead);
	/* Right before the node is told. */
	void (*on_bast)(void *watcher, unsigned int node, struct glock__lm_lock *lk, int mode);
	void (*on_request)(void *watcher, unsigned int node, struct glock__lm_lock *lk, int mode,
			   uint32_t flags);
	void (*on_reply)(void *watcher, unsigned int node, struct glock__lm_lock *lk, int status);
};

struct glock__sim *glock__sim_new(const struct glock__sim_params *params);
void glock__sim_free(struct glock__sim *sim);

/* Returns a random number below n. */
uint32_t glock__sim_random(struct glock__sim *sim, uint32_t n);

int64_t glock__sim_now(const struct glock__sim *sim);
void glock__sim_set_now(struct glock__sim *sim, int64_t now);

/*
 * Lets a node join that is not there. Returns NULL while a death is not recovered yet. The free()
 * of its lock manager is the node's death, if the node did not leave.
 */
struct glock__lockman *glock__sim_join(struct glock__sim *sim, unsigned int node);

/*
 * Let grants wait on all nodes, and let them go on. A death does both. Grants go on once each stop
 * has its end.
 */
void glock__sim_stop(struct glock__sim *sim);
void glock__sim_go_on(struct glock__sim *sim);

/* Stops a node, as if frozen, until then. Messages for the node wait. */
void glock__sim_pause(struct glock__sim *sim, unsigned int node, int64_t until);
int64_t glock__sim_paused_until(const struct glock__sim *sim, unsigned int node);

/* Returns the number of messages that could be delivered next. */
size_t glock__sim_messages(struct glock__sim *sim);
int64_t glock__sim_next(struct glock__sim *sim); /* when the first is due; INT64_MAX: none */
/*
 * Returns where the i'th message goes. Stores which node it is about, and its place in the order of
 * sending. The messages are in the order of time, or of sending if the time is the same.
 */
enum glock__sim_to {
	GLOCK__SIM_MASTER,
	GLOCK__SIM_NODE, /* the library is called in glock__sim_deliver() */
	GLOCK__SIM_ALL,  /* a death, or the end of its recovery: nodes are told that grants wait */
};
enum glock__sim_to glock__sim_to(struct glock__sim *sim, size_t i, unsigned int *node,
				 uint64_t *order);
int64_t glock__sim_due(struct glock__sim *sim, size_t i);
uint64_t glock__sim_sent(const struct glock__sim *sim); /* how many were sent */
/*
 * Delivers the i'th message. In place of a message for the master, delivers the first one that the
 * same node sent there. The time goes on to the time when the message is due.
 */
void glock__sim_deliver(struct glock__sim *sim, size_t i);

/* Returns NULL, or what is wrong with the master's table. */
const char *glock__sim_check(struct glock__sim *sim);
/* Stores the number of locks and resources in the table. */
void glock__sim_usage(struct glock__sim *sim, struct glock__table_usage *usage);

#endif
