/* SPDX-License-Identifier: MIT */
/*
 * referenced.h - names the glocks that keep a space from being closed.
 */
#ifndef GLOCK__REFERENCED_H
#define GLOCK__REFERENCED_H

#include "glock/core/internal.h"

/* Logs the glocks to which the program has references, with the call sites. */
GLOCK__COLD void glock__log_referenced(struct glock_space *space);

#endif
