/* SPDX-License-Identifier: MIT */
/*
 * slab.c - see slab.h.
 *
 * Number = chunk * GLOCK__CHUNK_SLOTS + slot. Slot 0 of chunk 0 is never handed out: number 0 is
 * nobody. The published parts of a chunk are one piece; where the memory for them that others can
 * read is used up, it is private: the objects work all the same, and only cannot be seen.
 */
#include "slab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void glock__slab_init(struct glock__slab *s, size_t size, size_t published_size,
		      enum glock__area area, struct glock__mem *mem, void *owner)
{
	memset(s, 0, sizeof(*s));
	for (s->shift = 6; (1u << s->shift) < size;)
		s->shift++;
	s->published_size = (uint32_t)published_size;
	s->per_chunk = (GLOCK__CHUNK >> s->shift) - 1;
	s->used = 1;
	s->area = area;
	s->mem = mem;
	s->owner = owner;
}

/*
 * Takes no memory until it is written. The first chunk comes from malloc(): a program that opens
 * and closes many small spaces is spared the system calls.
 */
static void *reserve_memory(uint32_t chunk, size_t size)
{
	void *p;

	if (!chunk)
		return aligned_alloc(128, (size + 127) & ~(size_t)127);
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		 -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void free_memory(uint32_t chunk, void *p, size_t size)
{
	if (!chunk)
		free(p);
	else
		munmap(p, size);
}

static size_t region_size(unsigned int region)
{
	return (size_t)GLOCK__CHUNK << region;
}

/* Aligned to a chunk. */
static char *new_region(unsigned int region)
{
	size_t size = region_size(region), head;
	char *p;

	if (!region)
		return aligned_alloc(GLOCK__CHUNK, size);
	p = reserve_memory(region, size + GLOCK__CHUNK);
	if (!p)
		return NULL;
	head = -(uintptr_t)p & (GLOCK__CHUNK - 1);
	if (head)
		munmap(p, head);
	munmap(p + head + size, GLOCK__CHUNK - head);
	return p + head;
}

static size_t published_bytes(const struct glock__slab *s)
{
	return (size_t)s->per_chunk * s->published_size;
}

/* Pieces of an area follow each other. */
static uint32_t place_of(const struct glock__slab *s, char *published)
{
	char **base = &s->mem->base[s->area];

	if (!*base)
		*base = published;
	return (uint32_t)((size_t)(published - *base) / s->published_size);
}

static int add_chunk(struct glock__slab *s)
{
	unsigned int region = 31 - (unsigned int)__builtin_clz(s->chunks + 1);
	struct glock__chunk *c;
	bool own = false;
	void *published = NULL;

	if (region >= GLOCK__SLAB_REGIONS)
		return -ENOMEM;
	if (!s->regions[region])
		s->regions[region] = new_region(region);
	if (!s->regions[region])
		return -ENOMEM;
	if (s->mem && s->published_size)
		published = s->mem->slab(s->mem, s->area, published_bytes(s));
	if (!published && s->published_size) {
		published = reserve_memory(s->chunks, published_bytes(s));
		own = true;
		if (!published)
			return -ENOMEM;
	}
	c = (struct glock__chunk *)glock__slab_chunk(s, s->chunks);
	c->owner = s->owner;
	c->published = published;
	c->first = s->chunks * GLOCK__CHUNK_SLOTS;
	c->shift = s->shift;
	c->published_size = s->published_size;
	c->own = own;
	c->place = own || !published ? GLOCK__UNSEEN : place_of(s, published) - 1;
	s->chunks++;
	return 0;
}

void glock__slab_end(struct glock__slab *s)
{
	for (uint32_t i = 0; i < s->chunks; i++) {
		struct glock__chunk *c = (struct glock__chunk *)glock__slab_chunk(s, i);

		if (c->own)
			free_memory(i, c->published, published_bytes(s));
	}
	for (unsigned int i = 0; i < GLOCK__SLAB_REGIONS; i++)
		if (s->regions[i])
			free_memory(i, s->regions[i], region_size(i));
}

int glock__slab_reserve(struct glock__slab *s, uint32_t objects)
{
	int err = 0;

	glock__lock_take(&s->lock);
	while (!err && (size_t)s->chunks * s->per_chunk < (size_t)objects + 1)
		err = add_chunk(s);
	glock__lock_drop(&s->lock);
	return err;
}

/* Under the lock: one that was never used. */
static uint32_t next_unused(struct glock__slab *s)
{
	uint32_t chunk = s->used / s->per_chunk, slot = s->used % s->per_chunk;

	if (chunk >= s->chunks && add_chunk(s))
		return 0;
	s->used++;
	return chunk * GLOCK__CHUNK_SLOTS + slot;
}

uint32_t glock__slab_get(struct glock__slab *s)
{
	uint32_t number;

	glock__lock_take(&s->lock);
	number = s->free;
	if (number) {
		uint32_t *object = glock__slab_at(s, number);

		s->free = *object;
	} else {
		number = next_unused(s);
	}
	glock__lock_drop(&s->lock);
	return number;
}

void glock__slab_put(struct glock__slab *s, uint32_t number)
{
	uint32_t *object = glock__slab_at(s, number);

	glock__lock_take(&s->lock);
	*object = s->free;
	s->free = number;
	glock__lock_drop(&s->lock);
}
