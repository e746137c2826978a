/* SPDX-License-Identifier: MIT */
/*
 * tui_cells.c - the table's columns, in one table.
 *
 * A row, a node's part in a row, and a directory have the same cells.
 */
#include "tui_impl.h"

#include "o2top/base/units.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* A wait of this many seconds is more than normal traffic. The cell marks the wait. */
#define LONG_WAIT_S 1.0

enum { TREND_WIDTH = 8 };

static bool has_rates(const struct cell_line *l)
{
	return !l->shot->single && l->shot->group.interval_s > 0;
}

static void cell_set(struct cell *c, const char *text, bool estimated)
{
	bool mark = estimated && strcmp(text, "0") != 0 && *text != '-';

	snprintf(c->text, sizeof(c->text), "%s%s", mark ? "~" : "", text);
}

static void fill_lost(struct cell *c, const struct cell_line *l)
{
	char a[UNIT_MAX];

	cell_set(c, has_rates(l) ? unit_rate(a, l->lost_per_s) : "-", change_estimated(l->sum));
}

static void fill_share(struct cell *c, const struct cell_line *l)
{
	double all = l->shot->group.totals.lost_per_s;
	char a[UNIT_MAX];

	cell_set(c, unit_share(a, has_rates(l) ? lost_share(l->lost_per_s, all) : NAN), false);
}

static void fill_trend(struct cell *c, const struct cell_line *l)
{
	unsigned n = !l->row ? 0 : l->row->n_trend < TREND_WIDTH ? l->row->n_trend : TREND_WIDTH;

	c->role = ROLE_TREND;
	if (n)
		unit_trend(c->text, l->row->trend + l->row->n_trend - n, n, l->trend_most,
			   l->ascii);
}

static void fill_waiting(struct cell *c, const struct cell_line *l)
{
	if (l->sum->waiting)
		snprintf(c->text, sizeof(c->text), "%u", l->sum->waiting);
	else
		strcpy(c->text, "-");
}

static void fill_age(struct cell *c, const struct cell_line *l)
{
	char range[UNIT_RANGE_MAX];
	bool is_long = l->sum->oldest_s >= LONG_WAIT_S;

	if (!l->sum->waiting || (l->sum->unproved && !change_age_known(l->sum))) {
		strcpy(c->text, "-");
		return;
	}
	unit_range(range, l->sum->oldest_s, l->sum->oldest_max_s);
	snprintf(c->text, sizeof(c->text), "%s%s", is_long ? "!" : "", range);
	if (is_long)
		c->role = ROLE_LONG;
}

static void fill_mean(struct cell *c, const struct cell_line *l)
{
	char a[UNIT_MAX];

	cell_set(c, unit_seconds(a, has_rates(l) ? change_mean(l->sum) : NAN),
		 change_estimated(l->sum));
}

static void fill_longest(struct cell *c, const struct cell_line *l)
{
	char a[UNIT_MAX];

	cell_set(c, unit_seconds(a, l->sum->longest_s > 0 ? change_longest(l->sum) : NAN),
		 l->sum->estimated_longest);
}

static void fill_acquired(struct cell *c, const struct cell_line *l)
{
	char a[UNIT_MAX];

	cell_set(c,
		 unit_count(a, has_rates(l) && !isnan(change_acquired(l->sum)) ? l->acquired_per_s
									       : NAN),
		 false);
}

static void fill_hit(struct cell *c, const struct cell_line *l)
{
	char a[UNIT_MAX];

	cell_set(c, unit_share(a, l->row ? row_hit_ratio(l->row) : NAN), false);
}

static void count_nodes(struct cell *c, unsigned n, bool seen)
{
	snprintf(c->text, sizeof(c->text), "%u%s", n, n && seen ? "?" : "");
}

static void fill_writers(struct cell *c, const struct cell_line *l)
{
	if (l->row && !isnan(change_acquired(l->sum)))
		count_nodes(c, l->row->n_writers, l->sum->seen);
	else if (l->row)
		strcpy(c->text, "-");
}

static void fill_readers(struct cell *c, const struct cell_line *l)
{
	if (l->row && !isnan(change_acquired(l->sum)))
		count_nodes(c, l->row->n_readers, l->sum->seen);
	else if (l->row)
		strcpy(c->text, "-");
}

static void fill_size(struct cell *c, const struct cell_line *l)
{
	char a[UNIT_MAX];

	if (l->row)
		cell_set(c, unit_bytes(a, l->row->size), false);
}

/* Writes the name of a row's file system. The width is limited, because FILE needs the room. */
enum { FS_MOST = 16 };

static int fs_name(const struct snapshot *shot, const struct row *row, char *buf, size_t size)
{
	char name[256];

	space_label(&shot->model.spaces[row->space], name, sizeof(name));
	return unit_clean(buf, size, name, FS_MOST);
}

static void fill_fs(struct cell *c, const struct cell_line *l)
{
	if (l->of)
		fs_name(l->shot, l->of, c->text, sizeof(c->text));
}

