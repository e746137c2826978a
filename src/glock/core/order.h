/* SPDX-License-Identifier: MIT */
/*
 * order.h - checks the lock order. Does nothing without GLOCK_SPACE_CHECK_ORDER.
 */
#ifndef GLOCK__ORDER_H
#define GLOCK__ORDER_H

#include "internal.h"

/* Remembers the holder. Logs a request that is against the order, and returns -EDEADLK. */
int glock__order_check(struct glock *gl, struct glock__holder *gh);
void glock__order_forget(struct glock_space *space, struct glock__holder *gh);

#endif
