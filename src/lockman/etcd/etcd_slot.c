/* SPDX-License-Identifier: MIT */
/* etcd_slot.c - the locks that this node knows, and the queue of those with work for the worker. */
#include "etcd_impl.h"

#include <stdlib.h>

enum { CHAINS = 1 << 14, FIRST = 64 };

static uint32_t *chain_of(struct etcd *e, uint32_t type, uint64_t number)
{
	uint64_t hash = (number * 31 + type) * 0x9e3779b97f4a7c15u;

	return &e->named[hash >> 50];
}

struct slot *glock__etcd_slot_of(struct etcd *e, uint32_t id)
{
	struct slot *s = id && id <= e->n_slots ? e->slots[id - 1] : NULL;

	return s && s->used ? s : NULL;
}

struct slot *glock__etcd_slot_named(struct etcd *e, uint32_t type, uint64_t number)
{
	struct slot *s;

	for (uint32_t at = e->named ? *chain_of(e, type, number) : 0; at; at = s->next_named) {
		s = e->slots[at - 1];
		if (s->number == number && s->type == type)
			return s;
	}
	return NULL;
}

/* Makes room for twice as many slots. Slots stay where they are. */
static bool slots_grow(struct etcd *e)
{
	uint32_t n = e->n_slots ? 2 * e->n_slots : FIRST;
	struct slot **slots = realloc(e->slots, n * sizeof(struct slot *));
	struct slot *more = slots ? calloc(n - e->n_slots, sizeof(*more)) : NULL;

	if (slots)
		e->slots = slots;
	if (!e->named)
		e->named = calloc(CHAINS, sizeof(uint32_t));
	if (!more || !e->named) {
		free(more);
		return false;
	}
	for (uint32_t i = n; i-- > e->n_slots;) {
		e->slots[i] = &more[i - e->n_slots];
		e->slots[i]->next_free = e->free;
		e->free = i + 1;
	}
	e->n_slots = n;
	return true;
}

struct slot *glock__etcd_slot_new(struct etcd *e, uint32_t type, uint64_t number)
{
	struct slot *s;
	uint32_t id, *chain;

	if (!e->free && !slots_grow(e))
		return NULL;
	id = e->free;
	s = e->slots[id - 1];
	e->free = s->next_free;
	chain = chain_of(e, type, number);
	*s = (struct slot){
	    .used = true, .id = id, .next_named = *chain, .type = type, .number = number};
	*chain = id;
	return s;
}

/* Takes the slot out of the queue of work. */
static void leave_queue(struct etcd *e, const struct slot *s)
{
	struct slot **at = &e->first;

	while (*at && *at != s)
		at = &(*at)->next_queued;
	if (!*at)
		return;
	*at = s->next_queued;
	if (!*at)
		e->last = at;
}

void glock__etcd_slot_free(struct etcd *e, struct slot *s)
{
	uint32_t id = s->id, *at = chain_of(e, s->type, s->number);

	if (s->queued)
		leave_queue(e, s);
	while (*at != id)
		at = &e->slots[*at - 1]->next_named;
	*at = s->next_named;
	free(s->known);
	*s = (struct slot){.next_free = e->free};
	e->free = id;
}

void glock__etcd_queue(struct etcd *e, struct slot *s)
{
	if (s->queued)
		return;
	s->queued = true;
	s->next_queued = NULL;
	*e->last = s;
	e->last = &s->next_queued;
	pthread_cond_signal(&e->work);
}

struct slot *glock__etcd_unqueue(struct etcd *e)
{
	struct slot *s = e->first;

	if (!s)
		return NULL;
	e->first = s->next_queued;
	if (!e->first)
		e->last = &e->first;
	s->queued = false;
	return s;
}

bool glock__etcd_know(struct slot *s, int64_t revision, int64_t seen, const void *value, size_t len)
{
	unsigned char *known = len ? malloc(len) : NULL;

	if (len && !known)
		return false;
	if (len)
		memcpy(known, value, len);
	free(s->known);
	s->known = known;
	s->known_len = len;
	s->revision = revision;
	s->seen = seen;
	return true;
}

void glock__etcd_slots_end(struct etcd *e)
{
	for (uint32_t i = 0; i < e->n_slots; i++)
		free(e->slots[i]->known);
	for (uint32_t i = 0; i < e->n_slots; i = i ? 2 * i : FIRST) /* each growth is one piece */
		free(e->slots[i]);
	free(e->slots);
	free(e->named);
}
