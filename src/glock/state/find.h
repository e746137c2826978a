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
int glock__get_there(struct glock_space *space, unsigned int type, uint64_t number,
		     struct glock **ret);
/* Frees a dead glock, whose lock the lock manager has taken back. */
void glock__free(struct glock *gl);
/* Calls fn for each glock, with a reference and without a lock. */
void glock__each(struct glock_space *space, void (*fn)(struct glock *gl, void *arg), void *arg);

/* Returns the glock after gl in the table, NULL after the last one. Under space->lock. */
struct glock *glock__next(struct glock_space *space, struct glock *gl);

#endif
