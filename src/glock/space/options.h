/* SPDX-License-Identifier: MIT */
/*
 * options.h - checks the options of a space, and takes them into the space.
 */
#ifndef GLOCK__OPTIONS_H
#define GLOCK__OPTIONS_H

#include "glock/core/space.h"

/*
 * Sets name, log, limits and types of a new space. Returns 0, or -EINVAL with a message: see
 * glock_space_open().
 */
int glock__options_take(struct glock_space *space, const char *name,
			const struct glock_space_options *o);

#endif
