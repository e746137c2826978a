/* SPDX-License-Identifier: MIT */
/* sync.h - waits for the bit lock, for the few callers that do; see sync.c. */
#ifndef GLOCK__SYNC_H
#define GLOCK__SYNC_H

#include "work.h"

/*
 * Waits until no thread has the bit lock. Called under gl->lock, which it drops meanwhile, for a
 * glock with a holder or a reference. Returns false at once in an operation, because the thread
 * could wait for itself.
 */
bool glock__await_bit_lock(struct glock *gl);

/* Wakes the threads that wait for the bit lock. Under gl->lock, after the bit was cleared. */
GLOCK__INLINE void glock__bit_lock_free(struct glock *gl)
{
	struct glock__busy *b = gl_busy(gl);

	if (!b->awaited)
		return;
	atom_add32(&b->demotes_done, 1);
	glock__wake(gl_space(gl), &b->demotes_done);
}

#endif
