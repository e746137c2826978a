/* SPDX-License-Identifier: MIT */
/*
 * publish.c - what other processes can see of this node without its help.
 */
#include "impl.h"

#include <errno.h>

int glock__alive_fd(struct glock_space *space)
{
	const struct glock__lm_ops *ops = space->lm->ops;

	return ops->alive ? ops->alive(space->lm) : -EOPNOTSUPP;
}
