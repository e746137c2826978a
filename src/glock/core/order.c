/* SPDX-License-Identifier: MIT */
/*
 * order.c - checks the order in which locks are taken.
 *
 * Among the holders and waiters of one owner, glocks of a type with a lower place must come first.
 * For some types, glocks with lower numbers must come first.
 *
 * The check helps to find mistakes. It needs a list of all holders of the space, under one lock.
 * Therefore only spaces with GLOCK_SPACE_CHECK_ORDER have it.
 *
 * A try cannot deadlock, and neither can an asynchronous request that is given up in time. They are
 * not checked, but later requests are checked against the locks that they got.
 */
#include "notify.h"

#include "space.h"

#include <errno.h>

#define UNCHECKED (GLOCK__TRIES | GLOCK_NOBLOCK | GLOCK_ASYNC)

static bool wrong_order(const struct glock *held, const struct glock *wanted)
{
	unsigned int before = glock__type_order(&gl_type(held)->info, held->type, held->number);
	unsigned int place =
	    glock__type_order(&gl_type(wanted)->info, wanted->type, wanted->number);

	if (!before || !place)
		return false;
	if (before != place)
		return before > place;
	return wanted->type == held->type && gl_type(wanted)->info.by_number &&
	       held->number > wanted->number;
}

int glock__order_check(struct glock *gl, struct glock__holder *gh)
{
	struct glock_space *space = gl_space(gl);
	struct glock__holder *other = NULL;

	if (!(space->flags & GLOCK_SPACE_CHECK_ORDER) || gh->flags & GLOCK_NOPID)
		return 0;
	glock__lock_take(&space->order.lock);
	for (struct glock__list *l = space->order.holders.next; l != &space->order.holders;
	     l = l->next) {
		other = glock__entry(l, struct glock__holder, order);
		if (other->owner == gh->owner && !((other->flags ^ gh->flags) & GLOCK__OWNED) &&
		    !(gh->flags & UNCHECKED) && wrong_order(other->gl, gl))
			break;
		other = NULL;
	}
	if (other)
		glock__log(space,
			   "glock %u:%" PRIu64 " at %s: the owner has taken %u:%" PRIu64
			   " at %s, which comes later in the lock order; take that one later",
			   gl->type, gl->number, gh->where, other->gl->type, other->gl->number,
			   other->where);
	else
		glock__list_add(&space->order.holders, &gh->order);
	glock__lock_drop(&space->order.lock);
	return other ? -EDEADLK : 0;
}

void glock__order_forget(struct glock_space *space, struct glock__holder *gh)
{
	if (!(space->flags & GLOCK_SPACE_CHECK_ORDER))
		return;
	glock__lock_take(&space->order.lock);
	glock__list_del(&gh->order);
	glock__lock_drop(&space->order.lock);
}
