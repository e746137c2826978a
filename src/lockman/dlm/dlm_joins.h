/* SPDX-License-Identifier: MIT */
/*
 * dlm_joins.h - how often each node has joined, as corosync on this node has counted it (libcmap,
 * runtime.members.N.join_count).
 *
 * The count of a node grows whenever the node becomes a member of a ring that has this node, too.
 * If this node was away, the counts of all other nodes grow here. A count grows at once, before any
 * program is told of members. Therefore counts keep what lists of members lose: a node was away and
 * is back. A join that a list has told is taken off.
 */
#ifndef GLOCK__DLM_JOINS_H
#define GLOCK__DLM_JOINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GLOCK__JOINS_NODES = 64 };

struct glock__joins {
	uint64_t handle;
	bool there;
	size_t n;
	struct {
		uint32_t id;
		uint32_t count;     /* as at the last look, and one more for each join told since */
		bool member;        /* at the last look */
	} node[GLOCK__JOINS_NODES]; /* each node that was ever seen */
};

/*
 * A change of membership, also of the joins that no list told. `both`: nodes that were members, are
 * members, and were not members in between.
 */
struct glock__joins_change {
	size_t joined, left, both;
};

void glock__joins_close(struct glock__joins *j);

/* A list said that these nodes have joined. */
void glock__joins_told(struct glock__joins *j, const uint32_t *joined, size_t n);

/*
 * Stores what has changed since the last call, now that these are the members. Stores no change the
 * first time. The same holds without libcmap, or with more nodes than there is room for. Returns
 * false if corosync does not tell now. Then the caller asks again.
 */
bool glock__joins_look(struct glock__joins *j, const uint32_t *members, size_t n,
		       struct glock__joins_change *change);

#endif
