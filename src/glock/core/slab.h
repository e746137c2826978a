/* SPDX-License-Identifier: MIT */
/*
 * slab.h - many small objects of one size, without a word of overhead for each.
 *
 * An object has a number, from 1 on, by which others refer to it in four bytes. With each goes a
 * published part, in memory that may be somebody else's (record.h). Objects lie in chunks, aligned
 * to their size, whose heads know the rest: from an object's address to its owner, its number and
 * its published part it takes one load of a line that is in the cache.
 *
 * Chunks are reserved in regions that double and never move: a number can be turned into an address
 * without a lock. Memory that was not used yet is reserved, not taken. What is free is used again,
 * the last first, so that a few objects that come and go stay in the cache.
 *
 * Lock: slab.lock, innermost but for a statistics record's.
 */
#ifndef GLOCK__SLAB_H
#define GLOCK__SLAB_H

#include "glock/base/lock.h"
#include "glock/stats/record.h"

#include <stddef.h>

enum {
	GLOCK__CHUNK = 1 << 15,
	GLOCK__CHUNK_SLOTS = 512, /* numbers in a chunk; not all of them are used */
	GLOCK__SLAB_REGIONS = 22, /* of 1, 2, 4... chunks */
};

struct glock__chunk {
	_Alignas(64) void *owner;
	char *published;
	uint32_t first; /* the number of its first object */
	uint32_t size, published_size;
	uint32_t part;  /* 2^32 / size, rounded up: to divide an offset by multiplying */
	uint32_t place; /* in its area, of the first published part, less one */
};
static_assert(sizeof(struct glock__chunk) == 64, "a chunk's head is a cache line");

/* The published parts of a chunk. */
struct glock__piece {
	char *memory;
	bool own; /* private: nobody sees it */
};

struct glock__slab {
	struct glock__lock lock;
	uint32_t size, published_size;
	uint32_t per_chunk;
	uint32_t chunks; /* that are reserved */
	uint32_t begun;  /* and have a head; writing that takes memory */
	uint32_t used;   /* objects that were ever handed out, in order */
	uint32_t free;   /* the first of those handed back; linked by their first word */
	enum glock__area area;
	struct glock__mem *mem; /* where published parts come from; NULL: private memory */
	void *owner;
	char *regions[GLOCK__SLAB_REGIONS];
	struct glock__piece *pieces[GLOCK__SLAB_REGIONS]; /* a chunk each */
	char *own[GLOCK__SLAB_REGIONS];                   /* private memory for them */
};

/* size: a multiple of 8, at least that of a chunk's head; published_size may be 0. */
void glock__slab_init(struct glock__slab *s, size_t size, size_t published_size,
		      enum glock__area area, struct glock__mem *mem, void *owner);
void glock__slab_end(struct glock__slab *s);

/* From now on so many objects can be had without fail. -ENOMEM. */
int glock__slab_reserve(struct glock__slab *s, uint32_t objects);

/* The number of an object; 0: no memory. What is in it is anything, what was left there at best. */
uint32_t glock__slab_get(struct glock__slab *s);
void glock__slab_put(struct glock__slab *s, uint32_t number);

static inline char *glock__slab_chunk(const struct glock__slab *s, uint32_t chunk)
{
	unsigned int region = 31 - (unsigned int)__builtin_clz(chunk + 1);

	return s->regions[region] + (size_t)(chunk + 1 - (1u << region)) * GLOCK__CHUNK;
}

GLOCK__INLINE void *glock__slab_at(const struct glock__slab *s, uint32_t number)
{
	uint32_t chunk = number / GLOCK__CHUNK_SLOTS, slot = number % GLOCK__CHUNK_SLOTS;

	if (!chunk) /* mostly so, where few of many are busy */
		return s->regions[0] + (size_t)(slot + 1) * s->size;
	return glock__slab_chunk(s, chunk) + (size_t)(slot + 1) * s->size;
}

GLOCK__INLINE const struct glock__chunk *glock__chunk_of(const void *object)
{
	return (const struct glock__chunk *)((uintptr_t)object & ~(uintptr_t)(GLOCK__CHUNK - 1));
}

/* Its place in its chunk, counted from 1: the head is in the way of the first. */
static inline uint32_t glock__slab_slot(const void *object)
{
	uint32_t offset = (uint32_t)((uintptr_t)object & (GLOCK__CHUNK - 1));

	/* Exact: offsets are multiples of the size, and below 2^15. */
	return (uint32_t)((uint64_t)offset * glock__chunk_of(object)->part >> 32);
}

static inline uint32_t glock__slab_number(const void *object)
{
	return glock__chunk_of(object)->first + glock__slab_slot(object) - 1;
}

/* The place of its published part in the area, counted from 0; or something with GLOCK__UNSEEN. */
static inline uint32_t glock__slab_place(const void *object)
{
	return glock__chunk_of(object)->place + glock__slab_slot(object);
}

static inline void *glock__slab_published(const void *object)
{
	const struct glock__chunk *c = glock__chunk_of(object);

	return c->published + (size_t)(glock__slab_slot(object) - 1) * c->published_size;
}

#endif
