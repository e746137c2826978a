/* SPDX-License-Identifier: MIT */
/*
 * dlm_joins.h - how often each node has joined, as corosync here has counted it (libcmap,
 * runtime.members.N.join_count).
 *
 * The count of a node goes up whenever it becomes a member of a ring in which this node is, as does every other
 * node's here when it was this one that was away; at once, before anybody is told of members. So it keeps what
 * lists of members lose: who was away and is back. What a list has told is taken off.
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
		uint32_t count; /* as it was looked at last, and one for each that was told since */
		bool member;    /* then */
	} node[GLOCK__JOINS_NODES]; /* all that were ever seen */
};

/* A change of membership, with what nobody was told of; `both`: were members, are, and were not in between. */
struct glock__joins_change {
	size_t joined, left, both;
};

void glock__joins_close(struct glock__joins *j);

/* A list said that these have joined. */
void glock__joins_told(struct glock__joins *j, const uint32_t *joined, size_t n);

/*
 * What has changed since this was called last, now that these are the members. Nothing the first time, and where
 * there is no libcmap, or more nodes than there is room for. False: corosync does not tell now, so ask again.
 */
bool glock__joins_look(struct glock__joins *j, const uint32_t *members, size_t n,
		       struct glock__joins_change *change);

#endif
