/* SPDX-License-Identifier: MIT */
/*
 * tui_nodes.c - the lines of the view by node: each node, and the worst rows of an opened one.
 *
 * A node's sums are those of all rows of the frame, shown or not. The rows of an opened node are
 * those that the view by file shows.
 */
#include "tui_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WORST_ROWS = 10 };

/* ---- the lines ----------------------------------------------------------------------------- */

static int compare_numbers(double a, double b)
{
	return (a < b) - (a > b);
}

/* Compares two sums by the column that sorts the screen, or by time lost. */
static int compare_sums(enum sort_key key, const struct change *a, double lost_a,
			const struct change *b, double lost_b)
{
	int c = 0;

	if (key == SORT_AGE)
		c = compare_numbers(a->waiting ? a->oldest_s : -1, b->waiting ? b->oldest_s : -1);
	else if (key == SORT_ACQUIRED)
		c = compare_numbers((double)a->acquired, (double)b->acquired);
	else if (key == SORT_WAITING)
		c = compare_numbers(a->waiting, b->waiting);
	c = c ? c : compare_numbers(lost_a, lost_b);
	return c ? c : compare_numbers(a->waiting, b->waiting);
}

static int by_column(const void *a, const void *b, void *arg)
{
	const struct node_line *x = a, *y = b;
	const struct ui *ui = arg;
	const struct node *nodes = ui->shot->model.nodes;
	int c = ui->sort == SORT_NAME
		    ? strcoll(nodes[x->node].name, nodes[y->node].name)
		    : compare_sums(ui->sort, &x->sum, x->lost_per_s, &y->sum, y->lost_per_s);

	c = ui->reversed ? -c : c;
	return c ? c : (x->node > y->node) - (x->node < y->node);
}

static int sum_nodes(struct ui *ui)
{
	const struct model *m = &ui->shot->model;
	const struct group *g = &ui->shot->group;
	struct node_line *lines = reallocarray(ui->list.nodes, m->n_nodes + 1, sizeof(*lines));

	if (!lines)
		return -ENOMEM;
	ui->list.nodes = lines;
	for (size_t i = 0; i < m->n_nodes; i++)
		lines[i] = (struct node_line){.node = (uint32_t)i};
	for (size_t i = 0; i < g->n_rows; i++)
		for (uint32_t j = 0; j < g->rows[i].n_nodes; j++) {
			const struct row_node *n = &g->rows[i].nodes[j];

			change_sum(&lines[n->node].sum, &n->sum);
			lines[n->node].lost_per_s += n->lost_per_s;
		}
	qsort_r(lines, m->n_nodes, sizeof(*lines), by_column, ui);
	return 0;
}

/* Adds a row to the worst rows of a node, if the row is one of them. Returns their number. */
static size_t keep_worst(const struct ui *ui, struct item *worst, size_t n, struct item item)
{
	const struct row *rows = ui->shot->group.rows;
	const struct row_node *new = &rows[item.row].nodes[item.at];
	size_t at = n;

	for (; at > 0; at--) {
		const struct row_node *old = &rows[worst[at - 1].row].nodes[worst[at - 1].at];

		if (compare_sums(ui->sort, &old->sum, old->lost_per_s, &new->sum,
				 new->lost_per_s) <= 0)
			break;
		if (at < WORST_ROWS)
			worst[at] = worst[at - 1];
	}
	if (at < WORST_ROWS)
		worst[at] = item;
	return n < WORST_ROWS ? n + 1 : n;
}

static int add_worst(struct ui *ui, uint32_t node)
{
	const struct row *rows = ui->shot->group.rows;
	struct item worst[WORST_ROWS], *item;
	size_t n = 0;

	for (size_t i = 0; i < ui->list.n_order; i++) {
		const struct row *row = &rows[ui->list.order[i]];

		for (uint32_t j = 0; j < row->n_nodes; j++)
			if (row->nodes[j].node == node)
				n = keep_worst(ui, worst, n,
					       (struct item){.row = ui->list.order[i], .at = j});
	}
	for (size_t i = 0; i < n; i++) {
		item = list_add(ui, ITEM_PART, worst[i].row, worst[i].at, 1);
		if (!item)
			return -ENOMEM;
		item->last = i + 1 == n;
	}
	return 0;
}

int nodes_add(struct ui *ui)
{
	int err = sum_nodes(ui);

	for (size_t i = 0; i < ui->shot->model.n_nodes && !err; i++) {
		struct item *item = list_add(ui, ITEM_HOST, (uint32_t)i, 0, 0);

		if (!item)
			return -ENOMEM;
		if (item_is_open(ui, item))
			err = add_worst(ui, ui->list.nodes[i].node);
	}
	return err;
}
