/* SPDX-License-Identifier: MIT */
/*
 * tui_nodes.c - the view by node: a line for each node, and the worst rows of an opened one.
 *
 * A node's sums are those of all rows of the frame, shown or not. The rows of an opened node are
 * those that the view by file shows.
 */
#include "tui_impl.h"

#include "o2top/base/units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORST_ROWS = 10, STATE_WIDTH = 15, SPAN_WIDTH = 8 };

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

const struct node *nodes_node(const struct ui *ui, const struct item *item)
{
	return &ui->shot->model.nodes[ui->list.nodes[item->row].node];
}

/* ---- drawing ------------------------------------------------------------------------------- */

static const char *const cells[] = {"lost", "waiting", "age", "acquired"};

enum { N_CELLS = sizeof(cells) / sizeof(cells[0]), FIRST_CELL = 6 };

void draw_node_titles(struct ui *ui, int y, int width)
{
	int x = FIRST_CELL;

	for (size_t i = 0; i < N_CELLS; i++) {
		const int column = column_named(cells[i], strlen(cells[i]));
		const struct column *c = &tui_columns[column];
		const bool sorted = c->sort == ui->sort;
		char title[32];

		snprintf(title, sizeof(title), "%s%s", sorted && ui->reversed ? "^" : "", c->title);
		ui->titles[ui->n_titles].from = x;
		ui->titles[ui->n_titles].to = x + ui->widths[column];
		ui->titles[ui->n_titles++].column = column;
		screen_format(y, x, width, sorted ? ROLE_SORTED : ROLE_COLUMNS, "%*s",
			      ui->widths[column], title);
		x += ui->widths[column] + 1;
	}
	screen_format(y, x, width, ROLE_COLUMNS, "%-*s %*s %*s", STATE_WIDTH, "STATE", SPAN_WIDTH,
		      "SILENT", SPAN_WIDTH, "TOOK");
	x += STATE_WIDTH + 2 * SPAN_WIDTH + 4;
	ui->titles[ui->n_titles].from = x;
	ui->titles[ui->n_titles].to = width;
	ui->titles[ui->n_titles++].column = -1;
	screen_put(y, x, width, ui->sort == SORT_NAME ? ROLE_SORTED : ROLE_COLUMNS, "NODE");
}

/*
 * Draws the cells that a node and a row have in common. Of an absent node nothing is known. Returns
 * the column after the cells.
 */
static int draw_node_cells(const struct ui *ui, int y, int width, enum role role,
			   const struct cell_line *line, bool absent)
{
	int x = FIRST_CELL;

	for (size_t i = 0; i < N_CELLS; i++) {
		const int column = column_named(cells[i], strlen(cells[i]));
		struct cell cell = {.role = role};

		tui_columns[column].fill(&cell, line);
		if (absent)
			strcpy(cell.text, "-");
		screen_format(y, x, width, cell.role, "%*s", ui->widths[column], cell.text);
		x += ui->widths[column] + 1;
	}
	return x;
}

static double acquired_per_s(const struct node *node, const struct change *sum)
{
	return node->frame_s > 0 ? (double)sum->acquired / node->frame_s : 0;
}

void draw_node_line(const struct ui *ui, int y, int width, const struct item *item, bool selected)
{
	const struct node_line *n = &ui->list.nodes[item->row];
	const struct node *node = nodes_node(ui, item);
	const struct cell_line line = {.shot = ui->shot,
				       .sum = &n->sum,
				       .lost_per_s = n->lost_per_s,
				       .acquired_per_s = acquired_per_s(node, &n->sum)};
	const bool bad = node->state != NODE_OK;
	enum role role = selected         ? ROLE_SELECTED
			 : bad            ? ROLE_BAD
			 : n->sum.waiting ? ROLE_HOT
					  : ROLE_PLAIN;
	char name[NAME_MAX_TEXT], silent[UNIT_MAX + 1] = "-", took[UNIT_MAX] = "-";
	int x;

	screen_format(y, 1, 6, role, "%s%3u%s", bad ? "!" : " ", item->row + 1,
		      item_is_open(ui, item) ? "-" : "+");
	x = draw_node_cells(ui, y, width, role, &line, node_absent(&ui->shot->model, node));
	if (node->silent_s > 0) {
		silent[0] = '>';
		unit_seconds(silent + node->silent_at_least, node->silent_s);
	}
	if (node->took_s > 0)
		unit_seconds(took, node->took_s);
	x = screen_format(y, x, width, role, "%-*s %*s %*s", STATE_WIDTH,
			  node_state_names[node->state], SPAN_WIDTH, silent, SPAN_WIDTH, took);
	unit_clean(name, sizeof(name), node->name, width - x - 2 > 8 ? width - x - 2 : 8);
	screen_put(y, x + 2, width, role, name);
}

void draw_node_row(const struct ui *ui, int y, int width, const struct item *item, bool selected)
{
	const struct row *row = &ui->shot->group.rows[item->row];
	const struct row_node *n = &row->nodes[item->at];
	const struct cell_line line = {
	    .shot = ui->shot,
	    .sum = &n->sum,
	    .lost_per_s = n->lost_per_s,
	    .acquired_per_s = acquired_per_s(&ui->shot->model.nodes[n->node], &n->sum)};
	enum role role = selected ? ROLE_SELECTED : n->sum.waiting ? ROLE_HOT : ROLE_PLAIN;
	char raw[NAME_MAX_TEXT], clean[NAME_MAX_TEXT];
	int x = draw_node_cells(ui, y, width, role, &line, false);

	item_label(ui, row, false, raw, sizeof(raw));
	unit_clean(clean, sizeof(clean), raw, width - x - 3 > 8 ? width - x - 3 : 8);
	x = screen_format(y, x, width, selected ? role : ROLE_FAINT, "%s ", item_branch(ui, item));
	screen_put(y, x, width, role, clean);
}

void draw_node_pane(const struct ui *ui, int y, int end_y, int width, const struct item *item)
{
	const struct node *node = nodes_node(ui, item);
	char clean[NAME_MAX_TEXT], line[NAME_MAX_TEXT], bytes[UNIT_MAX];
	int x;

	unit_clean(clean, sizeof(clean), node->name, width / 2);
	x = screen_put(y, 0, width, ROLE_PATH, clean);
	x = screen_format(y, x, width, ROLE_FAINT, "  %s", node_state_names[node->state]);
	if (node->bytes)
		screen_format(y, x, width, ROLE_FAINT, ", %sB read",
			      unit_count(bytes, (double)node->bytes));
	if (!node->why)
		return;
	unit_clean(clean, sizeof(clean), node->why, 0);
	for (unsigned i = 0; ++y < end_y && fold_line(clean, width - 5, i, line, sizeof(line)); i++)
		screen_put(y, 2, width, ROLE_BAD, line);
}
