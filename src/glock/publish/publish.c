/* SPDX-License-Identifier: MIT */
/*
 * publish.c - see publish.h.
 *
 * The file is mapped once in its largest size, and is empty at first. MADV_POPULATE_WRITE allocates
 * memory before the first access, because an access without room in the file system raises SIGBUS.
 * A child of fork does not have the mapping.
 */
#include "publish.h"

#include "base/proc.h"
#include "glock/base/lock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { GROW = 64 * 1024 };

/* The largest number of each. */
enum {
	RECORDS = 1 << 24,
	MORE = 1 << 24,
	HOLDERS = 1 << 16,
	EXTRAS = 1 << 19,
	THREADS = 1 << 17,
	TRACE_BYTES = 1 << 24,
	SITES = 1 << 12,
	LENT = 1 << 16,
	HISTOGRAMS = 16 * GLOCK_TYPE_MAX,
};

struct pool {
	uint32_t *free;
	size_t n_free, room;
	uint32_t made; /* places in the file */
};

struct glock__publisher {
	struct glock__mem mem;
	struct glock__lock lock; /* pools, lengths of areas */
	char *base;
	size_t size;
	struct glock__segment_head *head;
	/* These lengths count. The head has a copy for readers. */
	struct glock__segment_area area[GLOCK__AREA_MAX];
	struct pool pools[GLOCK__AREA_MAX];
};

static const struct {
	uint32_t stride;
	uint64_t most;
} areas[GLOCK__AREA_MAX] = {
    [GLOCK__AREA_RECORDS] = {sizeof(struct glock__record), RECORDS},
    [GLOCK__AREA_BUSY_RECORDS] = {sizeof(struct glock__busy_record), MORE},
    [GLOCK__AREA_THREADS] = {sizeof(struct glock__thread_record), THREADS},
    [GLOCK__AREA_TYPE_STATS] = {sizeof(struct glock__cpu_record), 0}, /* by the number of CPUs */
    [GLOCK__AREA_HOLDERS] = {sizeof(struct glock__segment_holder), HOLDERS},
    [GLOCK__AREA_EXTRAS] = {sizeof(struct glock__segment_extra), EXTRAS},
    [GLOCK__AREA_TRACE] = {1, TRACE_BYTES},
    [GLOCK__AREA_SITES] = {sizeof(struct glock__segment_site), SITES},
    [GLOCK__AREA_LENT] = {sizeof(struct glock__lent_record), LENT},
    [GLOCK__AREA_HISTOGRAMS] = {sizeof(struct glock__type_histogram), HISTOGRAMS},
};

/* Returns the page size of the kernel, for madvise(). It is 16 or 64 KiB on some machines. */
static uint64_t page_size(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t round_to_pages(uint64_t bytes)
{
	return (bytes + page_size() - 1) & ~(page_size() - 1);
}

/* ---- a new publisher ----------------------------------------------------------------------- */

/* Sets the place of each area. Returns the size of the file. */
static uint64_t lay_out(struct glock__segment_area area[GLOCK__AREA_MAX], unsigned int cpus)
{
	uint64_t at = round_to_pages(sizeof(struct glock__segment_head));

	for (int i = 0; i < GLOCK__AREA_MAX; i++) {
		uint64_t most =
		    i == GLOCK__AREA_TYPE_STATS ? (uint64_t)cpus * GLOCK_TYPE_MAX : areas[i].most;

		area[i] =
		    (struct glock__segment_area){.offset = at,
						 .room = round_to_pages(most * areas[i].stride),
						 .stride = areas[i].stride};
		at += area[i].room;
	}
	return at;
}

/* Allocates memory for these bytes now, and not at the first access. */
static bool populate(char *at, size_t size)
{
	return !madvise(at, size, MADV_POPULATE_WRITE);
}

/* A file above the process's limit on file sizes would raise a signal. */
static bool may_be_that_large(uint64_t size)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur >= size;
}

