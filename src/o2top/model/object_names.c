/* SPDX-License-Identifier: MIT */
/*
 * object_names.c - a hash table from a Lock's index to the name of its object.
 */
#include "object_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The Lock's slot, or the empty one where it would go. */
static struct called_entry *slot_of(const struct called *c, uint32_t lock)
{
	uint32_t i = (lock * 2654435761u) & (c->room - 1);

	while (c->slots[i].lock && c->slots[i].lock != lock + 1)
		i = (i + 1) & (c->room - 1);
	return &c->slots[i];
}

static int grow(struct called *c)
{
	struct called larger = {.room = c->room ? 2 * c->room : 64, .n = c->n};

	larger.slots = calloc(larger.room, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->room; i++)
		if (c->slots[i].lock)
			*slot_of(&larger, c->slots[i].lock - 1) = c->slots[i];
	free(c->slots);
	*c = larger;
	return 0;
}

int called_set(struct called *c, uint32_t lock, const char *name, size_t len)
{
	struct called_entry *e;
	char *copy;

	if (2 * c->n >= c->room && grow(c))
		return -ENOMEM;
	e = slot_of(c, lock);
	if (e->lock && strlen(e->name) == len && !memcmp(e->name, name, len))
		return 0;
	copy = strndup(name, len);
	if (!copy)
		return -ENOMEM;
	free(e->name);
	c->n += !e->lock;
	*e = (struct called_entry){lock + 1, copy};
	return 0;
}

const char *called_get(const struct called *c, uint32_t lock)
{
	return c->room ? slot_of(c, lock)->name : NULL;
}

void called_free(struct called *c)
{
	for (uint32_t i = 0; i < c->room; i++)
		free(c->slots[i].name);
	free(c->slots);
	*c = (struct called){0};
}
