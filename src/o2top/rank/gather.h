/* SPDX-License-Identifier: MIT */
/*
 * gather.h - the first half of ranking: changes of all nodes' Locks become unordered rows.
 */
#ifndef O2TOP_GATHER_H
#define O2TOP_GATHER_H

#include "filter.h"
#include "group.h"

/*
 * Fills in the rows of the model's last sample, with their LockSets, nodes and trends.
 * Returns 0 or -ENOMEM.
 */
int gather_rows(struct group *g, const struct model *m, const struct filter *filter);

#endif
