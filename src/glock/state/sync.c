/* SPDX-License-Identifier: MIT */
/*
 * sync.c - writes dirty caches back, and keeps the locks.
 *
 * glock_sync() runs xmote_th on the calling thread, with the mode that the glock has. The bit lock
 * keeps every change of state and every other operation away meanwhile. Holders stay. New requests
 * wait in the queue, because no thread grants while the bit lock is set.
 *
 * Two callers wait for the bit lock. glock_sync() waits for an operation or a change that goes on.
 * glock_dq() waits for a write-back, if the type has unlock. Both sleep on b->demotes_done, and
 * glock__bit_lock_free() wakes them.
 */
#include "queue.h"

#include "busy.h"
#include "cache.h"
#include "find.h"
#include "work.h"

#include <errno.h>

/* Sleeps until the bit lock was cleared once. Drops gl->lock meanwhile. */
static void sleep_on_bit_lock(struct glock *gl)
{
	struct glock__busy *b = gl_busy(gl);
	uint32_t seen = atom_load32(&b->demotes_done);

	glock__pin(gl); /* keeps the busy part */
	b->awaited++;
	gl_unlock(gl);
	glock__poll_end(gl_space(gl)); /* the wait may take long */
	glock__wait(gl_space(gl), &b->demotes_done, seen, 0);
	if (glock__tls()->deferred.gl == gl)
		glock__poll_begin(gl_space(gl));
	gl_lock(gl);
	b->awaited--;
	glock__unpin(gl);
}

bool glock__await_bit_lock(struct glock *gl)
{
	if (gl->flags & GLOCK__F_LOCK && glock__in_work())
		return false;
	while (gl->flags & GLOCK__F_LOCK)
		sleep_on_bit_lock(gl);
	return true;
}

/* Returns what may be dirty now, as GLOCK_CACHES_ bits. */
static unsigned int may_be_dirty(const struct glock *gl)
{
	unsigned int caches = gl_type(gl)->info.caches;

	if (!gl_type(gl)->ops.xmote_th)
		return 0;
	return glock__type_cache_change(caches, gl->state, GLOCK_UN).sync >> 2;
}

/*
 * Under gl->lock. The lock stays, and so does the cache: only its dirty part is written. With the
 * bit lock the word closes when gl->lock is dropped.
 */
static int write_back(struct glock *gl, unsigned int sync)
{
	int err;

	gl->flags |= GLOCK__F_LOCK;
	glock__enter_work(); /* other threads wait for each operation, on any thread */
	err = glock__op_xmote_th(gl, (enum glock_mode)gl->state, sync);
	glock__leave_work();
	glock__writes_no_more(gl);
	glock__clear_lock(gl);
	glock__run_queue(gl, true);
	return err;
}

static int sync_one(struct glock *gl)
{
	GLOCK__NO_CANCEL;
	unsigned int sync;
	bool idle;
	int err = 0;

	gl_lock(gl);
	for (;;) {
		sync = may_be_dirty(gl);
		if (glock__lock_is_lost(gl))
			err = -EIO;
		else if (sync && gl->flags & GLOCK__F_LOCK && glock__in_work())
			err = -EDEADLK;
		if (err || !sync || !(gl->flags & GLOCK__F_LOCK))
			break;
		sleep_on_bit_lock(gl);
	}
	if (!err && sync)
		err = write_back(gl, sync);
	idle = glock__now_idle(gl); /* the last holder may have gone meanwhile */
	gl_unlock(gl);
	if (idle)
		gl_space(gl)->lm->ops->idle(gl_space(gl)->lm, &gl->lk);
	return err;
}

int glock_sync(struct glock *gl)
{
	int err = glock__check(gl_space(gl), "glock_sync");

	return err ? err : sync_one(gl);
}

static void sync_next(struct glock *gl, void *first)
{
	int *err = first, one = sync_one(gl);

	if (!*err)
		*err = one;
}

int glock_space_sync(struct glock_space *space)
{
	int err = glock__check(space, "glock_space_sync"), first = 0;

	if (err)
		return err;
	glock__each(space, sync_next, &first);
	return first;
}