/* Sizes and maps the file, and fills in the areas of the head. */
static int map_segment(struct glock__publisher *p, int fd, unsigned int cpus)
{
	p->size = lay_out(p->area, cpus);
	if (!may_be_that_large(p->size))
		return -EFBIG;
	if (ftruncate(fd, (off_t)p->size))
		return -errno;
	p->base = mmap(NULL, p->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (p->base == MAP_FAILED)
		return -errno;
	madvise(p->base, p->size, MADV_DONTFORK);
	madvise(p->base, p->size, MADV_DONTDUMP);
	madvise(p->base, p->size, MADV_RANDOM); /* a disk would read megabytes around each page */
	if (!populate(p->base, round_to_pages(sizeof(*p->head))))
		return -ENOSPC;
	p->head = (struct glock__segment_head *)p->base;
	memcpy(p->head->area, p->area, sizeof(p->area));
	return 0;
}

static void *grow_for_slab(struct glock__mem *mem, enum glock__area area, size_t size)
{
	return glock__publisher_grow((struct glock__publisher *)mem, area, size);
}

struct glock__mem *glock__publisher_mem(struct glock__publisher *p)
{
	return &p->mem;
}

struct glock__publisher *glock__publisher_new(int fd, unsigned int cpus)
{
	struct glock__publisher *p = calloc(1, sizeof(*p));
	int err = p ? map_segment(p, fd, cpus) : -ENOMEM;
	struct glock__proc_ns ns;
	struct glock__proc self;

	close(fd);
	if (err) {
		glock__publisher_free(p);
		return NULL;
	}
	p->mem.slab = grow_for_slab;
	p->head->version = GLOCK__SEGMENT_VERSION;
	glock__proc_read(getpid(), &self); /* all zero without /proc */
	glock__proc_namespaces(&ns);
	p->head->head_size = sizeof(*p->head);
	p->head->file_size = p->size;
	p->head->pid = (uint32_t)getpid();
	p->head->uid = geteuid();
	p->head->started = self.start - (uint64_t)ns.booted;
	p->head->pid_namespace = ns.pid;
	p->head->clock_ahead = ns.clock;
	p->head->cpus = cpus;
	p->head->types = GLOCK_TYPE_MAX;
	p->head->work_due = INT64_MAX;
	memcpy(p->head->command, self.comm, sizeof(self.comm));
	return p;
}

void glock__publisher_free(struct glock__publisher *p)
{
	if (!p)
		return;
	if (p->base && p->base != MAP_FAILED)
		munmap(p->base, p->size);
	for (int i = 0; i < GLOCK__AREA_MAX; i++)
		free(p->pools[i].free);
	free(p);
}

struct glock__segment_head *glock__publisher_head(struct glock__publisher *p)
{
	return p->head;
}

/* ---- areas --------------------------------------------------------------------------------- */

/* Under the lock. */
static void *grow_area(struct glock__publisher *p, enum glock__area i, size_t size)
{
	struct glock__segment_area *a = &p->area[i];
	uint64_t used = a->used, from, to;

	if (size > a->room - used)
		return NULL;
	from = (a->offset + used) & ~(page_size() - 1);
	to = round_to_pages(a->offset + used + size);
	if (!populate(p->base + from, to - from))
		return NULL;
	a->used = used + size;
	atom_store64(&p->head->area[i].used, used + size);
	return p->base + a->offset + used;
}

void *glock__publisher_grow(struct glock__publisher *p, enum glock__area area, size_t size)
{
	void *at;

	glock__lock_take(&p->lock);
	at = grow_area(p, area, size);
	glock__lock_drop(&p->lock);
	return at;
}

/* ---- places -------------------------------------------------------------------------------- */

void *glock__publisher_at(struct glock__publisher *p, enum glock__area area, uint32_t place)
{
	const struct glock__segment_area *a = &p->area[area];

	assert(place && place <= p->pools[area].made);
	return p->base + a->offset + (uint64_t)(place - 1) * a->stride;
}

/* Adds places. The list has room for every place, so that putting a place back cannot fail. */
static bool make_more(struct glock__publisher *p, enum glock__area area)
{
	struct pool *pool = &p->pools[area];
	uint32_t n = GROW / p->area[area].stride;
	size_t room = pool->made + n;
	uint32_t *more;

	if (room > pool->room) {
		room = room < 2 * pool->room ? 2 * pool->room : room;
		more = realloc(pool->free, room * sizeof(*more));
		if (!more)
			return false;
		pool->free = more;
		pool->room = room;
	}
	if (!grow_area(p, area, (size_t)n * p->area[area].stride))
		return false;
	for (uint32_t i = n; i; i--)
		pool->free[pool->n_free++] = pool->made + i;
	pool->made += n;
	return true;
}

uint32_t glock__publisher_get(struct glock__publisher *p, enum glock__area area)
{
	struct pool *pool = &p->pools[area];
	uint32_t place = GLOCK__UNPUBLISHED;

	glock__lock_take(&p->lock);
	if (pool->n_free || make_more(p, area))
		place = pool->free[--pool->n_free];
	glock__lock_drop(&p->lock);
	if (!place)
		atom_add32(&p->head->not_published, 1);
	return place;
}

void glock__publisher_put(struct glock__publisher *p, enum glock__area area, uint32_t place)
{
	struct pool *pool = &p->pools[area];

	if (!place)
		return;
	glock__lock_take(&p->lock);
	assert(place <= pool->made && pool->n_free < pool->made);
	pool->free[pool->n_free++] = place;
	glock__lock_drop(&p->lock);
}
