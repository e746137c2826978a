/* SPDX-License-Identifier: MIT */
/* sim.c - makes a simulated cluster and delivers its messages. See sim.h and sim_impl.h. */
#include "sim_impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- functions for the owner ---- */

struct glock__lockman *glock__sim_join(struct glock__sim *sim, unsigned int node)
{
	struct sim__node *nd = &sim->nodes[node];

	assert(node < sim->p.nodes && !nd->joined && !nd->used);
	if (nd->departing || sim->recoveries)
		return NULL; /* a death is not noticed, or not recovered yet */
	nd->joined = nd->used = true;
	nd->id = ++sim->joins;
	nd->lm = (struct glock__lockman){.ops = &sim__ops, .memory = &sim__memory};
	nd->last_sent = nd->paused_until = sim->now;
	return &nd->lm;
}

void glock__sim_pause(struct glock__sim *sim, unsigned int node, int64_t until)
{
	struct sim__node *nd = &sim->nodes[node];

	if (until > nd->paused_until)
		nd->paused_until = until;
}

int64_t glock__sim_paused_until(const struct glock__sim *sim, unsigned int node)
{
	return sim->nodes[node].paused_until;
}

size_t glock__sim_messages(struct glock__sim *sim)
{
	return sim->n;
}

static int64_t message_due(const struct glock__sim *sim, const struct sim__message *m)
{
	bool waits = sim__to(m) == GLOCK__SIM_NODE;
	int64_t until = waits ? sim->nodes[m->node].paused_until : m->at;

	return until > m->at ? until : m->at;
}

/* Returns the first message in the order of time. */
static size_t message_first(const struct glock__sim *sim)
{
	size_t first = 0;

	for (size_t i = 1; i < sim->n; i++) {
		int64_t x = message_due(sim, &sim->messages[i]);
		int64_t y = message_due(sim, &sim->messages[first]);

		if (x < y || (x == y && sim->messages[i].order < sim->messages[first].order))
			first = i;
	}
	return first;
}

/* Returns the i'th message in the order of time. Few enough are there to look through. */
static size_t message_nth(struct glock__sim *sim, size_t i)
{
	if (!i)
		return message_first(sim);
	for (size_t a = 0;; a++) {
		const struct sim__message *m = &sim->messages[a];
		size_t before = 0;

		assert(a < sim->n);
		for (size_t b = 0; b < sim->n; b++) {
			int64_t x = message_due(sim, &sim->messages[b]), y = message_due(sim, m);

			before += x < y || (x == y && sim->messages[b].order < m->order);
		}
		if (before == i)
			return a;
	}
}

int64_t glock__sim_next(struct glock__sim *sim)
{
	int64_t first = INT64_MAX;

	for (size_t i = 0; i < sim->n; i++)
		if (message_due(sim, &sim->messages[i]) < first)
			first = message_due(sim, &sim->messages[i]);
	return first;
}

/* A node's messages arrive in the order sent: returns the first of them instead of this one. */
static size_t in_order(const struct glock__sim *sim, size_t at)
{
	const struct sim__message *m = &sim->messages[at];

	for (size_t i = 0; sim__to(m) == GLOCK__SIM_MASTER && i < sim->n; i++) {
		const struct sim__message *other = &sim->messages[i];

		if (sim__to(other) == GLOCK__SIM_MASTER && other->node == m->node &&
		    other->order < sim->messages[at].order)
			at = i;
	}
	return at;
}

enum glock__sim_to glock__sim_to(struct glock__sim *sim, size_t i, unsigned int *node,
				 uint64_t *order)
{
	const struct sim__message *m = &sim->messages[message_nth(sim, i)];

	*node = m->node;
	*order = m->order;
	return sim__to(m);
}

int64_t glock__sim_due(struct glock__sim *sim, size_t i)
{
	return message_due(sim, &sim->messages[message_nth(sim, i)]);
}

uint64_t glock__sim_sent(const struct glock__sim *sim)
{
	return sim->sent;
}

void glock__sim_deliver(struct glock__sim *sim, size_t i)
{
	size_t at = in_order(sim, message_nth(sim, i));
	struct sim__message m;

	if (message_due(sim, &sim->messages[at]) > sim->now)
		sim->now = message_due(sim, &sim->messages[at]);
	m = sim__message_take(sim, at);
	if (sim__to(&m) == GLOCK__SIM_NODE)
		sim__arrive(&sim->nodes[m.node], &m);
	else
		sim__master(sim, &m);
}

const char *glock__sim_check(struct glock__sim *sim)
{
	return glock__table_check(sim->table);
}

void glock__sim_usage(struct glock__sim *sim, struct glock__table_usage *usage)
{
	glock__table_usage(sim->table, usage);
	usage->resources -= usage->idle; /* kept until a node was told of a death */
}

struct glock__sim *glock__sim_new(const struct glock__sim_params *params)
{
	const struct glock__table_params tp = {
	    .nodes = params->nodes, .buckets = 64, .flags = GLOCK__TABLE_KEEP_DIED};
	uint64_t cells = params->locks ? params->locks : 256;
	size_t size = (glock__table_size(&tp, cells) + 63) & ~(size_t)63;
	struct glock__sim *sim = calloc(1, sizeof(*sim) + params->nodes * sizeof(struct sim__node));

	if (!sim)
		return NULL;
	sim->p = *params;
	sim->dice = params->seed;
	sim->now = 1000000000;
	sim->memory = aligned_alloc(64, size);
	/* A table leaves out stores that change nothing, so a run depends on what was there. */
	if (sim->memory)
		memset(sim->memory, 0, size);
	if (!sim->memory || glock__table_init(sim->memory, size, &tp)) {
		free(sim->memory);
		free(sim);
		return NULL;
	}
	sim->table = glock__table_attach(sim->memory, size);
	for (unsigned int i = 0; i < params->nodes; i++) {
		sim->nodes[i].sim = sim;
		sim->nodes[i].index = i;
	}
	return sim;
}

void glock__sim_free(struct glock__sim *sim)
{
	free(sim->memory);
	free(sim->messages);
	free(sim);
}
