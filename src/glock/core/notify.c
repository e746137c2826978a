/* SPDX-License-Identifier: MIT */
/*
 * notify.c - puts finished requests on the list of their notifier.
 */
#include "notify.h"

#include <assert.h>
#include <unistd.h>

/* ---- the list and the fd, under notifier->lock ---- */

/* Makes the fd readable. The counter of the eventfd is 0, so the write cannot block. */
static void notify_raise(const struct glock_notifier *n)
{
	GLOCK__NO_CANCEL;
	const uint64_t one = 1;
	ssize_t wrote = write(n->fd, &one, sizeof(one));

	(void)wrote; /* fails only if the program closed the fd, which belongs to the library */
}

/* Makes the fd unreadable, if the list is empty now. */
static void notify_lower(const struct glock_notifier *n)
{
	GLOCK__NO_CANCEL;
	uint64_t count;
	ssize_t was;

	if (!glock__list_empty(&n->finished))
		return;
	was = read(n->fd, &count, sizeof(count));
	(void)was;
}

/* Ends the present state of the request. */
static void notify_leave(struct glock_notifier *n, struct glock__holder *gh)
{
	if (gh->notify == GLOCK__NOTIFY_WAITING)
		n->waiting--;
	if (gh->notify == GLOCK__NOTIFY_FINISHED) {
		glock__list_del(&gh->finished);
		notify_lower(n);
	}
	atom_store32(&gh->notify, GLOCK__NOTIFY_NONE);
}

/* ---- requests ---- */

void glock__notify_begin(struct glock__holder *gh)
{
	struct glock_notifier *n = gh->notifier;

	glock__lock_take(&n->lock);
	notify_leave(n, gh); /* the program did not read that an earlier request failed */
	atom_store32(&gh->notify, GLOCK__NOTIFY_WAITING);
	n->waiting++;
	glock__lock_drop(&n->lock);
}

void glock__notify_finish(struct glock__holder *gh, uint32_t state)
{
	struct glock_notifier *n = gh->notifier;

	glock__lock_take(&n->lock);
	assert(gh->notify == GLOCK__NOTIFY_WAITING);
	notify_leave(n, gh);
	atom_store32(&gh->notify, GLOCK__NOTIFY_FINISHED);
	if (glock__list_empty(&n->finished))
		notify_raise(n);
	glock__list_add(&n->finished, &gh->finished);
	atom_store32(&gh->state, state);
	glock__lock_drop(&n->lock);
}

void glock__notify_end(struct glock__holder *gh)
{
	struct glock_notifier *n = gh->notifier;

	/* The program may have closed the notifier since it read the notification. */
	if (atom_load32(&gh->notify) == GLOCK__NOTIFY_NONE)
		return;
	glock__lock_take(&n->lock);
	notify_leave(n, gh);
	glock__lock_drop(&n->lock);
}

struct glock__holder *glock__notify_take(struct glock_notifier *n)
{
	struct glock__holder *gh = NULL;

	glock__lock_take(&n->lock);
	if (!glock__list_empty(&n->finished)) {
		gh = glock__entry(n->finished.next, struct glock__holder, finished);
		notify_leave(n, gh);
	}
	glock__lock_drop(&n->lock);
	return gh;
}
