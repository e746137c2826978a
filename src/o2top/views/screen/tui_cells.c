/* SPDX-License-Identifier: MIT */
/*
 * tui_cells.c - the cells of a line on the screen, their widths, and the columns that fit.
 */
#include "tui_impl.h"

#include "o2top/base/units.h"

#include <stdio.h>
#include <string.h>

/* A wait of this many seconds is more than normal traffic. The cell marks the wait. */
#define LONG_WAIT_S 1.0

struct line cell_line(const struct ui *ui, const struct change *sum, double lost_per_s,
		      double acquired_per_s)
{
	const struct frame f = {
	    .model = &ui->shot->model, .group = &ui->shot->group, .single = ui->shot->single};

	return line_of(&f, sum, lost_per_s, acquired_per_s);
}

void cell_fill(struct cell *cell, const struct column *c, const struct line *l)
{
	char text[CELL_MAX];
	bool is_long;

	column_text(c, l, text);
	is_long = c->form == FORM_AGE && *text != '-' && l->sum->oldest_s >= LONG_WAIT_S;
	snprintf(cell->text, sizeof(cell->text), "%s%.62s", is_long ? "!" : "", text);
	if (is_long || c->form == FORM_TREND)
		cell->role = is_long ? ROLE_LONG : ROLE_TREND;
}

/* ---- widths --------------------------------------------------------------------------------- */

/* The width of the mark and the rank before the cells, and the least width of the label. */
enum { BEFORE = 6, LABEL_LEAST = 24, AGE_LEAST = 4 };

static const struct change *item_sum(const struct ui *ui, const struct item *item)
{
	const struct row *rows = ui->shot->group.rows;

	switch (item->kind) {
	case ITEM_ROW:
		return &rows[item->row].sum;
	case ITEM_DIRECTORY:
		return &ui->list.directories.list[item->row].sum;
	case ITEM_HOST:
		return &ui->list.nodes[item->row].sum;
	case ITEM_NODE:
	case ITEM_PART:
		return &rows[item->row].nodes[item->at].sum;
	case ITEM_LOCK:
		return &rows[item->row].locksets[item->at].sum;
	default:
		return NULL;
	}
}

/* Returns the width of the widest AGE in the list. The title with the mark of reversal fits. */
static int age_width(const struct ui *ui)
{
	int width = AGE_LEAST;

	for (size_t i = 0; i < ui->list.n; i++) {
		struct cell cell;
		struct line line = {.sum = item_sum(ui, &ui->list.items[i])};

		if (!line.sum || !line.sum->waiting)
			continue;
		cell_fill(&cell, column_named("age", 3), &line);
		width = (int)strlen(cell.text) > width ? (int)strlen(cell.text) : width;
	}
	return width;
}

/* Sets the width of FS, and how many columns FILE saves if it leaves out each mount point. */
static void measure_fs(struct ui *ui, int *width)
{
	const struct row *rows = ui->shot->group.rows;
	uint32_t before = UINT32_MAX;

	*width = 2;
	ui->fs_saves = 8;
	/* many rows in a row are of one file system */
	for (size_t i = 0; i < ui->list.n_order; i++) {
		const struct row *row = &rows[ui->list.order[i]];
		const char *mount = ui->shot->model.spaces[row->space].mount;
		char name[CELL_MAX];
		int one;

		if (row->space == before)
			continue;
		before = row->space;
		one = fs_name(&ui->shot->model, row, name, sizeof(name));
		*width = one > *width ? one : *width;
		one = mount ? (int)strlen(mount) : 0;
		ui->fs_saves = one < ui->fs_saves ? one : ui->fs_saves;
	}
}

static float trend_most(const struct ui *ui)
{
	float most = 0;

	for (size_t i = 0; i < ui->list.n_order; i++)
		most = row_trend_most(&ui->shot->group.rows[ui->list.order[i]], TREND_WIDTH, most);
	return most;
}

void columns_measure(struct ui *ui)
{
	ui->trend_most = ui->own_trends ? 0 : trend_most(ui);
	for (size_t i = 0; i < COLUMNS; i++) {
		ui->widths[i] = columns[i].width;
		if (columns[i].form == FORM_AGE)
			ui->widths[i] = age_width(ui);
		else if (columns[i].form == FORM_FS)
			measure_fs(ui, &ui->widths[i]);
	}
}

/* Returns whether a column is shown if there is room. One file system needs no name in each row. */
static bool is_wanted(const struct ui *ui, int column)
{
	return columns[column].form != FORM_FS || ui->setup->columns ||
	       ui->shot->model.n_spaces > 1;
}

/*
 * Returns the width by which a column fits. AGE counts as wide, because columns must not come and
 * go with each wait. The label gets the rest.
 */
static int width_to_fit(const struct ui *ui, int column)
{
	return ui->widths[column] > columns[column].width ? ui->widths[column]
							  : columns[column].width;
}

size_t columns_fit(const struct ui *ui, int width, int *out)
{
	bool gone[COLUMNS] = {0};
	int total = BEFORE + LABEL_LEAST;
	size_t n = 0;

	for (size_t i = 0; i < ui->n_columns; i++) {
		gone[i] = !is_wanted(ui, ui->columns[i]);
		total += gone[i] ? 0 : width_to_fit(ui, ui->columns[i]) + 1;
		if (!gone[i] && columns[ui->columns[i]].form == FORM_FS)
			total -= ui->fs_saves;
	}
	while (total > width) {
		size_t least = COLUMNS;

		for (size_t i = 0; i < ui->n_columns; i++)
			if (!gone[i] && (least == COLUMNS || columns[ui->columns[i]].worth <
								 columns[ui->columns[least]].worth))
				least = i;
		if (least == COLUMNS)
			break;
		gone[least] = true;
		total -= width_to_fit(ui, ui->columns[least]) + 1;
	}
	for (size_t i = 0; i < ui->n_columns; i++)
		if (!gone[i])
			out[n++] = ui->columns[i];
	return n;
}

bool columns_show_fs(const struct ui *ui, int width)
{
	int fit[COLUMNS];
	size_t n = columns_fit(ui, width, fit);

	while (n > 0 && columns[fit[n - 1]].form != FORM_FS)
		n--;
	return n > 0;
}
