/* SPDX-License-Identifier: MIT */
/*
 * find.h - the glocks of a space, and the references to a glock.
 */
#ifndef GLOCK__FIND_H
#define GLOCK__FIND_H

#include "glock/core/internal.h"

/* Drops a pin, which may be the last reference. Under gl->lock, which it drops. */
void glock__put_locked(struct glock *gl);
/* As glock_get(), but returns -ENOENT if the glock does not exist. */
/* The glock of a lock by file path. */
int glock__get_path(struct glock_space *space, uint64_t number, struct glock **ret,
		    const char *where);
int glock__get_there(struct glock_space *space, unsigned int type, uint64_t number,
		     struct glock **ret);
/* Frees a dead glock, whose lock the lock manager has taken back. */
void glock__free(struct glock *gl);
/* Calls fn for each glock, with a reference and without a lock. */
void glock__each(struct glock_space *space, void (*fn)(struct glock *gl, void *arg), void *arg);

/* Returns the glock after gl in the table, NULL after the last one. Under space->lock. */
struct glock *glock__next(struct glock_space *space, struct glock *gl);

/* ---- lru.c: idle glocks ---- */

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

/* ---- lru.c: the lock manager is short of memory ---- */

/* The event give_back of the lock manager. */
void glock__on_give_back(void *owner, uint32_t parts);
/* Gives back what that event asked for. The work calls it. */
void glock__give_back(struct glock_space *space);
/*
 * The lock manager refused a request for lack of memory. Returns the time in ns after which the
 * request is made again; 0: the request has failed. Under gl->lock, with the bit lock and a pin.
 * Drops the lock and takes it again.
 */
int64_t glock__room_delay(struct glock *gl);

#endif
