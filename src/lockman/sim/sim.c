/* SPDX-License-Identifier: MIT */
/* sim.c - see sim.h and sim_impl.h. */
#include "sim_impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- chance and time ---- */

static uint64_t dice(struct glock__sim *sim)
{
	uint64_t z = sim->dice += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

uint32_t glock__sim_random(struct glock__sim *sim, uint32_t n)
{
	return (uint32_t)((dice(sim) >> 32) * n >> 32);
}

int64_t glock__sim_now(const struct glock__sim *sim)
{
	return sim->now;
}

void glock__sim_set_now(struct glock__sim *sim, int64_t now)
{
	assert(now >= sim->now);
	sim->now = now;
}

static int64_t delay(struct glock__sim *sim)
{
	int64_t span = sim->p.delay_max - sim->p.delay_min;

	return sim->p.delay_min + (span ? (int64_t)glock__sim_random(sim, (uint32_t)span) : 0);
}

/* ---- messages ---- */

static enum glock__sim_to sim__to(const struct sim__message *m)
{
	if (m->kind <= SIM__UNLOCK)
		return GLOCK__SIM_MASTER;
	return m->kind <= SIM__GO_ON ? GLOCK__SIM_NODE : GLOCK__SIM_ALL;
}

struct sim__message *sim__send(struct glock__sim *sim, enum sim__kind kind, unsigned int node,
			       struct sim__lock *lock, int64_t at)
{
	struct sim__message *m;

	if (sim->n == sim->room) {
		sim->room = sim->room ? 2 * sim->room : 64;
		sim->messages = realloc(sim->messages, sim->room * sizeof(*m));
		if (!sim->messages)
			abort(); /* no memory, in a test */
	}
	m = &sim->messages[sim->n++];
	*m = (struct sim__message){
	    .at = at, .order = sim->sent++, .kind = kind, .node = node, .lock = lock};
	return m;
}

struct sim__message *sim__to_master(struct sim__node *nd, enum sim__kind kind,
				    struct sim__lock *lock)
{
	int64_t at = nd->sim->now + delay(nd->sim);

	if (at < nd->last_sent)
		at = nd->last_sent;
	nd->last_sent = at;
	return sim__send(nd->sim, kind, nd->index, lock, at);
}

struct sim__message *sim__to_node(struct glock__sim *sim, enum sim__kind kind, unsigned int node,
				  struct sim__lock *lock)
{
	return sim__send(sim, kind, node, lock, sim->now + delay(sim));
}

/* Takes the message out of the list. */
static struct sim__message message_take(struct glock__sim *sim, size_t at)
{
	struct sim__message m = sim->messages[at];

	memmove(&sim->messages[at], &sim->messages[at + 1],
		(--sim->n - at) * sizeof(*sim->messages));
	return m;
}

static size_t message_find(const struct glock__sim *sim, unsigned int node, enum glock__sim_to to,
			   const struct sim__lock *lock)
{
	size_t i = 0;

	while (i < sim->n &&
	       (sim->messages[i].node != node || sim__to(&sim->messages[i]) != to ||
		(lock && (sim->messages[i].kind != SIM__REPLY || sim->messages[i].lock != lock))))
		i++;
	return i;
}

/* Relies on this: the messages lie in the order of sending. */
void sim__hurry(struct sim__node *nd, struct sim__lock *lock)
{
	struct glock__sim *sim = nd->sim;
	struct sim__message m;
	size_t i;

	while ((i = message_find(sim, nd->index, GLOCK__SIM_MASTER, NULL)) < sim->n) {
		m = message_take(sim, i);
		sim__master(sim, &m);
	}
	i = message_find(sim, nd->index, GLOCK__SIM_NODE, lock);
	if (i == sim->n)
		return;
	m = message_take(sim, i);
	sim__arrive(nd, &m);
}

static void messages_drop(struct glock__sim *sim,
			  bool (*which)(const struct sim__message *, const void *), const void *arg)
{
	size_t kept = 0;

	for (size_t i = 0; i < sim->n; i++)
		if (!which(&sim->messages[i], arg))
			sim->messages[kept++] = sim->messages[i];
	sim->n = kept;
}

static bool of_lock(const struct sim__message *m, const void *lock)
{
	return m->lock == lock;
}

static bool of_node(const struct sim__message *m, const void *node)
{
	return m->node == *(const unsigned int *)node && sim__to(m) != GLOCK__SIM_ALL;
}

static bool says_go_on(const struct sim__message *m, const void *arg)
{
	(void)arg;
	return m->kind == SIM__GO_ON;
}

void sim__drop_lock(struct glock__sim *sim, const struct sim__lock *lock)
{
	messages_drop(sim, of_lock, lock);
}

void sim__drop_node(struct glock__sim *sim, unsigned int node)
{
	messages_drop(sim, of_node, &node);
}

void sim__drop_go_on(struct glock__sim *sim)
{
	messages_drop(sim, says_go_on, NULL);
}

/* ---- functions for the owner ---- */

struct glock__lockman *glock__sim_join(struct glock__sim *sim, unsigned int node)
{
	struct sim__node *nd = &sim->nodes[node];

	assert(node < sim->p.nodes && !nd->joined && !nd->used);
	if (nd->departing || sim->recoveries)
		return NULL; /* a death is not noticed, or not recovered yet */
	nd->joined = nd->used = true;
	nd->lm = (struct glock__lockman){.ops = &sim__ops};
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

/* Returns the i'th message in the order of time. Few enough are there to look through. */
static size_t message_nth(struct glock__sim *sim, size_t i)
{
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
	m = message_take(sim, at);
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
	glock__table_forget(sim->table); /* resources kept until a node was told of a death */
	glock__table_usage(sim->table, usage);
}

struct glock__sim *glock__sim_new(const struct glock__sim_params *params)
{
	const struct glock__table_params tp = {
	    .nodes = params->nodes, .buckets = 64, .flags = GLOCK__TABLE_KEEP_DIED};
	size_t size = (glock__table_size(&tp, 256) + 63) & ~(size_t)63;
	struct glock__sim *sim = calloc(1, sizeof(*sim) + params->nodes * sizeof(struct sim__node));

	if (!sim)
		return NULL;
	sim->p = *params;
	sim->dice = params->seed;
	sim->now = 1000000000;
	sim->memory = aligned_alloc(64, size);
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
