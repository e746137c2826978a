/* SPDX-License-Identifier: MIT */
/*
 * lru.h - the list of idle glocks.
 */
#ifndef GLOCK__LRU_H
#define GLOCK__LRU_H

#include "glock/core/internal.h"

/*
 * Returns the counter of idle glocks that the thread changes. A limit of their number needs their
 * sum after each change. Then one counter counts all.
 */
GLOCK__INLINE uint32_t *glock__idle_count_of(const struct glock *gl)
{
	struct glock_space *space = gl_space(gl);

	return space->lru.max ? &space->parts[0].idle
			      : &space->parts[glock__thread_number() % GLOCK__PARTS].idle;
}

/* Returns the number of idle glocks. The list may have other glocks, too. Only the sum counts. */
uint32_t glock__lru_count(struct glock_space *space);

/* Under gl->lock. The first call makes the glock idle, the second one puts it to use again. */
void glock__lru_add(struct glock *gl);
static inline void glock__lru_remove(struct glock *gl)
{
	if (!(gl->flags & GLOCK__F_LRU))
		return;
	gl->flags &= ~(uint32_t)GLOCK__F_LRU;
	atom_sub32(glock__idle_count_of(gl), 1);
}
/* Takes a glock that is about to be freed off the list. Under gl->lock. */
void glock__lru_unlink(struct glock *gl);
/* Demotes the glocks above the limits. Returns the time to look again, or INT64_MAX. */
int64_t glock__lru_trim(struct glock_space *space);
/*
 * Gives back up to n idle glocks, the least recently used first. Their locks are in that part of
 * the lock manager's memory. Returns their number.
 */
size_t glock__lru_give_back(struct glock_space *space, unsigned int part, size_t n);

#endif
