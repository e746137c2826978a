/* SPDX-License-Identifier: MIT */
/* rules.c - the rules by which a thread of the allocator gets a group. */
#include "allocator.h"

#include "glock-choose.h"
#include "glock/core/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MS 1000000ll

static int ask(struct thread *t, struct glock_holder *gh, size_t g, unsigned int flags)
{
	int err;

	glock__holder_init(gh, t->node->groups[g], GLOCK_EX, flags);
	err = glock_nq(gh);
	if (err && err != -EAGAIN) {
		fprintf(stderr, "choice: glock_nq: error %d\n", err);
		exit(1);
	}
	return err;
}

/*
 * Tries the groups in order, from `from` on. A round without success ends with a rest, because some
 * tries take no virtual time.
 */
static int try_in_order(struct thread *t, struct glock_holder *gh, size_t from)
{
	for (;;) {
		bool any = false;

		for (size_t k = 0; k < GROUPS; k++) {
			size_t g = (from + k) % GROUPS;

			if (!t->node->open_groups[g])
				continue;
			any = true;
			if (!ask(t, gh, g, GLOCK__TRY_NOQUEUE))
				return (int)g;
		}
		if (!any)
			return -1;
		allocator_sleep(USE_NS);
	}
}

static int blind(struct thread *t, struct glock_holder *gh)
{
	return try_in_order(t, gh, 0);
}

static int random_group(struct thread *t, struct glock_holder *gh)
{
	for (unsigned int tries = 1;; tries++) {
		size_t g = thread_random(t, GROUPS), k = 0;

		while (k < GROUPS && !t->node->open_groups[(g + k) % GROUPS])
			k++;
		if (k == GROUPS)
			return -1;
		g = (g + k) % GROUPS;
		if (!ask(t, gh, g, GLOCK__TRY_NOQUEUE))
			return (int)g;
		if (tries % GROUPS == 0)
			allocator_sleep(USE_NS);
	}
}

static int round_robin(struct thread *t, struct glock_holder *gh)
{
	return try_in_order(t, gh, t->last + 1);
}

static int sticky(struct thread *t, struct glock_holder *gh)
{
	return try_in_order(t, gh, t->last);
}

/* ---- GFS2 ---- */

/* gfs2_rgrp_congested(), with its units: a square of ns is compared with ns. */
static bool gfs2_congested(const struct thread *t, const struct glock *gl, int loops)
{
	const struct glock__stats *s = &gl_record(gl)->stats;
	struct glock__stats type =
	    glock__type_stats_read(&t->node->space->type_stats, GLOCK_RGRP, 0);
	int64_t diff = type.v[GLOCK__SRTTB] - s->v[GLOCK__SRTTB];
	int64_t var = type.v[GLOCK__SRTTVARB] + s->v[GLOCK__SRTTVARB];

	if (s->v[GLOCK__DCOUNT] < 1 || type.v[GLOCK__DCOUNT] < 1 || !type.v[GLOCK__SRTTB])
		return false;
	var *= 2;
	if (s->v[GLOCK__DCOUNT] < 8 || type.v[GLOCK__DCOUNT] < 8)
		var *= 2;
	if (loops == 1)
		var *= 2;
	return diff < 0 && diff * diff > var;
}

/* gfs2_rgrp_used_recently(), which tells the opposite of its name. */
static bool gfs2_used_recently(const struct glock *gl)
{
	return allocator_now() - gl_record(gl)->stamp > 1000 * MS;
}

/* Tells whether the glock is cached and has no holder and no demand. */
static bool gfs2_fast_to_acquire(struct glock *gl)
{
	struct glock_forecast f = {.size = sizeof(f)};

	return !glock_forecast(gl, GLOCK_EX, &f) && f.place == GLOCK_PLACE_FREE;
}

/* The loop of gfs2_inplace_reserve(), without reservations. */
static int gfs2(struct thread *t, struct glock_holder *gh)
{
	size_t begin = t->last;
	bool any = true;

	while (any) {
		any = false;
		for (int loops = 0; loops < 3; loops++) {
			for (size_t k = 0; k < GROUPS; k++) {
				size_t g = (begin + k) % GROUPS;
				struct glock *gl = t->node->open_groups[g];

				if (!gl)
					continue;
				any = true;
				if (loops == 0 && !gfs2_fast_to_acquire(gl))
					continue;
				if (loops < 2 && gfs2_used_recently(gl) &&
				    gfs2_congested(t, gl, loops))
					continue;
				ask(t, gh, g, 0);
				if (loops == 2 || !gfs2_congested(t, gl, loops))
					return (int)g;
				glock_dq(gh);
			}
		}
	}
	return -1;
}

/* ---- the library's rule ---- */

/* Waits for a group, but not for ever: its holder may keep the group. */
static int wait_a_while(struct thread *t, struct glock_holder *gh, size_t g)
{
	int err = ask(t, gh, g, GLOCK_ASYNC);

	if (!err)
		err = glock_wait(gh, allocator_now() + 50 * MS, 0);
	if (err)
		glock_dq(gh);
	return err;
}

static int chosen(struct thread *t, struct glock_holder *gh)
{
	struct glock **groups = t->node->open_groups;

	for (;;) {
		int g = glock_choose(GROUPS, groups, GLOCK_EX, GLOCK_CHOOSE_TRY);

		if (g >= 0 && !ask(t, gh, (size_t)g, GLOCK__TRY_NOQUEUE))
			return g;
		if (g >= 0)
			continue;
		if (g == -EAGAIN)
			g = glock_choose(GROUPS, groups, GLOCK_EX, 0);
		if (g < 0)
			return -1;
		if (!wait_a_while(t, gh, (size_t)g))
			return g;
	}
}

const struct rule rules[] = {
    {"blind", blind},   {"random", random_group}, {"round robin", round_robin},
    {"sticky", sticky}, {"GFS2", gfs2},           {"choose", chosen},
};
const size_t n_rules = sizeof(rules) / sizeof(*rules);
