/* SPDX-License-Identifier: MIT */
/*
 * etcd_value.h - the value of a lock's key in etcd, and the operations on it.
 *
 * The value lists the nodes that hold the lock or wait for it. An operation takes the value that a
 * node has read and returns the next value. It does no I/O: a compare-and-swap in etcd decides
 * whether the operation has happened. The lock table (table.h) has the rules. A table is made from
 * the value, makes the operation, and gives the value back.
 */
#ifndef GLOCK__ETCD_VALUE_H
#define GLOCK__ETCD_VALUE_H

#include "lockman/table/table.h"

enum {
	GLOCK__ETCD_ENTRIES = 64, /* nodes on one lock */
	GLOCK__ETCD_HEAD = 44,
	GLOCK__ETCD_ENTRY = 20,
	GLOCK__ETCD_VALUE_MAX = GLOCK__ETCD_HEAD + GLOCK__ETCD_ENTRIES * GLOCK__ETCD_ENTRY + 4,
};

struct glock__etcd_entry {
	uint64_t id;    /* of the node: the number of its lease, which etcd never gives again */
	uint32_t seq;   /* of the node's last request; the node counts them */
	uint32_t flags; /* GLOCK__LKF_ of that request */
	int8_t gr;      /* granted mode; NL: none */
	int8_t rq;      /* the mode that it waits for; IV: it does not wait */
	uint8_t sbflags;
	uint8_t refused; /* an errno: the request that waited was refused */
};

/* Waiting entries stand in the order of their queue. */
struct glock__etcd_value {
	struct glock__table_value block;
	uint32_t n;
	struct glock__etcd_entry entry[GLOCK__ETCD_ENTRIES];
};

/* Returns the length. 0: the value tells nothing, so the key is deleted. */
size_t glock__etcd_pack(const struct glock__etcd_value *v,
			unsigned char out[GLOCK__ETCD_VALUE_MAX]);
/* No bytes are the empty value. Returns NULL, or what is wrong with the bytes. */
const char *glock__etcd_unpack(struct glock__etcd_value *v, const void *bytes, size_t n);

struct glock__etcd_entry *glock__etcd_find(struct glock__etcd_value *v, uint64_t id);

/*
 * Returns the mode that the others demand of that node: the least mode that conflicts with all that
 * wait for it. NL: none waits. Stores whether a request with IDLE is among them.
 */
int glock__etcd_demand(struct glock__etcd_value *v, uint64_t id, bool *idle);

enum glock__etcd_kind {
	GLOCK__ETCD_LOOK,   /* only removes the dead */
	GLOCK__ETCD_LOCK,   /* a new lock, or another mode */
	GLOCK__ETCD_CANCEL, /* the request takes itself back */
	GLOCK__ETCD_DROP,   /* the lock goes */
	GLOCK__ETCD_IN_USE, /* the node uses its lock: requests with IDLE are refused */
};

struct glock__etcd_op {
	enum glock__etcd_kind kind;
	uint64_t id;
	uint32_t seq;
	int believed; /* the mode that the node has by the replies that it got */
	int mode;     /* with LOCK */
	uint32_t flags;
	const void *lvb;                      /* GLOCK__LVB_LEN bytes, with LKF_VALBLK */
	bool (*dead)(void *arg, uint64_t id); /* the locks of that node are free */
	void *arg;
};

struct glock__etcd_result {
	/*
	 * As in struct glock__table_event. -EINPROGRESS: waits. -ENOSPC: too many nodes. -ESTALE:
	 * etcd does not have the lock that this node believes to have.
	 */
	int status;
	uint32_t n_tell, n_dead;
	struct {
		uint64_t id;
		uint8_t bast;               /* a demand that the value does not show; 0: none */
	} tell[GLOCK__ETCD_ENTRIES];        /* nodes that have to hear of the new value */
	uint64_t dead[GLOCK__ETCD_ENTRIES]; /* nodes whose locks were removed */
};

/* Changes *v. */
void glock__etcd_step(struct glock__etcd_value *v, const struct glock__etcd_op *op,
		      struct glock__etcd_result *r);

#endif