const struct column tui_columns[] = {
    {"lost", "LOST/s", "seconds waited per second, all nodes together (waiters on average)",
     SORT_LOST, 8, 100, false, fill_lost},
    {"share", "SHARE", "of all lost time", SORT_LOST, 5, 20, false, fill_share},
    {"trend", "TREND", "the last frames, newest right; one scale for all rows", SORT_KEYS,
     TREND_WIDTH, 40, true, fill_trend},
    {"waiting", "WAIT", "waits in progress; of OCFS2 nodes, of GFS2 processes", SORT_WAITING, 4, 90,
     false, fill_waiting},
    {"age", "AGE", "of the oldest wait in progress", SORT_AGE, 13, 95, false, fill_age},
    {"mean", "MEAN", "time lost per acquisition, cached ones too: far below a real wait", SORT_MEAN,
     8, 25, false, fill_mean},
    {"longest", "LONGEST", "longest wait that ended or lasts, whole; - if only a mean is known",
     SORT_LONGEST, 8, 80, false, fill_longest},
    {"acquired", "ACQ/s", "acquisitions per second, cached ones included", SORT_ACQUIRED, 5, 50,
     false, fill_acquired},
    {"hit", "HIT", "acquisitions without a request to the DLM; GFS2 only", SORT_HIT, 4, 15, false,
     fill_hit},
    {"writers", "WR", "nodes that wrote in the frame", SORT_WRITERS, 2, 70, false, fill_writers},
    {"readers", "RD", "nodes that read in the frame", SORT_READERS, 2, 65, false, fill_readers},
    {"size", "SIZE", "last known size, bytes; K is 1024", SORT_SIZE, 4, 10, false, fill_size},
    {"fs", "FS", "mount point, otherwise the lock space's name", SORT_KEYS, 0, 85, true, fill_fs},
};
static_assert(sizeof(tui_columns) / sizeof(tui_columns[0]) <= COLUMNS_MAX,
	      "struct ui has room for each column");
const size_t tui_n_columns = sizeof(tui_columns) / sizeof(tui_columns[0]);

int column_named(const char *name, size_t len)
{
	for (size_t i = 0; i < tui_n_columns; i++)
		if (strlen(tui_columns[i].name) == len &&
		    memcmp(tui_columns[i].name, name, len) == 0)
			return (int)i;
	return -1;
}

const char *tui_check_columns(const char *names)
{
	if (!names[strspn(names, " ,\t")])
		return "the list is empty";
	for (const char *p = names; *p;) {
		size_t len = strcspn(p, " ,\t");

		if (len && column_named(p, len) < 0)
			return p;
		p += len;
		p += strspn(p, " ,\t");
	}
	return NULL;
}

void tui_list_columns(FILE *out)
{
	for (size_t i = 0; i < tui_n_columns; i++)
		fprintf(out, "%-10s %s\n", tui_columns[i].name, tui_columns[i].about);
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
		struct cell_line line = {.sum = item_sum(ui, &ui->list.items[i])};

		if (!line.sum || !line.sum->waiting)
			continue;
		fill_age(&cell, &line);
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
		one = fs_name(ui->shot, row, name, sizeof(name));
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
	for (size_t i = 0; i < tui_n_columns; i++) {
		ui->widths[i] = tui_columns[i].width;
		if (tui_columns[i].fill == fill_age)
			ui->widths[i] = age_width(ui);
		else if (tui_columns[i].fill == fill_fs)
			measure_fs(ui, &ui->widths[i]);
	}
}

/* Returns whether a column is shown if there is room. One file system needs no name in each row. */
static bool is_wanted(const struct ui *ui, int column)
{
	return tui_columns[column].fill != fill_fs || ui->setup->columns ||
	       ui->shot->model.n_spaces > 1;
}

/*
 * Returns the width by which a column fits. AGE counts as wide, because columns must not come and
 * go with each wait. The label gets the rest.
 */
static int width_to_fit(const struct ui *ui, int column)
{
	return ui->widths[column] > tui_columns[column].width ? ui->widths[column]
							      : tui_columns[column].width;
}

size_t columns_fit(const struct ui *ui, int width, int *out)
{
	bool gone[COLUMNS_MAX] = {0};
	int total = BEFORE + LABEL_LEAST;
	size_t n = 0;

	for (size_t i = 0; i < ui->n_columns; i++) {
		gone[i] = !is_wanted(ui, ui->columns[i]);
		total += gone[i] ? 0 : width_to_fit(ui, ui->columns[i]) + 1;
		if (!gone[i] && tui_columns[ui->columns[i]].fill == fill_fs)
			total -= ui->fs_saves;
	}
	while (total > width) {
		size_t least = COLUMNS_MAX;

		for (size_t i = 0; i < ui->n_columns; i++)
			if (!gone[i] &&
			    (least == COLUMNS_MAX || tui_columns[ui->columns[i]].worth <
							 tui_columns[ui->columns[least]].worth))
				least = i;
		if (least == COLUMNS_MAX)
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
	int columns[COLUMNS_MAX];
	size_t n = columns_fit(ui, width, columns);

	while (n > 0 && tui_columns[columns[n - 1]].fill != fill_fs)
		n--;
	return n > 0;
}
