/* SPDX-License-Identifier: MIT */
/*
 * tui_rows.c - draws the table: its titles, and a line of each kind.
 */
#include "tui_impl.h"

#include "o2top/base/units.h"
#include "o2top/model/source.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

void draw_titles(struct ui *ui, int y, int width)
{
	int fit[COLUMNS], x = 6;
	size_t n = columns_fit(ui, width, fit);

	screen_fill(y, 0, width, ROLE_COLUMNS);
	screen_put(y, 4, width, ROLE_COLUMNS, "#");
	ui->n_titles = 0;
	ui->header_row = y;
	if (ui->by_node) {
		draw_node_titles(ui, y, width);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const struct column *c = &columns[fit[i]];
		const int wide = ui->widths[fit[i]];
		bool sorted = c->sort == ui->sort && (i == 0 || c->sort != SORT_LOST);
		char title[32];
		int pad;

		snprintf(title, sizeof(title), "%s%s", sorted && ui->reversed ? "^" : "", c->title);
		pad = c->left ? 0 : wide - (int)strlen(title);
		ui->titles[ui->n_titles].from = x;
		ui->titles[ui->n_titles].to = x + wide;
		ui->titles[ui->n_titles++].column = fit[i];
		screen_put(y, x + (pad > 0 ? pad : 0), x + wide,
			   sorted ? ROLE_SORTED : ROLE_COLUMNS, title);
		x += wide + 1;
	}
	ui->titles[ui->n_titles].from = x;
	ui->titles[ui->n_titles].to = width;
	ui->titles[ui->n_titles++].column = -1;
	screen_put(y, x + 1, width, ui->sort == SORT_NAME ? ROLE_SORTED : ROLE_COLUMNS,
		   ui->by_directory ? "DIRECTORY" : "FILE");
}

/* Draws the cells. Returns the column where the label begins. */
static int draw_cells(const struct ui *ui, int y, int width, enum role role,
		      const struct line *line)
{
	int fit[COLUMNS], x = 6;
	size_t n = columns_fit(ui, width, fit);

	for (size_t i = 0; i < n; i++) {
		const struct column *c = &columns[fit[i]];
		const int wide = ui->widths[fit[i]];
		struct cell cell = {.role = role};
		int pad;

		cell_fill(&cell, c, line);
		/* at the cursor all cells have one role, except a long wait */
		if (role == ROLE_SELECTED && cell.role != ROLE_LONG)
			cell.role = role;
		else if (role == ROLE_HOT && cell.role == ROLE_TREND)
			cell.role = role;
		pad = c->left ? 0 : wide - (int)strlen(cell.text);
		screen_put(y, x + (pad > 0 ? pad : 0), x + wide + 1, cell.role, cell.text);
		x += wide + 1;
	}
	return x + 1;
}

/* Removes the mount point from the path of a row, because the column FS has the mount point. */
static void strip_mount(const struct ui *ui, const struct row *row, char *path)
{
	const char *mount = ui->shot->model.spaces[row->space].mount;
	size_t n = mount ? strlen(mount) : 0;

	if (n && strncmp(path, mount, n) == 0 && path[n] == '/' && path[n + 1])
		memmove(path, path + n + 1, strlen(path + n));
}

/*
 * Draws the label of a row. A path that is too wide loses its mount point if FS shows the mount
 * point. Then the path loses its beginning, because its end tells the most. A number that is too
 * wide, or beside FS, loses the name of its file system.
 */
static void draw_label(const struct ui *ui, int y, int x, int width, enum role role,
		       const struct row *row, bool in_directory)
{
	char raw[NAME_MAX_TEXT], clean[NAME_MAX_TEXT];
	int room = width - x > 8 ? width - x : 8;
	bool fs = columns_show_fs(ui, width);

	item_label(ui, row, in_directory, raw, sizeof(raw));
	if ((!row->path || ui->paths == PATH_INODE) && (fs || (int)strlen(raw) > room)) {
		struct row plain = *row;

		plain.path = NULL;
		row_label(&ui->shot->model, &plain, false, raw, sizeof(raw));
	} else if (fs && (int)strlen(raw) > room) {
		strip_mount(ui, row, raw);
	}
	unit_clean(clean, sizeof(clean), raw, room);
	screen_put(y, x, width, role, clean);
}

