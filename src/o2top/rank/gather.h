/* SPDX-License-Identifier: MIT */
/*
 * The first half of ranking: what all nodes' Locks did, as rows that are not in any order yet.
 */
#ifndef O2TOP_GATHER_H
#define O2TOP_GATHER_H

#include "filter.h"
#include "group.h"

/* Fills in rows, with their LockSets, nodes and trends, of the model's last sample. 0 or -ENOMEM. */
int gather_rows(struct group *g, const struct model *m, const struct filter *filter);

#endif
