/* SPDX-License-Identifier: MIT */
/*
 * object_names.h - names that programs give to the objects behind their Locks.
 *
 * The key is the Lock's index in its table. Few Locks have such a name, so the names lie beside the
 * table. One thread at a time.
 */
#ifndef O2TOP_CALLED_H
#define O2TOP_CALLED_H

#include <stddef.h>
#include <stdint.h>

struct called_entry {
	uint32_t lock; /* index + 1; 0: empty */
	char *name;
};

struct called {
	struct called_entry *slots;
	uint32_t n, room; /* room: a power of two, or 0 */
};

/* 0 or -ENOMEM. */
int called_set(struct called *c, uint32_t lock, const char *name, size_t len);
/* NULL: it has none. */
const char *called_get(const struct called *c, uint32_t lock);
void called_free(struct called *c);

#endif
