/* SPDX-License-Identifier: MIT */
/*
 * gather.c - turns the changes of all nodes' Locks into rows.
 *
 * Members are sorted by row, lock and node. Then the members of a row lie side by side, and so do
 * its LockSets.
 */
#include "rank.h"

#include "names.h"
#include "o2top/base/hash.h"
#include "o2top/base/radix_sort.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * A row is hot if it lost this many seconds per second, and this part of all the time lost. A row
 * in which a request waits long is hot in any case.
 */
#define HOT_PER_S 0.001
#define HOT_PART 0.02

/*
 * Calls with a mean below this were answered by the node's own cache.
 *
 * OCFS2 times every call, also a call that the cache answers. On a busy machine such a call takes a
 * microsecond or two. Thousands of them a second add up to a millisecond although no call waited.
 * GFS2 times only the requests to the DLM.
 */
#define CACHED_S 5e-6

static int gather_members(struct group *g, const struct model *m, const struct filter *f)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n_nodes; i++)
		for (size_t j = 0; j < m->nodes[i].n_spaces; j++)
			if (m->nodes[i].spaces[j] && m->nodes[i].spaces[j]->present)
				n += m->nodes[i].spaces[j]->table.n_active;
	g->members = calloc(n + 1, sizeof(*g->members));
	if (!g->members)
		return -ENOMEM;
	for (size_t i = 0; i < m->n_nodes; i++)
		for (size_t j = 0; j < m->nodes[i].n_spaces; j++) {
			const struct node_space *ns = m->nodes[i].spaces[j];
			const struct space *space = &m->spaces[j];

			if (!ns || !ns->present)
				continue;
			g->totals.locks += ns->lines;
			for (uint32_t k = 0; k < ns->table.n_active; k++) {
				const struct activity *a = &ns->table.active[k];
				const struct lock *lock = table_lock(&ns->table, a->lock);

				if (filter_wants_type(f, space->source, lock->id.type))
					g->members[g->n_members++] = (struct member){
					    (uint32_t)j, (uint32_t)i, space->source->row(lock),
					    lock, &a->change};
			}
		}
	return 0;
}

/* ---- the row of each member ---------------------------------------------------------------- */

/*
 * Rows are numbered in the order in which they are met, and found by a hash. So members stay nearly
 * in the order of their tables. The Locks and trails that are read from here on lie side by side.
 */
struct place {
	struct row_id id;
	uint32_t space;
};

struct places {
	struct place *list;
	uint32_t n;
	uint32_t *slots; /* indices; at most half of them used */
	size_t mask;
};

static int places_init(struct places *p, size_t most)
{
	size_t slots = 64;

	while (slots < 2 * most)
		slots *= 2;
	*p = (struct places){.list = malloc((most + 1) * sizeof(*p->list)),
			     .slots = malloc(slots * sizeof(*p->slots)),
			     .mask = slots - 1};
	if (!p->list || !p->slots)
		return -ENOMEM;
	memset(p->slots, 0xff, slots * sizeof(*p->slots));
	return 0;
}

static void places_free(struct places *p)
{
	free(p->list);
	free(p->slots);
}

static size_t place_hash(uint32_t space, struct row_id id)
{
	return hash_number(id.number ^ (uint64_t)id.class << 56 ^ (uint64_t)space << 48);
}

/* Returns the slot of a row, or the empty slot in which the row belongs. */
static uint32_t *place_of(const struct places *p, uint32_t space, struct row_id id)
{
	for (size_t i = place_hash(space, id);; i++) {
		uint32_t *slot = &p->slots[i & p->mask];
		const struct place *at = &p->list[*slot];

		if (*slot == NONE ||
		    (at->id.number == id.number && at->id.class == id.class && at->space == space))
			return slot;
	}
}

static uint32_t place_take(struct places *p, const struct member *member)
{
	uint32_t *slot = place_of(p, member->space, member->row);

	if (*slot == NONE) {
		*slot = p->n++;
		p->list[*slot] = (struct place){member->row, member->space};
	}
	return *slot;
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_locks(const struct member *a, const struct member *b)
{
	int c = compare_u64(a->lock->id.type, b->lock->id.type);

	c = c ? c : compare_u64(a->lock->id.number, b->lock->id.number);
	return c ? c : compare_u64(a->lock->id.low, b->lock->id.low);
}

/* Compares two members of one row. */
static int by_lock(const void *a, const void *b, void *arg)
{
	const struct member *members = arg;
	const struct member *x = &members[((const struct radix_item *)a)->index];
	const struct member *y = &members[((const struct radix_item *)b)->index];
	int c = compare_locks(x, y);

	return c ? c : compare_u64(x->node, y->node);
}

enum { AHEAD = 12 }; /* members */

static int sort_members(struct places *places, struct group *g)
{
	struct member *members = g->members;
	size_t n = g->n_members;
	struct radix_item *order = malloc((n + 1) * sizeof(*order));
	int err;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		/* prefetch the slot, because slots are scattered in memory */
		if (i + AHEAD < n) {
			const struct member *next = &members[i + AHEAD];

			__builtin_prefetch(
			    &places->slots[place_hash(next->space, next->row) & places->mask], 1);
		}
		order[i] = (struct radix_item){place_take(places, &members[i]), (uint32_t)i};
	}
	err = radix_sort_by(order, n, by_lock, members);
	members = err ? NULL : radix_arrange(order, n, members, sizeof(*members));
	if (members)
		g->members = members;
	else
		err = -ENOMEM;
	free(order);
	return err;
}

