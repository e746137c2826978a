/* SPDX-License-Identifier: MIT */
/*
 * demands.h - requests of other nodes, as the node shows them that has the lock.
 *
 * OCFS2 flags a lock as BLOCKED and GFS2 flags a glock with D while another node asks for it. The
 * node that asks need not be watched: a demand is a wait of that node. If a watched node waits for
 * the lock, the demand is that wait, and proves its least age.
 */
#ifndef O2TOP_DEMANDS_H
#define O2TOP_DEMANDS_H

#include "source.h"

/* A younger demand is traffic. Where other nodes are watched, their own waits tell of it. */
#define DEMAND_TELLING_S 0.1
#define DEMAND_BESIDE_NODES_S 1.0

/* Begins a sample: the demands of the last one become those before. */
void demands_begin(struct node_space *ns);

/* Returns the demand for this Lock in the samples before, NULL if there is none. */
const struct demand *demands_before(const struct node_space *ns, uint32_t lock);

/*
 * Adds a demand of this sample. A demand that may count gets a change, so that its row is there
 * when all nodes were read.
 */
void demands_add(struct source_sample *t, const struct demand *d);

/* Ends a sample: sorts the demands, and keeps those whose Lock the kernel did not list. */
void demands_end(struct source_sample *t);

/* Joins the demands with the waits of the other nodes, once all nodes were read. */
void demands_settle(struct model *m);

#endif
