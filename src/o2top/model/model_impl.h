/* SPDX-License-Identifier: MIT */
/*
 * model_impl.h - the parts of the model besides reading: nodes and spaces by name, and clocks.
 *
 * Only one thread calls these functions, before and after the nodes are read.
 */
#ifndef O2TOP_MODEL_IMPL_H
#define O2TOP_MODEL_IMPL_H

#include "model.h"

/* model_nodes.c: each made where it is not there yet; NULL: no memory */
struct node *model_node(struct model *m, const char *name);
struct space *model_space(struct model *m, const struct space_sample *from);
struct node_space *node_space(struct node *node, size_t index);
/* The node begins anew: what its kernel counted before is no baseline. */
void node_forget(struct node *node);
void node_free(struct node *node);
/* Nodes that come and go are forgotten when they have gone. */
void model_drop_gone(struct model *m, const struct sample *sample);

/* model_clock.c */
/* Sets the node's clocks for this sample and how long it is since its last one. 0 or -ENOMEM. */
int node_set_clock(struct model *m, struct collector *c, struct node *node,
		   const struct node_sample *from);
/*
 * How much of its own interval a node contributes to this frame: all of it where it was in the
 * sample before; else as much as the other nodes' frame is long, so that what it did while it was
 * away is spread.
 */
void model_set_frames(struct model *m, const bool *present, const bool *silent_known);

#endif