static void draw_row(const struct ui *ui, int y, int width, const struct item *item, bool selected)
{
	const struct row *row = &ui->shot->group.rows[item->row];
	struct line line =
	    cell_line(ui, &row->sum, row->lost_per_s, row_acquired_per_s(&ui->shot->model, row));
	enum role role = selected ? ROLE_SELECTED : row->hot ? ROLE_HOT : ROLE_PLAIN;
	char rank[16];
	int x;

	line.row = line.of = row;
	line.trend_most = ui->trend_most;
	line.ascii = ui->setup->view->ascii;
	/* the rank has room for three digits: 12345 is 12k */
	snprintf(rank, sizeof(rank), row->rank < 1000 ? "%u" : "%uk",
		 row->rank < 1000 ? row->rank : row->rank / 1000);
	screen_format(y, 1, 6, role, "%s%3s%s", row->hot ? "*" : " ", rank,
		      item_is_open(ui, item) ? "-" : " ");
	x = draw_cells(ui, y, width, role, &line);
	draw_label(ui, y, x + 2 * item->depth, width, role, row, item->depth > 0);
}

static void draw_directory(const struct ui *ui, int y, int width, const struct item *item,
			   bool selected)
{
	const struct directory *d = &ui->list.directories.list[item->row];
	const struct row *first = &ui->shot->group.rows[ui->list.directories.order[d->first]];
	struct line line = cell_line(ui, &d->sum, d->lost_per_s, d->acquired_per_s);
	enum role role = selected ? ROLE_SELECTED : d->n_hot ? ROLE_HOT : ROLE_PLAIN;
	char raw[NAME_MAX_TEXT], clean[NAME_MAX_TEXT];
	int x;

	line.of = *d->path ? first : NULL;
	screen_format(y, 1, 6, role, "%s%3u%s", d->n_hot ? "*" : " ", item->row + 1,
		      item_is_open(ui, item) ? "-" : "+");
	x = draw_cells(ui, y, width, role, &line);
	if (*d->path)
		snprintf(raw, sizeof(raw), "%.1000s%s  (%u)", d->path,
			 d->path[strlen(d->path) - 1] == '/' ? "" : "/", d->n_rows);
	else
		snprintf(raw, sizeof(raw), "no path known  (%u)", d->n_rows);
	unit_clean(clean, sizeof(clean), raw, width - x > 8 ? width - x : 8);
	screen_put(y, x, width, role, clean);
}

void node_use(const struct change *c, char *buf, size_t size)
{
	size_t n = (size_t)snprintf(buf, size, "%s%s%s%s", c->wrote ? "wrote" : "",
				    c->wrote && c->read ? " and " : "", c->read ? "read" : "",
				    c->seen && (c->wrote || c->read) ? "?" : "");

	if (c->waiting)
		snprintf(buf + n, size - n, "%s%swaits%s", n ? ", " : "",
			 change_own_waits(c) ? "" : "another node ", change_wish(c));
}

static void draw_node(const struct ui *ui, int y, int width, const struct item *item, bool selected)
{
	const struct row *row = &ui->shot->group.rows[item->row];
	const struct row_node *n = &row->nodes[item->at];
	const struct node *node = &ui->shot->model.nodes[n->node];
	struct line line =
	    cell_line(ui, &n->sum, n->lost_per_s, change_rate(&n->sum, node->frame_s));
	enum role role = selected ? ROLE_SELECTED : n->sum.waiting ? ROLE_HOT : ROLE_PLAIN;
	char name[NAME_MAX_TEXT], use[80];
	int x = draw_cells(ui, y, width, role, &line) + 2 * (item->depth - 1);

	unit_clean(name, sizeof(name), node->name, 0);
	node_use(&n->sum, use, sizeof(use));
	x = screen_format(y, x, width, selected ? role : ROLE_FAINT, "%s ", item_branch(ui, item));
	screen_format(y, x, width, role, "%s  %s", name, use);
}

static void draw_lock(const struct ui *ui, int y, int width, const struct item *item, bool selected)
{
	const struct row *row = &ui->shot->group.rows[item->row];
	const struct lockset *set = &row->locksets[item->at];
	const struct source *source = ui->shot->model.spaces[row->space].source;
	struct line line = cell_line(ui, &set->sum, set->lost_per_s, set->acquired_per_s);
	enum role role = selected ? ROLE_SELECTED : ROLE_PLAIN;
	char name[64], nodes[NAME_MAX_TEXT] = "", node[NAME_MAX_TEXT];
	size_t n = 0;
	int x = draw_cells(ui, y, width, role, &line) + 2 * (item->depth - 1);

	source->lock_name(set->members[0].lock, name, sizeof(name));
	for (uint32_t i = 0; i < set->n_members && n < sizeof(nodes) - 1; i++) {
		unit_clean(node, sizeof(node), ui->shot->model.nodes[set->members[i].node].name,
			   64);
		n += (size_t)snprintf(nodes + n, sizeof(nodes) - n, " %s", node);
	}
	x = screen_format(y, x, width, selected ? role : ROLE_FAINT, "%s ", item_branch(ui, item));
	x = screen_put(y, x, width, role, source->type_name(set->members[0].lock->id.type));
	x = screen_put(y, x, width, role, nodes);
	screen_format(y, x + 2, width, selected ? role : ROLE_FAINT, "%s", name);
}

