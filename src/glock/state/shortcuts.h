/* SPDX-License-Identifier: MIT */
/*
 * shortcuts.h - ways past the queue and the work. The caller has gl->lock.
 *
 * A shortcut returns NULL or false where it does not apply; it has changed nothing then. Built with
 * GLOCK_SHORTCUTS=0 (meson setup -Dshortcuts=false), no shortcut ever applies.
 */
#ifndef GLOCK__SHORTCUTS_H
#define GLOCK__SHORTCUTS_H

#include "glock/core/internal.h"

#ifndef GLOCK_SHORTCUTS
#define GLOCK_SHORTCUTS 1
#endif

#if GLOCK_SHORTCUTS
/* Returns the only waiter if its mode needs a change of state that may begin now, or NULL. */
struct glock__holder *glock__lone_miss(struct glock *gl);
/* Returns true if the glock has one granted holder and a run of the queue would change nothing. */
bool glock__is_at_rest(struct glock *gl);
/*
 * Asks the lock manager for a holder that was just queued, and grants it if the answer comes at
 * once. The calling thread runs the work of the glock inline. Drops and retakes the lock.
 */
bool glock__miss(struct glock *gl, struct glock__holder *gh);
#else
static inline struct glock__holder *glock__lone_miss(struct glock *gl)
{
	(void)gl;
	return NULL;
}

static inline bool glock__is_at_rest(struct glock *gl)
{
	(void)gl;
	return false;
}

static inline bool glock__miss(struct glock *gl, struct glock__holder *gh)
{
	(void)gl, (void)gh;
	return false;
}
#endif

#ifdef GLOCK_ATOM_HOOKS
/* Counts how often each shortcut was taken. A test that compares both builds must see them all. */
enum glock__shortcut {
	GLOCK__LONE_MISS,
	GLOCK__AT_REST,
	GLOCK__MISS,
	GLOCK__GRANT_ALONE,
	GLOCK__SHORTCUT_MAX,
};
extern unsigned long glock__shortcuts_taken[GLOCK__SHORTCUT_MAX];
#endif

#endif