/* ---- summing ------------------------------------------------------------------------------- */

/*
 * Returns the seconds lost per second of the node's own time. In a single sample, a request that
 * waits counts as waiting all the time.
 */
static double per_second(const struct model *m, const struct node *node, const struct change *c)
{
	if (node->frame_s > 0)
		return change_lost_inside(c) / node->frame_s;
	return m->sample == 1 ? c->waiting : 0;
}

static void sum_node(struct row *row, const struct member *member)
{
	for (uint32_t i = 0; i < row->n_nodes; i++)
		if (row->nodes[i].node == member->node) {
			change_sum(&row->nodes[i].sum, member->change);
			return;
		}
	row->nodes[row->n_nodes++] =
	    (struct row_node){.node = member->node, .sum = *member->change};
}

static int by_node(const void *a, const void *b)
{
	return compare_u64(((const struct row_node *)a)->node, ((const struct row_node *)b)->node);
}

/*
 * Cuts an estimate of what a row lost on a node. No more time is lost than that of the processes
 * that this sample or one of the last shows waiting, and of one at least. Measured time is never
 * cut.
 */
static void cut_estimate(struct change *c, double frame_s)
{
	uint32_t waiting = c->waiting > c->queued ? c->waiting : c->queued;
	double most = frame_s * (waiting > 1 ? waiting : 1), inside = change_lost_inside(c),
	       measured = max_s(c->lost_s - c->estimated_s, 0), cut;

	if (frame_s <= 0 || c->estimated_s <= 0)
		return;
	cut = inside - max_s(most, measured);
	if (cut <= 0)
		return;
	c->lost_s -= cut;
	c->estimated_s = max_s(c->estimated_s - cut, 0);
}

static bool only_cached(const struct change *c)
{
	return !c->counts_requests && c->acquired && c->lost_s < CACHED_S * (double)c->acquired;
}

static void sum_lockset(struct lockset *set, const struct member *member)
{
	set->n_members++;
	change_sum(&set->sum, member->change);
}

static void add_rates(struct lockset *set, const struct model *m, const struct member *member)
{
	const struct node *node = &m->nodes[member->node];

	set->lost_per_s += per_second(m, node, member->change);
	set->acquired_per_s += change_rate(member->change, node->frame_s);
}

/* Makes a row of members [first, first + n), whose LockSets begin at *locksets. */
static void sum_row(struct row *row, const struct model *m, const struct member *first, uint32_t n,
		    struct lockset *locksets, struct row_node *nodes)
{
	double waited = 0; /* per second, without changes that hold only cached calls */

	row->locksets = locksets;
	row->nodes = nodes;
	for (uint32_t i = 0; i < n; i++) {
		const struct member *member = &first[i];

		/* most rows have one Lock, so the first change is copied instead of added */
		if (i == 0 || compare_locks(member - 1, member) != 0)
			locksets[row->n_locksets++] = (struct lockset){
			    .members = member, .n_members = 1, .sum = *member->change};
		else
			sum_lockset(&locksets[row->n_locksets - 1], member);
		add_rates(&locksets[row->n_locksets - 1], m, member);
		sum_node(row, member);
		if (i)
			change_sum(&row->sum, member->change);
		else
			row->sum = *member->change;
		if (!only_cached(member->change))
			waited += per_second(m, &m->nodes[member->node], member->change);
	}
	if (row->n_nodes > 1)
		qsort(row->nodes, row->n_nodes, sizeof(*row->nodes), by_node);
	for (uint32_t i = 0; i < row->n_nodes; i++) {
		struct row_node *node = &row->nodes[i];
		double lost_s = node->sum.lost_s;

		cut_estimate(&node->sum, m->nodes[node->node].frame_s);
		row->sum.lost_s -= lost_s - node->sum.lost_s;
		row->sum.estimated_s -= min_s(lost_s - node->sum.lost_s, row->sum.estimated_s);
		node->lost_per_s = per_second(m, &m->nodes[node->node], &node->sum);
		row->lost_per_s += node->lost_per_s;
		row->n_writers += node->sum.wrote;
		row->n_readers += node->sum.read;
	}
	row->hot = waited >= HOT_PER_S;
}

/* ---- trend --------------------------------------------------------------------------------- */

