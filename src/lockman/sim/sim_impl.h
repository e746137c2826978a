/* SPDX-License-Identifier: MIT */
/*
 * sim_impl.h - the simulator from the inside.
 *
 *   sim.c         chance, time, messages; what whoever owns the simulator calls
 *   sim_master.c  the master: requests to it, and deaths
 *   sim_node.c    a node's side: the functions of its lock manager, and what arrives there
 *
 * A lock has a record here from its first request until it is given back or that request fails.
 * The record is what the master knows the lock by (its cookie); the node's side of it, the lk in
 * the node's memory, is touched only when a message is delivered to that node, and never once the
 * node is dead.
 */
#ifndef GLOCK__SIM_IMPL_H
#define GLOCK__SIM_IMPL_H

#include "sim.h"

enum sim__kind {
	SIM__LOCK, /* to the master */
	SIM__CANCEL,
	SIM__UNLOCK,
	SIM__REPLY, /* to a node */
	SIM__BAST,
	SIM__GO_ON,
	SIM__DEATH, /* to all */
	SIM__RECOVERED,
};

struct sim__lock {
	struct sim__lock *next;
	struct glock__lm_lock *lk;
	unsigned int node;
	uint64_t lkid;  /* the table's; 0: none */
	bool open;      /* a request that the node has no reply to yet */
	bool unlocking; /* and that is to give it back */
	bool pending;   /* the master has not decided yet */
};

struct sim__message {
	int64_t at;
	uint64_t order; /* of sending */
	enum sim__kind kind;
	unsigned int node;
	struct sim__lock *lock;
	int mode;
	uint32_t flags;
	unsigned int type;
	uint64_t number;
	int status;
	unsigned int sbflags;
	bool has_lvb;
	unsigned char lvb[GLOCK__LVB_LEN];
};

struct sim__node {
	struct glock__lockman lm; /* first */
	struct glock__sim *sim;
	unsigned int index;
	bool joined;    /* the master takes its requests */
	bool used;      /* its memory is still there */
	bool departing; /* dead, and not noticed yet */
	int64_t last_sent;
	int64_t paused_until;
	struct sim__lock *locks;
};

struct glock__sim {
	struct glock__sim_params p;
	uint64_t dice;
	int64_t now;
	uint64_t sent;
	unsigned int recoveries; /* deaths that are being put in order */
	struct sim__message *messages;
	size_t n, room;
	struct glock__table *table;
	void *memory;
	struct sim__node nodes[];
};

/* ---- sim_net.c ---- */

struct sim__message *sim__send(struct glock__sim *sim, enum sim__kind kind, unsigned int node,
			       struct sim__lock *lock, int64_t at);
/* Tells who gets the message. */
enum glock__sim_to sim__to(const struct sim__message *m);
/*
 * Messages lie in the order of sending. Returns the place of the first message of that node in that
 * direction. With a lock, only the reply to its request counts. sim->n: there is none.
 */
size_t sim__message_find(const struct glock__sim *sim, unsigned int node, enum glock__sim_to to,
			 const struct sim__lock *lock);
/* Takes a message out. */
struct sim__message sim__message_take(struct glock__sim *sim, size_t at);
/* From a node, in order; to one, in any. */
struct sim__message *sim__to_master(struct sim__node *nd, enum sim__kind kind,
				    struct sim__lock *lock);
struct sim__message *sim__to_node(struct glock__sim *sim, enum sim__kind kind, unsigned int node,
				  struct sim__lock *lock);
/* Messages about a lock, or from and to a node, are lost; and what tells nodes to go on. */
void sim__drop_lock(struct glock__sim *sim, const struct sim__lock *lock);
void sim__drop_node(struct glock__sim *sim, unsigned int node);
void sim__drop_go_on(struct glock__sim *sim);

/* ---- sim_master.c ---- */

void sim__master(struct glock__sim *sim, const struct sim__message *m);
/* The node's locks go, and whoever waited for them gets them. */
void sim__purge(struct glock__sim *sim, unsigned int node);

/* ---- sim_node.c ---- */

extern const struct glock__lm_ops sim__ops;
void sim__arrive(struct sim__node *nd, const struct sim__message *m);

#endif
