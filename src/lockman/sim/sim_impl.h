/* SPDX-License-Identifier: MIT */
/*
 * sim_impl.h - the simulator from the inside.
 *
 *   sim.c         chance, time, messages; the functions that the owner of the simulator calls
 *   sim_master.c  the master: requests to it, and deaths
 *   sim_node.c    a node's side: the functions of its lock manager, and messages that arrive there
 *
 * A lock has a record here from its first request until it is given back or that request fails. The
 * master knows the lock by the record (its cookie). The node's side of the lock is the lk in the
 * node's memory. Only the delivery of a message to that node touches the lk. After the death of the
 * node nothing touches it.
 */
#ifndef GLOCK__SIM_IMPL_H
#define GLOCK__SIM_IMPL_H

#include "sim.h"

enum sim__kind {
	SIM__LOCK, /* to the master */
	SIM__CANCEL,
	SIM__IN_USE,
	SIM__UNLOCK,
	SIM__REPLY, /* to a node */
	SIM__BAST,
	SIM__GIVE_BACK,
	SIM__GO_ON,
	SIM__DEATH, /* to all */
	SIM__RECOVERED,
};

struct sim__lock {
	struct sim__lock *next;
	struct glock__lm_lock *lk;
	unsigned int node;
	uint64_t lkid;  /* the id in the table; 0: none */
	bool open;      /* the node has no reply yet to a request */
	bool unlocking; /* the open request gives the lock back */
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
	uint64_t id;    /* of the member; a node that joins again is another member */
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
	uint64_t sent, joins;
	unsigned int recoveries; /* deaths that are not recovered yet */
	struct sim__message *messages;
	size_t n, room;
	struct glock__table *table;
	void *memory;
	struct sim__node nodes[];
};

/* ---- sim_net.c ---- */

/* Describes a node as a member, for the program. */
struct glock__lm_node sim__member(unsigned int node, uint64_t id);

struct sim__message *sim__send(struct glock__sim *sim, enum sim__kind kind, unsigned int node,
			       struct sim__lock *lock, int64_t at);
/* Tells where the message goes. */
enum glock__sim_to sim__to(const struct sim__message *m);
/*
 * Messages lie in the order of sending. Returns the place of the first message of that node in that
 * direction. With a lock, only the reply to its request counts. Returns sim->n if there is none.
 */
size_t sim__message_find(const struct glock__sim *sim, unsigned int node, enum glock__sim_to to,
			 const struct sim__lock *lock);
/* Takes a message out of the list. */
struct sim__message sim__message_take(struct glock__sim *sim, size_t at);
/* Messages from a node arrive in order. Messages to a node may arrive in any order. */
struct sim__message *sim__to_master(struct sim__node *nd, enum sim__kind kind,
				    struct sim__lock *lock);
struct sim__message *sim__to_node(struct glock__sim *sim, enum sim__kind kind, unsigned int node,
				  struct sim__lock *lock);
/* Drop the messages about a lock, those from and to a node, and those that tell nodes to go on. */
void sim__drop_lock(struct glock__sim *sim, const struct sim__lock *lock);
void sim__drop_node(struct glock__sim *sim, unsigned int node);
void sim__drop_go_on(struct glock__sim *sim);

/* ---- sim_master.c ---- */

void sim__master(struct glock__sim *sim, const struct sim__message *m);
/* Removes the node's locks. Requests that waited for them are granted. */
void sim__purge(struct glock__sim *sim, unsigned int node);

/* ---- sim_node.c ---- */

extern const struct glock__lm_ops sim__ops;
extern const struct glock__lm_memory sim__memory;
void sim__arrive(struct sim__node *nd, const struct sim__message *m);

#endif
