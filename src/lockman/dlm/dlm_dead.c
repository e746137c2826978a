/* SPDX-License-Identifier: MIT */
/*
 * dlm_dead.c - the members of the lockspace, and those that are gone: see dlm_watch.c.
 */
#include "dlm_impl.h"

#include <stdio.h>

/* ---- the members, for the program ---- */

/* own: the number of this machine. */
static void dead_node(uint32_t id, uint32_t own, struct glock__lm_node *out)
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
		dead_node(nodes.id[i], own, &out[i]);
	return nodes.n;
}

/* ---- deaths ---- */

/* Recovers from the deaths one by one, also from those that come meanwhile. */
static void *see_to_dead(void *arg)
{
	struct dlm *d = arg;
	uint32_t id;

	/* block and thaw are sent under d->lock, so that they come in the right order. */
	latch_take(&d->lock);
	while (d->dead.n && !d->left) {
		struct glock__lm_node node;

		id = d->dead.id[--d->dead.n];
		latch_drop(&d->lock);
		dead_node(id, 0, &node);
		d->lm.events->recover(d->lm.owner, &node);
		latch_take(&d->lock);
	}
	d->recovering = false;
	d->lm.events->thaw(d->lm.owner);
	glock__dlm_changed(d);
	latch_drop(&d->lock);
	return NULL;
}

/* If no thread starts, grants stay blocked until a later look starts one. Under d->lock. */
static void start_recovery(struct dlm *d)
{
	pthread_t thread;
	int err;

	if (!d->dead.n || d->recovering || d->left)
		return;
	d->lm.events->block(d->lm.owner);
	err = glock__start_thread(&thread, "glock-recover", see_to_dead, d);
	if (!err)
		pthread_detach(thread);
	d->recovering = !err;
	glock__dlm_say_no_thread(d, "a node is gone", err);
}

void glock__dlm_look_for_dead(struct dlm *d)
{
	struct glock__cluster_nodes now;

	latch_take(&d->lock);
	if (!glock__cluster_members(d->dev.name, &now)) {
		latch_drop(&d->lock);
		return;
	}
	for (size_t i = 0; i < d->members.n; i++) {
		if (glock__cluster_has(&now, d->members.id[i]))
			continue;
		if (!glock__cluster_has(&d->dead, d->members.id[i]) &&
		    d->dead.n < GLOCK__CLUSTER_NODES)
			d->dead.id[d->dead.n++] = d->members.id[i];
	}
	d->members = now;
	start_recovery(d);
	latch_drop(&d->lock);
}
