/* SPDX-License-Identifier: MIT */
/*
 * find.h - the hash table of a space, and the references to a glock.
 */
#ifndef GLOCK__FIND_H
#define GLOCK__FIND_H

#include "glock/core/internal.h"

/* Takes a pin away, perhaps the last reference; under gl->lock, which it drops. */
void glock__put_locked(struct glock *gl);
/* As glock_get(), but -ENOENT where there is none. */
int glock__get_there(struct glock_space *space, unsigned int type, uint64_t number,
		     struct glock **ret);
void glock__free(struct glock *gl);
/* Calls fn for each glock there is, with a reference and without locks. */
void glock__each(struct glock_space *space, void (*fn)(struct glock *gl, void *arg), void *arg);

/* The next glock in the table, NULL: the first or the last; under space->lock. */
struct glock *glock__next(struct glock_space *space, struct glock *gl);

#endif
