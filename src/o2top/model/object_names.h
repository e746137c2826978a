/* SPDX-License-Identifier: MIT */
/*
 * object_names.h - names that programs give to the objects behind their Locks.
 *
 * The key is the Lock's index in its table. Few Locks have such a name, so the names lie beside the
 * table. One thread at a time.
 */
#ifndef O2TOP_OBJECT_NAMES_H
#define O2TOP_OBJECT_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct object_name {
	uint32_t lock; /* index + 1; 0: empty */
	char *name;
};

struct object_names {
	struct object_name *slots;
	uint32_t n, room; /* room: a power of two, or 0 */
};

/* Returns 0 or -ENOMEM. */
int object_name_set(struct object_names *c, uint32_t lock, const char *name, size_t len);
/* Returns NULL if the Lock has no name. */
const char *object_name_get(const struct object_names *c, uint32_t lock);
void object_name_free(struct object_names *c);

#endif
