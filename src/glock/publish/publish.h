/* SPDX-License-Identifier: MIT */
/*
 * publish.h - writes what others can see of this node: the file that segment.h describes.
 *
 * Everything here is an extra: where the file is full or was never there, nothing is published of
 * what found no room, and the glocks work all the same.
 *
 * Locking. A place in the file belongs to the glock or the holder that it is about, and is written
 * under gl->lock. The lists of free places have a lock of their own, taken inside.
 */
#ifndef GLOCK__PUBLISH_H
#define GLOCK__PUBLISH_H

#include "base/atom.h"
#include "segment.h"

#include <stdbool.h>
#include <stddef.h>

struct glock;
struct glock_space;
struct glock__holder;
struct glock__publisher;
struct glock__thread;

/* Into a place that is said in text: of a path that is too long the end says more. */
void glock__publish_where(char to[GLOCK__SEGMENT_WHERE], const char *where);

/* No place in the file. */
#define GLOCK__UNPUBLISHED 0u

/* Takes an empty file and its descriptor over, which it closes. NULL: it cannot be used. */
struct glock__publisher *glock__publisher_new(int fd, unsigned int cpus);
void glock__publisher_free(struct glock__publisher *p);
struct glock__segment_head *glock__publisher_head(struct glock__publisher *p);
/* As where records are to go. */
struct glock__mem *glock__publisher_mem(struct glock__publisher *p);

/* More of an area: zeroed, behind what it has already; NULL: it is full, or memory is. */
void *glock__publisher_grow(struct glock__publisher *p, enum glock__area area, size_t size);

/*
 * A place in an area of single records, numbered from 1; GLOCK__UNPUBLISHED: there is none. What
 * it held stays until it is written again; one that is put back is to be marked as free before.
 */
uint32_t glock__publisher_get(struct glock__publisher *p, enum glock__area area);
void glock__publisher_put(struct glock__publisher *p, enum glock__area area, uint32_t place);
void *glock__publisher_at(struct glock__publisher *p, enum glock__area area, uint32_t place);

/*
 * Around each change of a record. A read-modify-write first, since what follows must not be stored
 * before it.
 */
static inline void glock__publish_begin(uint32_t *seq)
{
	atom_begin32(seq);
}

static inline void glock__publish_end(uint32_t *seq)
{
	uint32_t now = *seq | 1; /* ours alone; whatever somebody else wrote there */

	atom_store32(seq, now + 1 ? now + 1 : 2);
}

#endif
