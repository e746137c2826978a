/* SPDX-License-Identifier: MIT */
/*
 * pressure.h - the lock manager is short of memory.
 */
#ifndef GLOCK__PRESSURE_H
#define GLOCK__PRESSURE_H

#include "glock/core/internal.h"

/* The event give_back of the lock manager. */
void glock__on_give_back(void *owner, uint32_t parts);
/* Gives back what that event asked for. The work calls it. */
void glock__give_back(struct glock_space *space);
/*
 * The lock manager refused a request for lack of memory. Returns true if the request is made again
 * soon: then the bit lock is cleared, and the work is queued. Returns false if the request has
 * failed. Under gl->lock, with the bit lock and a pin. Drops the lock and takes it again.
 */
bool glock__wait_for_room(struct glock *gl);

#endif
