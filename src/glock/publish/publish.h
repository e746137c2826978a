/* SPDX-License-Identifier: MIT */
/*
 * publish.h - writes the segment of this node: the file that segment.h describes.
 *
 * Publishing is optional. If the file is full or missing, a glock or holder without room is not
 * published. The glocks work all the same.
 *
 * Locking. A place in the file belongs to one glock or holder, and is written under gl->lock. The
 * lists of free places have a lock of their own, taken inside.
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

/* Copies the text of a call site. Of a path that is too long, the end is kept. */
void glock__publish_where(char to[GLOCK__SEGMENT_WHERE], const char *where);

/* No place in the file. */
#define GLOCK__UNPUBLISHED 0u

/*
 * Takes over an empty file and its descriptor, and closes the descriptor. Returns NULL if the file
 * cannot be used.
 */
struct glock__publisher *glock__publisher_new(int fd, unsigned int cpus);
void glock__publisher_free(struct glock__publisher *p);
struct glock__segment_head *glock__publisher_head(struct glock__publisher *p);
/* Returns the publisher as memory for records. */
struct glock__mem *glock__publisher_mem(struct glock__publisher *p);

/* Grows an area by size zeroed bytes at its end. Returns NULL if the area or the memory is full. */
void *glock__publisher_grow(struct glock__publisher *p, enum glock__area area, size_t size);

/*
 * Gets and puts back a place in an area of single records. Places are numbered from 1. Returns
 * GLOCK__UNPUBLISHED without a free place. A place keeps its old contents until the next write.
 * Mark a place as free before you put it back.
 */
uint32_t glock__publisher_get(struct glock__publisher *p, enum glock__area area);
void glock__publisher_put(struct glock__publisher *p, enum glock__area area, uint32_t place);
void *glock__publisher_at(struct glock__publisher *p, enum glock__area area, uint32_t place);

/*
 * Called around each change of a record. Later stores do not pass the begin.
 */
static inline void glock__publish_begin(uint32_t *seq)
{
	atom_begin32(seq);
}

static inline void glock__publish_end(uint32_t *seq)
{
	uint32_t now = *seq | 1; /* another process may write here, but only this one counts */

	atom_store32(seq, now + 1 ? now + 1 : 2);
}

#endif
