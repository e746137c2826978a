/* SPDX-License-Identifier: MIT */
/*
 * exit.c - logs that the process exits without glock_space_close().
 *
 * Dirty data of a lock in EX is lost then. The handler of atexit() runs in exit() and after a
 * return from main(). It does not run after _exit(), quick_exit(), exec or a signal, nor in
 * dlclose(), because the library stays loaded. In a child process after fork it skips the spaces of
 * the parent.
 */
#include "open.h"

#include "glock/base/lock.h"
#include "glock/base/tls.h"
#include "glock/core/internal.h"
#include "glock/core/space.h"
#include "glock/state/find.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct glock__lock exit_lock;
static struct glock__list opened = {&opened, &opened};
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;

/* Tells whether the cache of the glock may be dirty, and a type's operation could write it. */
static bool may_be_dirty(struct glock *gl)
{
	const struct glock__type *t = gl_type(gl);
	bool dirty;

	if (!t->ops.xmote_th)
		return false;
	glock__lock_take(&gl->lock);
	dirty = gl->state == GLOCK_EX && !glock__lock_is_lost(gl) &&
		glock__type_cache_change(t->info.caches, gl->state, GLOCK_UN).sync;
	glock__lock_drop(&gl->lock);
	return dirty;
}

static void exit_report(struct glock_space *space)
{
	struct glock *gl = NULL;
	size_t n = 0;

	if (!space->log || space->generation != glock__generation())
		return;
	glock__lock_take(&space->lock);
	while ((gl = glock__next(space, gl)))
		n += may_be_dirty(gl);
	glock__lock_drop(&space->lock);
	if (n)
		glock__log(space,
			   "space %s: the process exits without glock_space_close(): %zu lock%s in "
			   "EX %s not written back; close the space before exit",
			   space->name, n, n > 1 ? "s" : "", n > 1 ? "were" : "was");
}

static void exit_handler(void)
{
	/* No space of this process; or exit() in an operation, under the lock of a glock. */
	if (!glock__generation() || glock__tls()->id.spinlocked)
		return;
	glock__lock_take(&exit_lock);
	for (struct glock__list *l = opened.next; l != &opened; l = l->next)
		exit_report(glock__entry(l, struct glock_space, opened));
	glock__lock_drop(&exit_lock);
}

static void exit_watch(void)
{
	(void)atexit(exit_handler); /* without memory there is no message */
}

void glock__exit_add(struct glock_space *space)
{
	pthread_once(&exit_once, exit_watch);
	glock__lock_take(&exit_lock);
	glock__list_add(&opened, &space->opened);
	glock__lock_drop(&exit_lock);
}

void glock__exit_remove(struct glock_space *space)
{
	glock__lock_take(&exit_lock);
	glock__list_del(&space->opened);
	glock__lock_drop(&exit_lock);
}

void glock__exit_forked(void)
{
	/* Another thread of the parent may have had the lock at the fork. */
	memset(&exit_lock, 0, sizeof(exit_lock));
	glock__list_init(&opened);
}
