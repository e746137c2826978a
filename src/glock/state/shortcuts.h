/* SPDX-License-Identifier: MIT */
/*
 * shortcuts.h - the ways past the queue and the work.
 */
#ifndef GLOCK__SHORTCUTS_H
#define GLOCK__SHORTCUTS_H

#include "glock/core/internal.h"

/*
 * The usual miss, which the queue and its work would come to as well: nobody has the glock, nothing
 * of it is cached, and one wants it who has just been queued by a thread that does the work
 * (inline_work.c). Drops and retakes the lock. False: it is another one, and nothing was done.
 */
bool glock__miss(struct glock *gl, struct glock__holder *gh);

#endif
