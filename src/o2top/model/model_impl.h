/* SPDX-License-Identifier: MIT */
/*
 * model_impl.h - the parts of the model besides reading: nodes and spaces by name, and clocks.
 *
 * Only one thread calls these functions, before and after the nodes are read.
 */
#ifndef O2TOP_MODEL_IMPL_H
#define O2TOP_MODEL_IMPL_H

#include "model.h"

/* Functions of model_nodes.c. The first three make their item if there is none. NULL: no memory. */
struct node *model_node(struct model *m, const char *name);
struct space *model_space(struct model *m, const struct space_sample *from);
struct node_space *node_space(struct node *node, size_t index);
/* Makes the node begin anew. The earlier counts of its kernel are no baseline. */
void node_forget(struct node *node);
void node_free(struct node *node);
/* Forgets the transient nodes that are gone. */
void model_drop_gone(struct model *m, const struct sample *sample);

/* Functions of model_clock.c. */
/* Sets the node's clocks for this sample, and the time since its last one. Returns 0 or -ENOMEM. */
int node_set_clock(struct model *m, struct collector *c, struct node *node,
		   const struct node_sample *from);
/*
 * Sets the part of each node's own interval that belongs to this frame.
 *
 * - A node that was in the sample before contributes all of it.
 * - Any other node contributes at most the length of the other nodes' frame. Its events while it
 *   was away are spread over the whole interval.
 */
void model_set_frames(struct model *m, const bool *present, const bool *silent_known);

#endif
