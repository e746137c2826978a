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

#include "dlm_joins.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
