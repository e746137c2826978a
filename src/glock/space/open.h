/* SPDX-License-Identifier: MIT */
/*
 * open.h - opens a space with a given lock manager.
 */
#ifndef GLOCK__OPEN_H
#define GLOCK__OPEN_H

#include "glock/core/space.h"

/* As glock_space_open(), with a lock manager and seams given. The space then owns the former. */
int glock__space_open(const char *name, const struct glock_space_options *options,
		      struct glock__lockman *lm, const struct glock__env *env,
		      struct glock_space **space);
/* Frees it all at once, as a node's death does: nobody is told. */
void glock__space_kill(struct glock_space *space);

#endif