static void add_trail(struct row *row, const struct trail *trail, uint32_t newest)
{
	uint32_t ago = newest - trail->newest, n = trail->count;
	const float *from = trail->lost + TRAIL_SHOTS;
	float *to = row->trend + row->n_trend;

	if (ago >= row->n_trend)
		return;
	n = n < row->n_trend - ago ? n : row->n_trend - ago;
	from -= n;
	to -= ago + n;
	for (uint32_t i = 0; i < n; i++)
		to[i] += from[i];
}

/* Adds the trails of the row's members. add_all_idle() adds those of other Locks. */
static void add_trend(struct row *row, const struct model *m, const struct member *first, size_t n)
{
	memset(row->trend, 0, row->n_trend * sizeof(*row->trend));
	for (size_t i = 0; i < n; i++) {
		const struct table *t = &m->nodes[first[i].node].spaces[first[i].space]->table;
		const struct trail *trail = table_trail_of(t, first[i].lock);

		if (trail)
			add_trail(row, trail, m->sample);
	}
}

/* ---- rows ---------------------------------------------------------------------------------- */

static bool is_of(const struct member *member, const struct place *place)
{
	return member->row.number == place->id.number && member->row.class == place->id.class &&
	       member->space == place->space;
}

static int make_rows(struct group *g, const struct model *m, const struct places *places)
{
	uint32_t n_trend = m->sample > TREND_MAX ? TREND_MAX : m->sample ? m->sample - 1 : 0;
	size_t locksets = 0, nodes = 0;

	g->rows = malloc((places->n + 1) * sizeof(*g->rows));
	g->locksets = malloc((g->n_members + 1) * sizeof(*g->locksets));
	g->row_nodes = malloc((g->n_members + 1) * sizeof(*g->row_nodes));
	g->trends = malloc(((size_t)places->n * n_trend + 1) * sizeof(*g->trends));
	if (!g->rows || !g->locksets || !g->row_nodes || !g->trends)
		return -ENOMEM;
	for (size_t i = 0, n; i < g->n_members; i += n) {
		const struct place *place = &places->list[g->n_rows];
		struct row *row = &g->rows[g->n_rows++];

		for (n = 1; i + n < g->n_members && is_of(&g->members[i + n], place);)
			n++;
		*row = (struct row){.space = place->space,
				    .id = place->id,
				    .trend = g->trends + (g->n_rows - 1) * n_trend,
				    .n_trend = n_trend};
		sum_row(row, m, &g->members[i], (uint32_t)n, g->locksets + locksets,
			g->row_nodes + nodes);
		add_trend(row, m, &g->members[i], n);
		locksets += row->n_locksets;
		nodes += row->n_nodes;
	}
	assert(g->n_rows == places->n);
	return 0;
}

/* Adds the trail of a Lock that did nothing in this sample, or whose node is missing from it. */
static void add_idle(struct group *g, const struct places *places, const struct model *m,
		     const struct filter *f, uint32_t space, const struct node_space *ns,
		     const struct trail *trail)
{
	const struct source *source = m->spaces[space].source;
	const struct lock *lock = table_lock(&ns->table, trail->lock);
	uint32_t row;

	if (!filter_wants_type(f, source, lock->id.type))
		return;
	row = *place_of(places, space, source->row(lock));
	if (row != NONE)
		add_trail(&g->rows[row], trail, m->sample);
}

/* Adds the trails of all Locks without a change in this sample, if such a Lock has a row. */
static void add_all_idle(struct group *g, const struct places *places, const struct model *m,
			 const struct filter *f)
{
	for (size_t i = 0; i < m->n_nodes; i++)
		for (size_t j = 0; j < m->nodes[i].n_spaces; j++) {
			const struct node_space *ns = m->nodes[i].spaces[j];
			uint32_t n = !ns ? 0 : ns->present ? ns->table.n_idle : ns->table.n_warm;

			for (uint32_t k = 0; k < n; k++)
				add_idle(g, places, m, f, (uint32_t)j, ns,
					 table_warm(&ns->table, k));
		}
}

/* Marks the hot rows. A wait of an unknown age may be long, so its row is hot. */
static void mark_hot(struct group *g, const struct model *m)
{
	double all = 0;

	for (size_t i = 0; i < g->n_rows; i++)
		all += g->rows[i].lost_per_s;
	for (size_t i = 0; i < g->n_rows; i++) {
		struct row *row = &g->rows[i];

		row->hot = (row->hot && row->lost_per_s >= HOT_PART * all) ||
			   waits_long(&row->sum) || row->sum.unproved ||
			   (row->sum.waiting && m->sample == 1);
	}
}

int gather_rows(struct group *g, const struct model *m, const struct filter *filter)
{
	struct places places = {0};
	int err = gather_members(g, m, filter);

	err = err ? err : dentry_join(m, g->members, g->n_members);
	err = err ? err : places_init(&places, g->n_members);
	err = err ? err : sort_members(&places, g);
	err = err ? err : make_rows(g, m, &places);
	if (!err) {
		mark_hot(g, m);
		add_all_idle(g, &places, m, filter);
	}
	places_free(&places);
	return err;
}
