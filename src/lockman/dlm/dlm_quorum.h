/* SPDX-License-Identifier: MIT */
/*
 * dlm_quorum.h - what corosync says of the cluster, through libquorum.
 *
 * libquorum is looked for when the program runs (corosync 3.1 or newer). corosync answers root only, or
 * whom its configuration names; else nothing is known, and no news is good news.
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
	bool lost;  /* it was told of a time without quorum, be it over or not */
	bool apart; /* the others went on without this node */
	/* Members as they were told last, and whether their joins have not been looked at since. */
	uint32_t members[GLOCK__JOINS_NODES];
	size_t n_members;
	bool look;
	struct glock__joins joins;
};

/* Connects, if it can. It must not be moved until it is closed. */
void glock__quorum_open(struct glock__quorum *q);
void glock__quorum_close(struct glock__quorum *q);

/*
 * Whether there is quorum, and has been all the time since this was called last. At once; the connection
 * is made again where it broke.
 */
bool glock__quorum_there(struct glock__quorum *q);

/* Whether the others went on without this node since this was called last; glock__quorum_there() hears of it. */
bool glock__quorum_apart(struct glock__quorum *q);

/*
 * The rule for that. A change of membership tells how many are members now, how many of them are new,
 * and how many of those before are not members without a break. Nodes that have left and are new at
 * once were not away by themselves: either they, or we. It was we if no majority stayed with us.
 */
bool glock__quorum_is_apart(size_t members, size_t joined, size_t left, size_t both);

#endif
