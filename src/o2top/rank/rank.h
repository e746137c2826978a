/* SPDX-License-Identifier: MIT */
/*
 * From Locks of nodes to a ranking.
 *
 * A LockSet is one lock on all nodes; a row is what one wants to see as one line, an inode with all
 * its LockSets or a lock that belongs to no file; the LockSetGroup holds all that did something in
 * a frame, ranked by time lost. It points into the model and is good until the next sample.
 */
#ifndef O2TOP_RANK_H
#define O2TOP_RANK_H

#include "filter.h"
#include "group.h"
#include "names.h"

/* Ranks what the model's last sample holds. 0 or -ENOMEM. */
int group_rank(struct group *g, const struct model *m, struct names *names,
	       const struct filter *filter, enum sort_key key);
void group_free(struct group *g);

#endif
