/* SPDX-License-Identifier: MIT */
/*
 * many.c - several locks at once: in order, or in any order with time-outs.
 *
 * Two owners that take the same locks in different orders wait for each other. glock_nq_m() avoids
 * that deadlock by taking locks in the order of their numbers. glock_async_wait() ends the deadlock
 * by letting all locks go after a time. Its time limit and the pause after it grow with every
 * retry. They are random, so that the same owners do not collide again.
 */
#include "glock/state/work.h"

#include "glock/fast/fast.h"

#include <errno.h>
#include <stdlib.h>

enum { ON_STACK = 16 };

/* ns */
#define FIRST_TIME 10000000ll
#define MORE_TIME 50000000ll
#define LONGEST_TIME 10000000000ll

static int by_number(const void *a, const void *b)
{
	const struct glock *x = glock_of(*(struct glock_holder *const *)a);
	const struct glock *y = glock_of(*(struct glock_holder *const *)b);

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (x->type > y->type) - (x->type < y->type);
}

static int nq_sorted(size_t n, struct glock_holder **sorted, const char *where)
{
	for (size_t i = 1; i < n; i++)
		if (glock_of(sorted[i]) == glock_of(sorted[i - 1]))
			return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		int err = glock_nq_at(sorted[i], where);

		if (!err)
			continue;
		while (i--)
			glock__dq_unseen(sorted[i]);
		return err;
	}
	return 0;
}

int glock_nq_m_at(size_t n, struct glock_holder *ghs, const char *where)
{
	struct glock_holder *on_stack[ON_STACK], **sorted = on_stack;
	int err;

	for (size_t i = 0; i < n; i++)
		if (!glock_of(&ghs[i]) || gh_of(&ghs[i])->flags & GLOCK_ASYNC)
			return -EINVAL;
	if (n > ON_STACK)
		sorted = malloc(n * sizeof(struct glock_holder *));
	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		sorted[i] = &ghs[i];
	qsort(sorted, n, sizeof(struct glock_holder *), by_number);
	err = nq_sorted(n, sorted, where);
	if (sorted != on_stack)
		free(sorted);
	return err;
}

void glock_dq_m(size_t n, struct glock_holder *ghs)
{
	while (n--)
		glock_dq(&ghs[n]);
}

/* Lets all of them go. The program does not hold any of them, because it never had all of them. */
static void many_dq_unseen(size_t n, struct glock_holder *ghs)
{
	while (n--)
		glock__dq_unseen(&ghs[n]);
}

/* Sets how long this retry waits, and how long it pauses after that. */
static void allowance(struct glock_space *space, unsigned int retries, int64_t *wait,
		      int64_t *pause)
{
	int64_t more = MORE_TIME, dice;

	*wait = FIRST_TIME;
	*pause = 0;
	for (unsigned int i = 1; i < retries && more < LONGEST_TIME; i++)
		more *= 2;
	if (more > LONGEST_TIME - FIRST_TIME)
		more = LONGEST_TIME - FIRST_TIME;
	dice = (int64_t)space->env.random(space->env.arg);
	*pause = dice % (more / 3);
	if (!retries)
		return;
	dice = (int64_t)space->env.random(space->env.arg);
	*wait += more / 3 + dice % (more / 3);
}

/* Waits until the deadline. */
static void pause_until(struct glock_space *space, int64_t deadline)
{
	uint32_t never = 0;

	while (glock__now(space) < deadline)
		glock__wait(space, &never, 0, deadline);
}

int glock_async_wait(size_t n, struct glock_holder *ghs, unsigned int retries)
{
	struct glock_space *space;
	int64_t wait, pause, deadline;
	int err = 0;

	if (!n)
		return 0;
	for (size_t i = 0; i < n && !err; i++)
		err = glock_of(&ghs[i]) ? 0 : -EINVAL;
	if (err) {
		many_dq_unseen(n, ghs); /* as with any error */
		return err;
	}
	space = gl_space(glock_of(&ghs[0]));
	allowance(space, retries, &wait, &pause);
	deadline = glock__now(space) + wait;
	for (size_t i = 0; i < n && !err; i++)
		err = glock_wait(&ghs[i], deadline, 0);
	if (!err)
		return 0;
	many_dq_unseen(n, ghs);
	if (err != -ETIMEDOUT)
		return err;
	pause_until(space, glock__now(space) + pause);
	return -ESTALE;
}