static void draw_process(const struct ui *ui, int y, int width, const struct item *item,
			 bool selected)
{
	const struct member *member = &ui->shot->group.members[item->at];
	uint32_t n;
	const struct holder *h = snapshot_holders(ui->shot, member, &n) + item->nth;
	char text[PROCESS_TEXT_MAX];
	int x = 8;

	process_text(&ui->shot->model, member, h, text);
	screen_format(y, x, width,
		      selected   ? ROLE_SELECTED
		      : h->waits ? ROLE_HOT
				 : ROLE_PLAIN,
		      "%s %s", item_branch(ui, item), text);
}

const char *text_mark(const struct ui *ui, enum about about, enum role *role)
{
	*role = about == ABOUT_SENTENCE ? ROLE_HOT
		: about == ABOUT_NOTE   ? ROLE_BAD
		: about == ABOUT_TIMES  ? ROLE_PLAIN
					: ROLE_ADVICE;
	if (about == ABOUT_TIMES)
		return "";
	if (about == ABOUT_SENTENCE)
		return "!";
	if (about == ABOUT_NOTE)
		return "?";
	return ui->setup->view->ascii ? "->" : "→";
}

static void draw_text(const struct ui *ui, int y, int width, const struct item *item, bool selected)
{
	char text[TEXT_MAX], line[TEXT_MAX];
	enum role role;
	const char *mark = text_mark(ui, item->nth, &role);

	if (item_text(ui, item->row, item->nth, text, sizeof(text)) &&
	    fold_line(text, width - 10, item->at, line, sizeof(line)))
		screen_format(y, 6, width, selected ? ROLE_SELECTED : role, "%-2s %s",
			      item->at ? "" : mark, line);
}

static void draw_section(const struct ui *ui, int y, int width, const struct item *item,
			 bool selected)
{
	const char *title = item->row == SECTION_FILES ? "FILES" : "SYSTEM";
	size_t n = ui->list.n_section[item->row], left = ui->list.n_left[item->row];
	int x = screen_format(y, 1, width, ROLE_SECTION, "%s %zu", title, n);

	(void)selected;
	if (left)
		x = screen_format(y, x, width, ROLE_FAINT,
				  "  and %zu more that cost little: a shows them", left);
	if (item->row == SECTION_SYSTEM)
		return;
	if (*ui->filter)
		screen_format(y, x + 2, width, ROLE_BAD, "only rows with \"%s\": \\ changes it",
			      ui->filter);
	else if (ui->hot_only)
		screen_put(y, x + 2, width, ROLE_BAD, "only hot rows: o shows all");
}

static void draw_nothing(const struct ui *ui, int y, int width, const struct item *item,
			 bool selected)
{
	(void)item;
	(void)selected;
	if (*ui->filter)
		screen_format(y, 4, width, ROLE_BAD,
			      "no row here has \"%s\": \\ and then Esc removes the filter",
			      ui->filter);
	else
		screen_put(y, 4, width, ROLE_PLAIN,
			   ui->setup->view->filtered || ui->hot_only ? "no file in use matches"
			   : ui->shot->single                        ? "no file has waits"
								     : "no file is in use");
}

void draw_item(const struct ui *ui, int y, int width, const struct item *item, bool selected)
{
	static void (*const draw_kind[])(const struct ui *ui, int y, int width,
					 const struct item *item, bool selected) = {
	    [ITEM_SECTION] = draw_section,     [ITEM_ROW] = draw_row,
	    [ITEM_DIRECTORY] = draw_directory, [ITEM_NODE] = draw_node,
	    [ITEM_HOST] = draw_node_line,      [ITEM_PART] = draw_node_row,
	    [ITEM_LOCK] = draw_lock,           [ITEM_PROCESS] = draw_process,
	    [ITEM_TEXT] = draw_text,           [ITEM_NOTHING] = draw_nothing,
	};

	if (selected)
		screen_fill(y, 0, width, ROLE_SELECTED);
	draw_kind[item->kind](ui, y, width, item, selected);
	if (selected)
		screen_put(y, 0, width, ROLE_SELECTED, ">");
}
