/* SPDX-License-Identifier: MIT */
/*
 * notifier.c - the calls of a program for a notifier; notify.c has the list behind them.
 */
#include "glock/core/notify.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

int glock_notifier_open(struct glock_notifier **ret)
{
	struct glock_notifier *n;
	int err;

	if (!glock__generation())
		return -ECHILD;
	n = calloc(1, sizeof(*n));
	if (!n)
		return -ENOMEM;
	n->generation = glock__generation();
	glock__list_init(&n->finished);
	n->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (n->fd < 0) {
		err = -errno;
		free(n);
		return err;
	}
	*ret = n;
	return 0;
}

/* Each function does this first. A child has the fd of its parent, and must not read it. */
static int notifier_check(const struct glock_notifier *n)
{
	return n->generation == glock__generation() ? 0 : -ECHILD;
}

int glock_notifier_close(struct glock_notifier *n)
{
	GLOCK__NO_CANCEL;
	int err = notifier_check(n);
	uint32_t waiting;

	if (err)
		return err;
	glock__lock_take(&n->lock);
	waiting = n->waiting;
	glock__lock_drop(&n->lock);
	if (waiting)
		return -EBUSY;
	while (glock__notify_take(n))
		;
	close(n->fd);
	free(n);
	return 0;
}

int glock_notifier_fd(const struct glock_notifier *n)
{
	int err = notifier_check(n);

	return err ? err : n->fd;
}

int glock_notifier_next(struct glock_notifier *n, struct glock_holder **holder)
{
	int err = notifier_check(n);
	struct glock__holder *gh;

	if (err)
		return err;
	gh = glock__notify_take(n);
	if (!gh)
		return 0;
	*holder = public_of(gh);
	return 1;
}

void glock_holder_notify(struct glock_holder *pub, struct glock_notifier *n, int64_t deadline)
{
	struct glock__holder *gh = gh_of(pub);

	gh->notifier = n;
	gh->deadline = !n ? 0 : deadline < 0 ? 1 : deadline; /* negative: in the past */
	gh->flags = (gh->flags & ~GLOCK__NOTIFIES) | (n ? GLOCK__NOTIFIES : 0);
}
