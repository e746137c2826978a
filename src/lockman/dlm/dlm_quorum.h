/* SPDX-License-Identifier: MIT */
/*
 * dlm_quorum.h - what corosync says of the cluster, through libquorum.
 *
 * The library looks for libquorum when the program runs (corosync 3.1 or newer). corosync answers
 * only root, or the users that its configuration names. Without an answer nothing is known, and the
 * cluster counts as good.
 */
#ifndef GLOCK__DLM_QUORUM_H
#define GLOCK__DLM_QUORUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- dlm_load.c: libraries that may be missing ---- */

/*
 * Stores the addresses of the `n` functions with these names, one pointer each, in `functions`.
 * That is a struct of nothing but pointers to functions. Returns false unless the library has them
 * all. The library stays loaded. Call this once for a process and library.
 */
bool glock__load(const char *library, const char *const *names, size_t n, void *functions);

/*
 * ---- dlm_joins.c ----
 *
 * How often each node has joined, as corosync on this node has counted it (libcmap,
 * runtime.members.N.join_count).
 *
 * The count of a node grows whenever the node becomes a member of a ring that has this node, too.
 * If this node was away, the counts of all other nodes grow here. A count grows at once, before any
 * program is told of members. Therefore counts keep what lists of members lose: a node was away and
 * is back. A join that a list has told is taken off.
 */

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

/* ---- dlm_quorum.c ---- */

struct glock__quorum {
	int fd; /* to poll; or -1 */
	uint64_t handle;
	bool there;
	bool lost;  /* corosync told of a time without quorum, whether that is over or not */
	bool apart; /* the others went on without this node */
	/* The members that were told last. look: their joins have not been looked at since. */
	uint32_t members[GLOCK__JOINS_NODES];
	size_t n_members;
	bool look;
	struct glock__joins joins;
};

/* Connects, if possible. The struct must not be moved until it is closed. */
void glock__quorum_open(struct glock__quorum *q);
void glock__quorum_close(struct glock__quorum *q);

/*
 * Tells whether there is quorum, and has been all the time since the last call. Returns at once.
 * Makes a broken connection again.
 */
bool glock__quorum_there(struct glock__quorum *q);

/*
 * Tells whether the others went on without this node since the last call. glock__quorum_there()
 * hears of that.
 */
bool glock__quorum_apart(struct glock__quorum *q);

/*
 * The rule for that. A change of membership tells the number of members now, and how many of them
 * are new (joined). It also tells how many earlier members are not members without a break (left).
 * Some nodes may have left and be new at once (both). Either those nodes were away, or this node
 * was. This node was away if no majority stayed with it.
 */
bool glock__quorum_is_apart(size_t members, size_t joined, size_t left, size_t both);

#endif
