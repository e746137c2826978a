/* SPDX-License-Identifier: MIT */
/*
 * dlm_nodes.c - the members of a lockspace, for the program.
 */
#include "dlm_nodes.h"

#include "dlm_impl.h"

void glock__dlm_node(uint32_t id, uint32_t own, struct glock__lm_node *out)
{
	*out = (struct glock__lm_node){.id = id, .slot = id, .self = id == own};
	glock__dlm_node_name(id, out->name, sizeof(out->name));
}

size_t glock__dlm_nodes(struct glock__lockman *lm, struct glock__lm_node *out, size_t max)
{
	struct dlm *d = (struct dlm *)lm;
	struct glock__cluster_nodes nodes;
	uint32_t own = glock__dlm_own_node();

	/* While dlm_controld changes the members: those that this node saw last. */
	if (!glock__cluster_members(d->dev.name, &nodes)) {
		latch_take(&d->lock);
		nodes = d->members;
		latch_drop(&d->lock);
	}
	for (size_t i = 0; i < nodes.n && i < max; i++)
		glock__dlm_node(nodes.id[i], own, &out[i]);
	return nodes.n;
}
