/* SPDX-License-Identifier: MIT */
/*
 * rank.h - rows, LockSets and the ranking that the changes of all nodes' Locks become.
 *
 * A LockSet is one lock on all nodes. A row is one line of a view. A row is an inode with all its
 * LockSets, or a lock that belongs to no file. The LockSetGroup holds all rows that were active in
 * a frame, ranked by time lost. The group points into the model and is good until the next sample.
 */
#ifndef O2TOP_RANK_H
#define O2TOP_RANK_H

#include "filter.h"
#include "group.h"
#include "names.h"

/* Ranks the rows of the model's last sample. Returns 0 or -ENOMEM. */
int group_rank(struct group *g, const struct model *m, struct names *names,
	       const struct filter *filter, enum sort_key key);
void group_free(struct group *g);

#endif
