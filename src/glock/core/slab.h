/* SPDX-License-Identifier: MIT */
/*
 * slab.h - many small objects of one size, without a word of overhead for each.
 *
 * An object has a number, from 1 on, and other structs refer to it by that number in four bytes.
 * Each object has a published part, which may lie in memory that other processes read (record.h).
 *
 * Objects lie in chunks, which are aligned to their size. The head of a chunk knows the owner, the
 * numbers and the published parts of its objects. To get from an object to one of them takes one
 * load of a line that is in the cache.
 *
 * Chunks are reserved in regions that double and never move. Therefore a number gives an address
 * without a lock. Unused memory is reserved, not taken. The object that was freed last is used
 * first. So a few objects that come and go stay in the cache.
 *
 * Lock: slab.lock. Only the lock of a statistics record may be taken inside.
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
	uint32_t place; /* the place in the area of the first published part, less one */
};
static_assert(sizeof(struct glock__chunk) == 64, "a chunk's head is a cache line");

/* The published parts of a chunk. */
struct glock__piece {
	char *memory;
	bool own; /* private: no other process reads it */
};

struct glock__slab {
	struct glock__lock lock;
	uint32_t size, published_size;
	uint32_t per_chunk;
	uint32_t chunks; /* reserved chunks */
	uint32_t begun;  /* chunks with a head; writing the head takes memory */
	uint32_t used;   /* objects that were ever handed out, in order */
	uint32_t free;   /* the first free object; linked by their first word */
	enum glock__area area;
	struct glock__mem *mem; /* gives the published parts; NULL: private memory */
	void *owner;
	char *regions[GLOCK__SLAB_REGIONS];
	struct glock__piece *pieces[GLOCK__SLAB_REGIONS]; /* one for each chunk */
	char *own[GLOCK__SLAB_REGIONS];                   /* private memory for them */
};

/* size is a multiple of 8, at least the size of a chunk's head. published_size may be 0. */
void glock__slab_init(struct glock__slab *s, size_t size, size_t published_size,
		      enum glock__area area, struct glock__mem *mem, void *owner);
void glock__slab_end(struct glock__slab *s);

/* Makes room, so that getting this many objects cannot fail. Returns -ENOMEM without memory. */
int glock__slab_reserve(struct glock__slab *s, uint32_t objects);

/*
 * Returns the number of an object, or 0 without memory. The contents are undefined, at best the old
 * ones.
 */
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

	if (!chunk) /* the usual case: few of many glocks are busy */
		return s->regions[0] + (size_t)(slot + 1) * s->size;
	return glock__slab_chunk(s, chunk) + (size_t)(slot + 1) * s->size;
}

/* Tells whether an object ever had that number. Any number is safe to ask for, without the lock. */
static inline bool glock__slab_had(const struct glock__slab *s, uint32_t number)
{
	uint32_t chunk = number / GLOCK__CHUNK_SLOTS, slot = number % GLOCK__CHUNK_SLOTS;

	return number && slot < s->per_chunk &&
	       chunk * s->per_chunk + slot < __atomic_load_n(&s->used, __ATOMIC_ACQUIRE);
}

GLOCK__INLINE const struct glock__chunk *glock__chunk_of(const void *object)
{
	return (const struct glock__chunk *)((uintptr_t)object & ~(uintptr_t)(GLOCK__CHUNK - 1));
}

/* Returns the object's place in its chunk, counted from 1, because the head comes first. */
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

/*
 * Returns the place of the published part in the area, counted from 0. A place with GLOCK__UNSEEN
 * is private.
 */
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
