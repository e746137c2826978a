/* SPDX-License-Identifier: MIT */
/*
 * demands.c - joins each demand with the wait of a watched node, or counts it as a wait itself.
 */
#include "demands.h"

#include "o2top/base/grow.h"

#include <stdlib.h>

enum { DEMAND_KEPT = 16 }; /* a demand for a Lock that is not listed is kept so many samples */
enum { MODE_CW = 2, MODE_PR = 3 };

/* ---- one node ------------------------------------------------------------------------------ */

void demands_begin(struct node_space *ns)
{
	struct demands before = ns->demands_before;

	ns->demands_before = ns->demands;
	ns->demands = before;
	ns->demands.n = 0;
}

static int demands_by_lock(const void *a, const void *b)
{
	uint32_t x = ((const struct demand *)a)->lock, y = ((const struct demand *)b)->lock;

	return (x > y) - (x < y);
}

const struct demand *demands_before(const struct node_space *ns, uint32_t lock)
{
	const struct demands *d = &ns->demands_before;
	struct demand key = {.lock = lock};

	return d->n ? bsearch(&key, d->list, d->n, sizeof(*d->list), demands_by_lock) : NULL;
}

static double demand_age(const struct model *m, const struct node *node, const struct demand *d)
{
	return max_s(seconds(node_when(node, m->sample)->mono_us - d->seen_us), 0);
}

/* Returns how old the demand is at most, NAN if this is not known. */
static double demand_most(const struct model *m, const struct node *node, const struct demand *d)
{
	if (d->not_before_us == INT64_MIN)
		return NAN;
	return max_s(seconds(node_when(node, m->sample)->mono_us - d->not_before_us), 0);
}

void demands_add(struct source_sample *t, const struct demand *d)
{
	struct demands *all = &t->ns->demands;

	if (!grow(&all->list, all->n, &all->room, sizeof(*all->list)))
		return;
	all->list[all->n++] = *d;
	if (d->unproved || seconds(t->mono_us - d->seen_us) >= DEMAND_TELLING_S)
		table_change(&t->ns->table, table_lock(&t->ns->table, d->lock));
}

void demands_end(struct source_sample *t)
{
	struct demands *now = &t->ns->demands, *before = &t->ns->demands_before;

	for (size_t i = 0; i < before->n; i++) {
		const struct demand *d = &before->list[i];
		const struct lock *lock = table_lock(&t->ns->table, d->lock);

		if (lock->free || lock->now.sample == t->sample ||
		    t->sample - d->sample > DEMAND_KEPT)
			continue;
		if (grow(&now->list, now->n, &now->room, sizeof(*now->list)))
			now->list[now->n++] = *d;
	}
	if (now->n)
		qsort(now->list, now->n, sizeof(*now->list), demands_by_lock);
}

/* ---- all nodes ----------------------------------------------------------------------------- */

/* Returns whether a wait of another node may be as old as the demand. */
static bool may_be_of(const struct change *c, double age_s)
{
	return isnan(c->oldest_max_s) || c->oldest_max_s + DEMAND_BESIDE_NODES_S >= age_s * 0.9;
}

/*
 * Finds the wait of a watched node that the demand is for. Sets *others to whether other nodes with
 * this lock space gave a sample.
 */
static struct change *waiter_of(struct model *m, size_t node, uint32_t space,
				const struct lock_id *id, double age_s, bool *others)
{
	struct change *found = NULL;

	*others = false;
	for (size_t i = 0; i < m->n_nodes; i++) {
		const struct node_space *ns = space_now_on(m, &m->nodes[i], space);
		const struct lock *lock;
		struct change *c;

		if (i == node || !ns || !ns->present)
			continue;
		*others = true;
		lock = table_find(&ns->table, id);
		c = lock ? table_changed(&ns->table, lock) : NULL;
		if (c && change_own_waits(c) && may_be_of(c, age_s) &&
		    (!found || c->oldest_s > found->oldest_s))
			found = c;
	}
	return found;
}

/* Adds the demand as a wait of a node that is not watched. */
static void count_demand(struct model *m, struct node *node, struct node_space *ns,
			 const struct demand *d, double least)
{
	struct lock *lock = table_lock(&ns->table, d->lock);
	struct change *c = table_change(&ns->table, lock);
	double most = demand_most(m, node, d);

	if (!c || c->demanded == UINT8_MAX)
		return;
	change_add_wait(c, least, isnan(most) ? NAN : max_s(most, least),
			m->sample == 1 ? 0 : node->frame_s);
	if (m->sample > 1)
		change_add_lost(c, min_s(least, node->frame_s), 1);
	c->demanded++;
	c->unproved |= d->unproved && !(most < DEMAND_BESIDE_NODES_S);
	if (d->mode == MODE_CW)
		c->wants_direct = true;
	else
		change_add_wish(c, d->mode != MODE_PR);
	table_lost(&ns->table, lock, m->sample, node->frame_s);
}

static void settle_one(struct model *m, size_t node, uint32_t space, struct node_space *ns,
		       const struct demand *d)
{
	double age_s = demand_age(m, &m->nodes[node], d),
	       most_s = demand_most(m, &m->nodes[node], d);
	bool others, telling;
	struct change *waiter =
	    waiter_of(m, node, space, &table_lock(&ns->table, d->lock)->id, age_s, &others);

	if (waiter) {
		/* A young demand beside waits is traffic, and may be of any of them. */
		if (waiter->unproved || age_s >= DEMAND_BESIDE_NODES_S)
			change_raise_age(waiter, age_s);
		return;
	}
	if (most_s < DEMAND_TELLING_S)
		return;
	telling = d->unproved || age_s >= (others ? DEMAND_BESIDE_NODES_S : DEMAND_TELLING_S);
	if (telling && !(d->try && others))
		count_demand(m, &m->nodes[node], ns, d, age_s);
}

void demands_settle(struct model *m)
{
	for (size_t i = 0; i < m->n_nodes; i++)
		for (uint32_t j = 0; j < m->nodes[i].n_spaces; j++) {
			struct node_space *ns = m->nodes[i].spaces[j];

			if (!ns || !ns->present || node_absent(m, &m->nodes[i]))
				continue;
			for (size_t k = 0; k < ns->demands.n; k++)
				if (ns->demands.list[k].sample == m->sample)
					settle_one(m, i, j, ns, &ns->demands.list[k]);
		}
}
