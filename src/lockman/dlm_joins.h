/* SPDX-License-Identifier: MIT */
/*
 * dlm_joins.h - how often each node has joined, as corosync here has counted it (libcmap,
 * runtime.members.N.join_count).
 *
 * The count of a node goes up whenever it becomes a member of a ring in which this node is, as does every other
 * node's here when it was this one that was away; at once, before anybody is told of members. So it keeps what
 * lists of members lose: who was away and is back.
 */
#ifndef GLOCK_LOCKMAN_DLM_JOINS_H
#define GLOCK_LOCKMAN_DLM_JOINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GLOCK__JOINS_NODES = 64 };

struct glock__joins {
	uint64_t handle;
	bool there;
	size_t n; /* members when they were told last */
	struct {
		uint32_t id, count;
	} node[GLOCK__JOINS_NODES];
};

/* A change of membership; nodes that were members before and are again count in all three. */
struct glock__joins_change {
	size_t joined, left, both;
};

/* Connects, if it can: corosync answers root only, or whom its configuration names. */
void glock__joins_open(struct glock__joins *j);
void glock__joins_close(struct glock__joins *j);

/* What has changed since this was called last, now that these are the members. Nothing, where nothing can be known. */
struct glock__joins_change glock__joins_look(struct glock__joins *j, const uint32_t *members,
					     size_t n);

#endif
