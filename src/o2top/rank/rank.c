/* SPDX-License-Identifier: MIT */
/*
 * rank.c - ranks the rows of a frame: gathers, filters, sums, sorts and describes them.
 */
#include "rank.h"

#include "names.h"
#include "o2top/base/clock.h"
#include "o2top/base/radix_sort.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Adds a row to the totals. Rows that are not shown count, too. */
static void add_to_totals(struct group *g, const struct model *m, const struct row *row)
{
	change_sum(&g->totals.sum, &row->sum);
	g->totals.lost_per_s += row->lost_per_s;
	g->totals.hot += row->hot;
	g->totals.acquired_per_s += row_acquired_per_s(m, row);
}

static void take_times(struct group *g, const struct model *m)
{
	int64_t *clocks = calloc(m->n_nodes + 1, sizeof(*clocks)), newest;
	double away_s = 0;
	size_t n = 0;

	for (size_t i = 0; i < m->n_nodes; i++) {
		const struct node *node = &m->nodes[i];

		if (node->last_sample != m->sample)
			continue;
		/* A node that was away has a longer frame than the others. */
		g->interval_s = max_s(g->interval_s, node->away ? 0 : node->frame_s);
		away_s = max_s(away_s, node->frame_s);
		if (clocks)
			clocks[n++] = node_when(node, m->sample)->real_us;
	}
	newest = sample_time(clocks, n);
	g->time_us = newest > g->time_us ? newest : g->time_us;
	free(clocks);
	if (g->interval_s <= 0)
		g->interval_s = away_s;
}

/* ---- order --------------------------------------------------------------------------------- */

struct ordering {
	const struct row *rows;
	enum sort_key key;
};

static int by_rank(const void *a, const void *b, void *arg)
{
	const struct ordering *o = arg;
	const struct row *x = &o->rows[((const struct radix_item *)a)->index];
	const struct row *y = &o->rows[((const struct radix_item *)b)->index];

	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	return row_compare(x, y, o->key);
}

/* Sorts the rows by a key. Names have no numeric value, so all rows are compared for SORT_NAME. */
static int group_order_rows(struct group *g, enum sort_key key)
{
	struct radix_item *order = malloc((g->n_rows + 1) * sizeof(*order));
	struct ordering ordering = {g->rows, key};
	struct row *rows;
	int err;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < g->n_rows; i++) {
		uint64_t value =
		    key == SORT_NAME ? 0 : radix_greatest_first(row_sort_value(&g->rows[i], key));

		/* The section takes one bit. Rows that differ only in the lost bit are compared. */
		order[i] = (struct radix_item){(uint64_t)g->rows[i].section << 63 | value >> 1,
					       (uint32_t)i};
	}
	err = radix_sort_by(order, g->n_rows, by_rank, &ordering);
	rows = err ? NULL : radix_arrange(order, g->n_rows, g->rows, sizeof(*g->rows));
	if (rows)
		g->rows = rows;
	else
		err = -ENOMEM;
	free(order);
	return err;
}

/*
 * Describes each row and drops the rows that the filter hides. One pass does both, because many
 * rows do not fit into any cache.
 */
static void describe_rows(struct group *g, const struct model *m, struct names *names,
			  const struct filter *filter)
{
	size_t kept = 0;

	describe_settle(names, m);
	g->totals.rows = g->n_rows;
	for (size_t i = 0; i < g->n_rows; i++) {
		add_to_totals(g, m, &g->rows[i]);
		describe_row(&g->rows[i], m);
		if (!filter_wants_row(filter, m, &g->rows[i]))
			continue;
		if (kept != i)
			g->rows[kept] = g->rows[i];
		describe_name(&g->rows[kept++], m, names);
	}
	g->n_rows = kept;
	dentry_find_directories(m, g->rows, g->n_rows);
	dentry_find_within(m, names, g->rows, g->n_rows);
}

static size_t bytes_of(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

int group_rank(struct group *g, const struct model *m, struct names *names,
	       const struct filter *filter, enum sort_key key)
{
	int err;

	*g = (struct group){0};
	err = gather_rows(g, m, filter);
	if (!err) {
		take_times(g, m);
		describe_rows(g, m, names, filter);
		err = group_order_rows(g, key);
	}
	if (err) {
		group_free(g);
		return err;
	}
	for (size_t i = 0; i < g->n_rows; i++) {
		struct row *row = &g->rows[i];

		row->rank = (uint32_t)++g->n_section[row->section];
		explain_row(m, row);
		wait_times_take(m, row);
		g->n_explained += row->sentence || row->note;
		g->text_bytes += bytes_of(row->path) + bytes_of(row->links) + bytes_of(row->within);
	}
	return 0;
}

void group_free(struct group *g)
{
	for (size_t i = 0; i < g->n_rows && g->n_explained; i++) {
		free(g->rows[i].sentence);
		free(g->rows[i].note);
	}
	free(g->members);
	free(g->rows);
	free(g->locksets);
	free(g->row_nodes);
	free(g->trends);
	*g = (struct group){0};
}
