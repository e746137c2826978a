/* SPDX-License-Identifier: MIT */
/*
 * grow.h - room for a list that grows: doubling the list bounds the bytes moved by the bytes added.
 */
#ifndef O2TOP_GROW_H
#define O2TOP_GROW_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * Makes room for one more item behind the n items, of `size` bytes each. `list` points to the
 * pointer to the items. Returns false if there is no memory.
 */
static inline bool grow(void *list, size_t n, size_t *room, size_t size)
{
	size_t wanted = *room ? 2 * *room : 64;
	void *items;

	if (n < *room)
		return true;
	/* The pointer may be of any type, so its bytes are copied. */
	memcpy(&items, list, sizeof(items));
	items = reallocarray(items, wanted, size);
	if (!items)
		return false;
	memcpy(list, &items, sizeof(items));
	*room = wanted;
	return true;
}

#endif
