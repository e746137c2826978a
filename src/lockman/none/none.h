/* SPDX-License-Identifier: MIT */
/*
 * none.h - the lock manager of a process that shares with no other process.
 */
#ifndef GLOCK__NONE_H
#define GLOCK__NONE_H

#include "lockman/lockman.h"

/* Returns a new lock manager, or NULL without memory. */
struct glock__lockman *glock__none_new(void);

#endif
