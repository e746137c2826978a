/* SPDX-License-Identifier: MIT */
/*
 * sim_store.h - the state of the simulated etcd, for its answers; see sim.h.
 *
 * All members serve one state, as through a quorum. A member that was cut off serves an older one,
 * to reads that ask for no quorum. It answers keep-alives, and nothing else.
 */
#ifndef TESTS_ETCD_SIM_STORE_H
#define TESTS_ETCD_SIM_STORE_H

#include "sim.h"

enum { LEASES = 256 };

struct kv {
	unsigned char *key, *value;
	size_t key_len, len;
	int64_t create, mod, version; /* version 0: the key was deleted */
	uint64_t lease;
};

struct lease {
	uint64_t id;
	int64_t ttl, ends;
};

struct state {
	struct kv *kv; /* in the order of their keys */
	size_t n, room;
	int64_t revision;
	struct lease lease[LEASES];
	unsigned int n_leases;
};

/* Changes, for watches. */
struct past {
	struct kv *kv;
	size_t n, room;
};

struct store {
	struct state now, backup, stale;
	struct past past;
	int64_t compacted;
	uint64_t cluster;
	int64_t token_made;
	unsigned int asker; /* the node whose request is served */
};
extern struct store store;

int store_compare(const void *a, size_t a_len, const void *b, size_t b_len);
/* Returns the index of the key, or the one at which it belongs. */
size_t store_place(const struct state *s, const void *key, size_t len, bool *there);
/* Both use the revision that the caller has raised. */
void store_put(const void *key, size_t key_len, const void *value, size_t len, uint64_t lease);
void store_delete(size_t i);

/* Returns the lease, or NULL. */
struct lease *store_lease(uint64_t id);
void store_end_lease(struct lease *l);
void store_grant_lease(struct sim_call *call, const json_t *ask);

#endif
