/* SPDX-License-Identifier: MIT */
/*
 * slab.c - see slab.h.
 *
 * Number = chunk * GLOCK__CHUNK_SLOTS + slot. Slot 0 of chunk 0 is never handed out, because number
 * 0 means no object. The published parts of a chunk are one piece. If no public memory is left, the
 * piece is private. Its objects work all the same, but readers do not see them.
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
	assert(size % 8 == 0 && size >= sizeof(struct glock__chunk));
	s->size = (uint32_t)size;
	s->published_size = (uint32_t)published_size;
	s->per_chunk = (uint32_t)(GLOCK__CHUNK / size) - 1;
	s->used = 1;
	s->area = area;
	s->mem = mem;
	s->owner = owner;
}

/*
 * Reserves memory, which is taken when it is written. The first chunk comes from malloc(). That
 * saves the system calls of a program that opens and closes many small spaces.
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

/* Returns memory that is aligned to a chunk. */
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

/* Returns the place of a piece. The pieces of an area follow each other. */
static uint32_t place_in_area(const struct glock__slab *s, char *published)
{
	char **base = &s->mem->base[s->area];

	if (!*base)
		*base = published;
	return (uint32_t)((size_t)(published - *base) / s->published_size);
}

static unsigned int region_of(uint32_t chunk)
{
	return 31 - (unsigned int)__builtin_clz(chunk + 1);
}

static struct glock__piece *piece_of(const struct glock__slab *s, uint32_t chunk)
{
	unsigned int region = region_of(chunk);

	return &s->pieces[region][chunk + 1 - (1u << region)];
}

/* Reserves private memory for the published parts of a region, for use without public memory. */
static int reserve_own(struct glock__slab *s, unsigned int region)
{
	if (s->published_size && !s->own[region])
		s->own[region] = reserve_memory(region, published_bytes(s) << region);
	return s->published_size && !s->own[region] ? -ENOMEM : 0;
}

/* Reserves one more chunk. This takes address space only. */
static int add_chunk(struct glock__slab *s)
{
	unsigned int region = region_of(s->chunks);
	int err;

	if (region >= GLOCK__SLAB_REGIONS)
		return -ENOMEM;
	if (!s->pieces[region])
		s->pieces[region] = calloc(1u << region, sizeof(struct glock__piece));
	if (!s->regions[region])
		s->regions[region] = new_region(region);
	if (!s->regions[region] || !s->pieces[region])
		return -ENOMEM;
	err = reserve_own(s, region);
	s->chunks += !err;
	return err;
}

/*
 * Gets the published piece of a chunk. Public memory is asked for only now, because its giver may
 * have to take the memory at once.
 */
static void get_piece(struct glock__slab *s, uint32_t chunk)
{
	struct glock__piece *p = piece_of(s, chunk);
	unsigned int region = region_of(chunk);

	if (!s->published_size)
		return;
	if (s->mem)
		p->memory = s->mem->slab(s->mem, s->area, published_bytes(s));
	if (p->memory)
		return;
	p->memory = s->own[region] + published_bytes(s) * (size_t)(p - s->pieces[region]);
	p->own = true;
}

static void begin_chunk(struct glock__slab *s)
{
	struct glock__chunk *c = (struct glock__chunk *)glock__slab_chunk(s, s->begun);
	const struct glock__piece *p = piece_of(s, s->begun);

	get_piece(s, s->begun);
	c->owner = s->owner;
	c->published = p->memory;
	c->first = s->begun * GLOCK__CHUNK_SLOTS;
	c->size = s->size;
	c->part = (uint32_t)((1ull << 32) / s->size + 1);
	c->published_size = s->published_size;
	c->place = p->own || !p->memory ? GLOCK__UNSEEN : place_in_area(s, p->memory) - 1;
	s->begun++;
}

void glock__slab_end(struct glock__slab *s)
{
	for (unsigned int i = 0; i < GLOCK__SLAB_REGIONS; i++) {
		if (s->regions[i])
			free_memory(i, s->regions[i], region_size(i));
		if (s->own[i])
			free_memory(i, s->own[i], published_bytes(s) << i);
		free(s->pieces[i]);
	}
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

/* Returns the number of an object that was never used. Under the lock. */
static uint32_t next_unused(struct glock__slab *s)
{
	uint32_t chunk = s->used / s->per_chunk, slot = s->used % s->per_chunk, number;

	if (chunk >= s->chunks && add_chunk(s))
		return 0;
	if (chunk >= s->begun)
		begin_chunk(s);
	number = chunk * GLOCK__CHUNK_SLOTS + slot;
	/* As in the later regions, which the kernel zeroes. Some fields survive all users. */
	if (!region_of(chunk))
		memset(glock__slab_at(s, number), 0, s->size);
	__atomic_store_n(&s->used, s->used + 1, __ATOMIC_RELEASE); /* glock__slab_had() */
	return number;
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
