/* SPDX-License-Identifier: MIT */
/*
 * none.c - the lock manager of a process that shares with no other process.
 *
 * It grants each request at once. The same state machine runs above it, so that a program behaves
 * as with other nodes. The only difference is that no demand ever comes. Value blocks live in the
 * lock itself, with no value until one is written.
 */
#include "lockman/lockman.h"

#include <stdlib.h>

static int none_lock(struct glock__lockman *lm, struct glock__lm_lock *lk, unsigned int type,
		     uint64_t number, int mode, uint32_t flags)
{
	(void)type, (void)number, (void)mode, (void)flags;
	lk->id = 1;
	lm->events->reply(lk, 0, 0);
	return 0;
}

static bool none_cancel(struct glock__lockman *lm, struct glock__lm_lock *lk)
{
	(void)lm, (void)lk; /* the lock was granted already */
	return true;
}

static void none_unlock(struct glock__lockman *lm, struct glock__lm_lock *lk)
{
	lm->events->reply(lk, -GLOCK__DLM_EUNLOCK, 0);
}

static void none_leave(struct glock__lockman *lm, bool lost)
{
	(void)lm, (void)lost;
}

static void none_free(struct glock__lockman *lm)
{
	free(lm);
}

static const struct glock__lm_ops none_ops = {
    .name = "none",
    .lock = none_lock,
    .cancel = none_cancel,
    .unlock = none_unlock,
    .leave = none_leave,
    .free = none_free,
};

struct glock__lockman *glock__none_new(void)
{
	struct glock__lockman *lm = calloc(1, sizeof(*lm));

	if (lm)
		lm->ops = &none_ops;
	return lm;
}
