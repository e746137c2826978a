/* SPDX-License-Identifier: MIT */
/*
 * tui_node_rows.c - draws the view by node: its titles, a node, a row of a node, and the pane.
 */
#include "tui_impl.h"

#include "o2top/base/units.h"

#include <stdio.h>
#include <string.h>

enum { STATE_WIDTH = 15, SPAN_WIDTH = 8 };

const struct node *nodes_node(const struct ui *ui, const struct item *item)
{
	return &ui->shot->model.nodes[ui->list.nodes[item->row].node];
}

static const char *const cells[] = {"lost", "waiting", "age", "acquired"};

enum { N_CELLS = sizeof(cells) / sizeof(cells[0]), FIRST_CELL = 6 };

void draw_node_titles(struct ui *ui, int y, int width)
{
	int x = FIRST_CELL;

	for (size_t i = 0; i < N_CELLS; i++) {
		const struct column *c = column_named(cells[i], strlen(cells[i]));
		const int column = (int)(c - columns);
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
			   const struct line *line, bool absent)
{
	int x = FIRST_CELL;

	for (size_t i = 0; i < N_CELLS; i++) {
		const struct column *c = column_named(cells[i], strlen(cells[i]));
		const int width_of = ui->widths[c - columns];
		struct cell cell = {.role = role};

		cell_fill(&cell, c, line);
		if (absent)
			strcpy(cell.text, "-");
		screen_format(y, x, width, cell.role, "%*s", width_of, cell.text);
		x += width_of + 1;
	}
	return x;
}

void draw_node_line(const struct ui *ui, int y, int width, const struct item *item, bool selected)
{
	const struct node_line *n = &ui->list.nodes[item->row];
	const struct node *node = nodes_node(ui, item);
	const struct line line =
	    cell_line(ui, &n->sum, n->lost_per_s, change_rate(&n->sum, node->frame_s));
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
	const struct line line =
	    cell_line(ui, &n->sum, n->lost_per_s,
		      change_rate(&n->sum, ui->shot->model.nodes[n->node].frame_s));
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
	if (node_missed(node) >= 1)
		screen_format(++y, 2, width, ROLE_BAD, "no sample covers %s since the start",
			      unit_seconds(bytes, node_missed(node)));
	if (!node->why)
		return;
	unit_clean(clean, sizeof(clean), node->why, 0);
	for (unsigned i = 0; ++y < end_y && fold_line(clean, width - 5, i, line, sizeof(line)); i++)
		screen_put(y, 2, width, ROLE_BAD, line);
}
