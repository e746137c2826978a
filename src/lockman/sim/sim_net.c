/* SPDX-License-Identifier: MIT */
/* sim_net.c - chance, time and the messages that are under way. See sim_impl.h. */
#include "sim_impl.h"

#include <assert.h>
#include <stdio.h>
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

/* ---- members ---- */

struct glock__lm_node sim__member(unsigned int node, uint64_t id)
{
	struct glock__lm_node member = {.id = id, .slot = node};

	snprintf(member.name, sizeof(member.name), "node %u", node);
	return member;
}

/* ---- messages ---- */

enum glock__sim_to sim__to(const struct sim__message *m)
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

struct sim__message sim__message_take(struct glock__sim *sim, size_t at)
{
	struct sim__message m = sim->messages[at];

	memmove(&sim->messages[at], &sim->messages[at + 1],
		(--sim->n - at) * sizeof(*sim->messages));
	return m;
}

size_t sim__message_find(const struct glock__sim *sim, unsigned int node, enum glock__sim_to to,
			 const struct sim__lock *lock)
{
	size_t i = 0;

	while (i < sim->n &&
	       (sim->messages[i].node != node || sim__to(&sim->messages[i]) != to ||
		(lock && (sim->messages[i].kind != SIM__REPLY || sim->messages[i].lock != lock))))
		i++;
	return i;
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
