/* SPDX-License-Identifier: MIT */
/*
 * lru.h - the list of idle glocks.
 */
#ifndef GLOCK__LRU_H
#define GLOCK__LRU_H

#include "glock/core/internal.h"

/* It is idle from now on; or is not any more; both under gl->lock. */
void glock__lru_add(struct glock *gl);
static inline void glock__lru_remove(struct glock *gl)
{
	if (!(gl->flags & GLOCK__F_LRU))
		return;
	gl->flags &= ~(uint32_t)GLOCK__F_LRU;
	atom_sub32(&gl_space(gl)->lru.n, 1);
}
void glock__lru_unlink(struct glock *gl); /* off the list, before it is freed; under gl->lock */
/* Gives back what is too much or too old; when to look again, or INT64_MAX. */
int64_t glock__lru_trim(struct glock_space *space);

#endif
