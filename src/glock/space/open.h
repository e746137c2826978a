/* SPDX-License-Identifier: MIT */
/*
 * open.h - opens a space with a given lock manager.
 */
#ifndef GLOCK__OPEN_H
#define GLOCK__OPEN_H

#include "glock/core/space.h"

/* As glock_space_open(), with given seams and a given lock manager, which the space then owns. */
int glock__space_open(const char *name, const struct glock_space_options *options,
		      struct glock__lockman *lm, const struct glock__env *env,
		      struct glock_space **space);
#ifdef GLOCK_ATOM_HOOKS
/* For the simulator: opens a space in place of all lock managers, and hears that it was closed. */
extern int (*glock__sim_open_hook)(const char *name, const struct glock_space_options *options,
				   struct glock_space **space);
extern void (*glock__sim_close_hook)(const struct glock_space *space);
#endif
/* Frees the space without a message to other nodes, as the death of the node would. */
void glock__space_kill(struct glock_space *space);

#endif
