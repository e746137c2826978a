/* SPDX-License-Identifier: MIT */
/*
 * hang.c - tells a hang from traffic.
 */
#include "rank.h"

/* A shorter wait is traffic. */
#define LONG_WAIT_S 1.0
/* A wait that makes a row a hang although the row is acquired all the time. */
#define HANG_BESIDE_TRAFFIC_S 5.0
#define TRAFFIC_PER_S 1.0
#define MOST 0.8
enum { FEW_WAITS = 3 };

bool waited_long(const struct change *c)
{
	return c->longest_s >= (c->estimated_longest ? 2 : 1) * LONG_WAIT_S;
}

bool waits_long(const struct change *c)
{
	return c->waiting && c->oldest_s >= LONG_WAIT_S;
}

/*
 * Returns whether waits in progress make most of the time lost. A frame without a length has no
 * time lost, so its waits explain it.
 */
static bool waits_explain(const struct change *c)
{
	return c->waiting_s >= MOST * change_lost_inside(c);
}

/* Returns whether a few ended waits of each node make most of the time lost. */
static bool ended_waits_explain(const struct row *row)
{
	double explained = 0;

	for (uint32_t i = 0; i < row->n_nodes; i++) {
		const struct change *c = &row->nodes[i].sum;

		if (waited_long(c) && FEW_WAITS * c->longest_s >= MOST * c->lost_s)
			explained += c->lost_s;
	}
	return explained >= MOST * row->sum.lost_s;
}

enum row_hang row_hang(const struct model *m, const struct row *row)
{
	const struct change *c = &row->sum;
	double least = row_acquired_per_s(m, row) > TRAFFIC_PER_S ? HANG_BESIDE_TRAFFIC_S : 0;

	if (waits_long(c) && c->oldest_s >= least && waits_explain(c))
		return HANG_NOW;
	if (waited_long(c) && c->longest_s >= least && ended_waits_explain(row))
		return HANG_ENDED;
	return HANG_NONE;
}
