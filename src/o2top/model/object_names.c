/* SPDX-License-Identifier: MIT */
/*
 * object_names.c - a hash table from a Lock's index to the name of its object.
 */
#include "model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Returns the Lock's slot, or the empty slot where the Lock would go. */
static struct object_name *slot_of(const struct object_names *c, uint32_t lock)
{
	uint32_t i = (lock * 2654435761u) & (c->room - 1);

	while (c->slots[i].lock && c->slots[i].lock != lock + 1)
		i = (i + 1) & (c->room - 1);
	return &c->slots[i];
}

static int object_names_grow(struct object_names *c)
{
	struct object_names larger = {.room = c->room ? 2 * c->room : 64, .n = c->n};

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

int object_name_set(struct object_names *c, uint32_t lock, const char *name, size_t len)
{
	struct object_name *e;
	char *copy;

	if (2 * c->n >= c->room && object_names_grow(c))
		return -ENOMEM;
	e = slot_of(c, lock);
	if (e->lock && strlen(e->name) == len && !memcmp(e->name, name, len))
		return 0;
	copy = strndup(name, len);
	if (!copy)
		return -ENOMEM;
	free(e->name);
	c->n += !e->lock;
	*e = (struct object_name){lock + 1, copy};
	return 0;
}

const char *object_name_get(const struct object_names *c, uint32_t lock)
{
	return c->room ? slot_of(c, lock)->name : NULL;
}

void object_name_free(struct object_names *c)
{
	for (uint32_t i = 0; i < c->room; i++)
		free(c->slots[i].name);
	free(c->slots);
	*c = (struct object_names){0};
}
