/* SPDX-License-Identifier: MIT */
/*
 * A screen: the head (what is watched, nodes, time lost, the most urgent thing), the table, what
 * there is to say of the row at the cursor, and the keys. Curses sends what changed.
 */
#include "tui.h"

#include "../sources/source.h"
#include "units.h"

#include <curses.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { NAME_MAX_TEXT = 1200 };

/* A wait this long is no traffic. */
#define LONG_WAIT_S 1.0

/* ---- the head ------------------------------------------------------------------------------ */

static void replay_state(const struct ui *ui, char *buf, size_t size)
{
	const struct engine_status *st = &ui->status;
	char speed[UNIT_MAX];

	if (ui->setup->engine.collector->replay) {
		snprintf(speed, sizeof(speed), "%g", st->speed);
		snprintf(buf, size, "%s %zu/%zu x%s",
			 st->ended    ? "END"
			 : st->paused ? "PAUSED"
				      : "replay",
			 ui->shot ? ui->shot->position : 0, ui->shot ? ui->shot->count : 0, speed);
		return;
	}
	snprintf(buf, size, "%severy %g s%s",
		 ui->held     ? "PAUSED "
		 : st->ended  ? "END "
		 : st->paused ? "PAUSED "
			      : "",
		 st->interval_s, ui->setup->recording ? " REC" : "");
}

static void draw_title(const struct ui *ui, int y, int width)
{
	char title[NAME_MAX_TEXT], when[40] = "", state[96], span[UNIT_MAX];
	int x = screen_put(y, 0, width, ROLE_TITLE, "o2top"), end;

	replay_state(ui, state, sizeof(state));
	end = width - (int)strlen(state) - 1;
	screen_put(y, end + 1, width,
		   ui->held || ui->status.paused || ui->status.ended ? ROLE_BAD : ROLE_FAINT,
		   state);
	unit_clean(title, sizeof(title), ui->setup->title, width > 100 ? 60 : width / 3);
	x = screen_format(y, x, end, ROLE_PLAIN, "  %s", title);
	if (!ui->shot)
		return;
	if (ui->shot->group.time_us) {
		time_t t = (time_t)(ui->shot->group.time_us / 1000000);
		struct tm tm;

		if (localtime_r(&t, &tm))
			strftime(when, sizeof(when), "  %F %T", &tm);
	}
	x = screen_put(y, x, end, ROLE_PLAIN, when);
	if (*ui->shot->label) {
		unit_clean(title, sizeof(title), ui->shot->label, 16);
		x = screen_format(y, x, end, ROLE_FAINT, "  %s", title);
	}
	if (ui->shot->group.interval_s > 0)
		screen_format(y, x, end, ROLE_FAINT, "  over %s",
			      unit_seconds(span, ui->shot->group.interval_s));
}

static bool bad_node(const struct node *n)
{
	return n->state != NODE_OK;
}

/* All nodes where there is room; else those that are not well, and how many are. */
static void draw_nodes(const struct ui *ui, int y, int width)
{
	const struct model *m = &ui->shot->model;
	char name[NAME_MAX_TEXT], span[UNIT_MAX];
	int need = 6, x;
	size_t good = 0;
	bool all;

	for (size_t i = 0; i < m->n_nodes; i++) {
		need += (int)strlen(m->nodes[i].name) + 12;
		good += !bad_node(&m->nodes[i]);
	}
	all = need <= width || m->n_nodes == 1;
	x = screen_put(y, 0, width, ROLE_FAINT, "nodes");
	for (size_t i = 0; i < m->n_nodes; i++) {
		const struct node *n = &m->nodes[i];

		unit_clean(name, sizeof(name), n->name, 0);
		if (bad_node(n))
			x = screen_format(y, x + 2, width, ROLE_BAD, "!%s %s", name,
					  node_state_names[n->state]);
		else if (all && !isnan(n->interval_s))
			x = screen_format(y, x + 2, width, ROLE_GOOD, "%s ok %s", name,
					  unit_seconds(span, n->interval_s));
		else if (all)
			x = screen_format(y, x + 2, width, ROLE_GOOD, "%s ok", name);
	}
	if (!all)
		screen_format(y, x + 2, width, good == m->n_nodes ? ROLE_GOOD : ROLE_PLAIN,
			      "%zu of %zu ok", good, m->n_nodes);
}

/* Bars of the time lost in the last frames, in as much room as there is. */
static int draw_history(const struct ui *ui, int y, int x, int end)
{
	float lost[HISTORY_MAX];
	char bars[4 * HISTORY_MAX + 1];
	unsigned room = end > x ? (unsigned)(end - x) : 0;
	unsigned n = engine_history(ui->engine, lost, room < 60 ? room : 60);

	if (n < 2)
		return x;
	return screen_put(y, x, end, ROLE_TREND, unit_trend(bars, lost, n, ui->setup->view->ascii));
}

static void draw_totals(const struct ui *ui, int y, int width)
{
	const struct totals *t = &ui->shot->group.totals;
	bool rates = !ui->shot->single && ui->shot->group.interval_s > 0;
	char a[UNIT_MAX], range[UNIT_RANGE_MAX], right[160];
	int x, end;

	snprintf(right, sizeof(right), "  %zu hot of %zu rows  %s locks", t->hot, t->rows,
		 unit_count(a, (double)t->locks));
	end = width - (int)strlen(right);
	if (!rates)
		x = screen_put(y, 0, width, ROLE_FAINT, "one sample: who waits now, no rates yet");
	else
		x = screen_format(y, 0, width, ROLE_TITLE, "lost %s%s/s",
				  change_estimated(&t->sum) ? "~" : "",
				  unit_rate(a, t->lost_per_s));
	if (t->sum.waiting) {
		unit_range(range, t->sum.oldest_s, t->sum.oldest_max_s);
		x = screen_format(y, x + 2, width, ROLE_HOT, "waiting %u, the oldest %s",
				  t->sum.waiting, range);
	} else {
		x = screen_put(y, x + 2, width, ROLE_PLAIN, "nobody waiting");
	}
	if (rates)
		x = draw_history(ui, y, x + 2, end);
	if (x <= end)
		screen_put(y, end, width, ROLE_FAINT, right);
}

/* ---- the table ----------------------------------------------------------------------------- */

static void draw_titles(struct ui *ui, int y, int width)
{
	int columns[COLUMNS_MAX], x = 6;
	size_t n = columns_fit(ui, width, columns);

	screen_fill(y, 0, width, ROLE_COLUMNS);
	screen_put(y, 4, width, ROLE_COLUMNS, "#");
	ui->n_titles = 0;
	ui->header_row = y;
	for (size_t i = 0; i < n; i++) {
		const struct column *c = &tui_columns[columns[i]];
		bool sorted = c->sort == ui->sort && (i == 0 || c->sort != SORT_LOST);
		char title[32];
		int pad;

		snprintf(title, sizeof(title), "%s%s", sorted && ui->reversed ? "^" : "", c->title);
		pad = c->left ? 0 : c->width - (int)strlen(title);
		ui->titles[ui->n_titles].from = x;
		ui->titles[ui->n_titles].to = x + c->width;
		ui->titles[ui->n_titles++].column = columns[i];
		screen_put(y, x + (pad > 0 ? pad : 0), x + c->width,
			   sorted ? ROLE_SORTED : ROLE_COLUMNS, title);
		x += c->width + 1;
	}
	ui->titles[ui->n_titles].from = x;
	ui->titles[ui->n_titles].to = width;
	ui->titles[ui->n_titles++].column = -1;
	screen_put(y, x + 1, width, ui->sort == SORT_NAME ? ROLE_SORTED : ROLE_COLUMNS,
		   ui->by_directory ? "DIRECTORY" : "FILE");
}

/* The cells; returns where the label begins. */
static int draw_cells(const struct ui *ui, int y, int width, enum role role,
		      const struct cell_line *line)
{
	int columns[COLUMNS_MAX], x = 6;
	size_t n = columns_fit(ui, width, columns);

	for (size_t i = 0; i < n; i++) {
		const struct column *c = &tui_columns[columns[i]];
		struct cell cell = {.role = role};
		int pad;

		c->fill(&cell, line);
		/* at the cursor everything looks the same, but for what is urgent */
		if (role == ROLE_SELECTED && cell.role != ROLE_LONG)
			cell.role = role;
		else if (role == ROLE_HOT && cell.role == ROLE_TREND)
			cell.role = role;
		pad = c->left ? 0 : c->width - (int)strlen(cell.text);
		screen_put(y, x + (pad > 0 ? pad : 0), x + c->width + 1, cell.role, cell.text);
		x += c->width + 1;
	}
	return x + 1;
}

/* Of a path the end tells most; of a number its file system can go. */
static void draw_label(const struct ui *ui, int y, int x, int width, enum role role,
		       const struct row *row, bool in_directory)
{
	char raw[NAME_MAX_TEXT], clean[NAME_MAX_TEXT];
	int room = width - x > 8 ? width - x : 8;

	item_label(ui, row, in_directory, raw, sizeof(raw));
	if (!row->path && (int)strlen(raw) > room)
		row_label(&ui->shot->model, row, false, raw, sizeof(raw));
	unit_clean(clean, sizeof(clean), raw, room);
	screen_put(y, x, width, role, clean);
}

static void draw_row(const struct ui *ui, int y, int width, const struct item *item, bool selected)
{
	const struct row *row = &ui->shot->group.rows[item->row];
	struct cell_line line = {.shot = ui->shot,
				 .sum = &row->sum,
				 .lost_per_s = row->lost_per_s,
				 .acquired_per_s = row_acquired_per_s(&ui->shot->model, row),
				 .row = row,
				 .ascii = ui->setup->view->ascii};
	enum role role = selected ? ROLE_SELECTED : row->hot ? ROLE_HOT : ROLE_PLAIN;
	int x;

	screen_format(y, 1, 6, role, "%s%3u%s", row->hot ? "*" : " ", row->rank,
		      item_is_open(ui, item) ? "-" : " ");
	x = draw_cells(ui, y, width, role, &line);
	draw_label(ui, y, x + 2 * item->depth, width, role, row, item->depth > 0);
}

static void draw_directory(const struct ui *ui, int y, int width, const struct item *item,
			   bool selected)
{
	const struct directory *d = &ui->list.directories[item->row];
	struct cell_line line = {.shot = ui->shot,
				 .sum = &d->sum,
				 .lost_per_s = d->lost_per_s,
				 .acquired_per_s = d->acquired_per_s};
	enum role role = selected ? ROLE_SELECTED : d->n_hot ? ROLE_HOT : ROLE_PLAIN;
	char raw[NAME_MAX_TEXT], clean[NAME_MAX_TEXT];
	int x;

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

static const char *branch(const struct ui *ui, const struct item *item)
{
	if (ui->setup->view->ascii)
		return item->last ? "`-" : "|-";
	return item->last ? "└─" : "├─";
}

/* "wrote and read, waits to write" */
static void node_use(const struct change *c, char *buf, size_t size)
{
	size_t n = (size_t)snprintf(buf, size, "%s%s%s%s", c->wrote ? "wrote" : "",
				    c->wrote && c->read ? " and " : "", c->read ? "read" : "",
				    c->seen && (c->wrote || c->read) ? "?" : "");

	if (c->waiting)
		snprintf(buf + n, size - n, "%swaits to %s", n ? ", " : "",
			 c->wants_ex ? "write" : "read");
}

static void draw_node(const struct ui *ui, int y, int width, const struct item *item, bool selected)
{
	const struct row *row = &ui->shot->group.rows[item->row];
	const struct row_node *n = &row->nodes[item->at];
	const struct node *node = &ui->shot->model.nodes[n->node];
	struct cell_line line = {
	    .shot = ui->shot,
	    .sum = &n->sum,
	    .lost_per_s = n->lost_per_s,
	    .acquired_per_s = node->frame_s > 0 ? (double)n->sum.acquired / node->frame_s : 0};
	enum role role = selected ? ROLE_SELECTED : n->sum.waiting ? ROLE_HOT : ROLE_PLAIN;
	char name[NAME_MAX_TEXT], use[80];
	int x = draw_cells(ui, y, width, role, &line) + 2 * (item->depth - 1);

	unit_clean(name, sizeof(name), node->name, 0);
	node_use(&n->sum, use, sizeof(use));
	x = screen_format(y, x, width, selected ? role : ROLE_FAINT, "%s ", branch(ui, item));
	screen_format(y, x, width, role, "%s  %s", name, use);
}

static void draw_lock(const struct ui *ui, int y, int width, const struct item *item, bool selected)
{
	const struct row *row = &ui->shot->group.rows[item->row];
	const struct lockset *set = &row->locksets[item->at];
	const struct source *source = ui->shot->model.spaces[row->space].source;
	double s = ui->shot->group.interval_s;
	struct cell_line line = {.shot = ui->shot,
				 .sum = &set->sum,
				 .lost_per_s = s > 0 ? set->sum.lost_s / s : 0,
				 .acquired_per_s = s > 0 ? (double)set->sum.acquired / s : 0};
	enum role role = selected ? ROLE_SELECTED : ROLE_PLAIN;
	char name[64], nodes[NAME_MAX_TEXT] = "";
	size_t n = 0;
	int x = draw_cells(ui, y, width, role, &line) + 2 * (item->depth - 1);

	source->lock_name(set->members[0].lock, name, sizeof(name));
	for (uint32_t i = 0; i < set->n_members && n < sizeof(nodes) - 80; i++)
		n += (size_t)snprintf(nodes + n, sizeof(nodes) - n, " %.64s",
				      ui->shot->model.nodes[set->members[i].node].name);
	x = screen_format(y, x, width, selected ? role : ROLE_FAINT, "%s ", branch(ui, item));
	x = screen_put(y, x, width, role, source->type_name(set->members[0].lock->id.type));
	x = screen_put(y, x, width, role, nodes);
	screen_format(y, x + 2, width, selected ? role : ROLE_FAINT, "%s", name);
}

static void process_text(const struct ui *ui, const struct member *member, const struct holder *h,
			 char *buf, size_t size)
{
	const struct node *node = &ui->shot->model.nodes[member->node];
	char name[256], comm[4 * sizeof(h->comm) + 16], who[160], age[UNIT_MAX], since[64] = "";

	unit_clean(name, sizeof(name), node->name, 0);
	unit_clean(comm, sizeof(comm), h->comm, 0);
	if (h->pid)
		snprintf(who, sizeof(who), "pid %lld %s", (long long)h->pid, comm);
	else
		snprintf(who, sizeof(who), "a process that GFS2 does not name");
	if (h->waits && h->counted)
		snprintf(
		    since, sizeof(since), " since %s",
		    unit_seconds(age, 1e-6 * (double)(node_when(node, 1)->mono_us - h->seen_us)));
	snprintf(buf, size, "%s: %s %s %s%s", name, who, h->waits ? "waits for" : "holds",
		 holder_modes[h->state], since);
}

static void draw_process(const struct ui *ui, int y, int width, const struct item *item,
			 bool selected)
{
	const struct member *member = &ui->shot->group.members[item->at];
	uint32_t n;
	const struct holder *h = snapshot_holders(ui->shot, member, &n) + item->nth;
	char text[512];
	int x = 8;

	process_text(ui, member, h, text, sizeof(text));
	screen_format(y, x, width,
		      selected   ? ROLE_SELECTED
		      : h->waits ? ROLE_HOT
				 : ROLE_PLAIN,
		      "%s %s", branch(ui, item), text);
}

/* What stands before a text, and how it looks. */
static const char *text_mark(const struct ui *ui, enum about about, enum role *role)
{
	*role = about == ABOUT_SENTENCE ? ROLE_HOT : about == ABOUT_NOTE ? ROLE_BAD : ROLE_ADVICE;
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

static void draw_section(const struct ui *ui, int y, int width, const struct item *item)
{
	const char *title = item->row == SECTION_FILES ? "FILES" : "SYSTEM";
	size_t n = ui->list.n_section[item->row], left = ui->list.n_left[item->row];
	int x = screen_format(y, 1, width, ROLE_SECTION, "%s %zu", title, n);

	if (left)
		x = screen_format(y, x, width, ROLE_FAINT,
				  "  and %zu more that cost little: a shows them", left);
	if (item->row == SECTION_SYSTEM)
		return;
	if (*ui->filter)
		screen_format(y, x + 2, width, ROLE_BAD, "only what holds \"%s\": \\ changes it",
			      ui->filter);
	else if (ui->hot_only)
		screen_put(y, x + 2, width, ROLE_BAD, "only hot ones: o shows all");
}

static void draw_nothing(const struct ui *ui, int y, int width)
{
	if (*ui->filter)
		screen_format(y, 4, width, ROLE_BAD,
			      "nothing here holds \"%s\": Esc in \\ takes the filter away",
			      ui->filter);
	else
		screen_put(y, 4, width, ROLE_PLAIN,
			   ui->setup->view->filtered || ui->hot_only
			       ? "no file is what was asked for"
			   : ui->shot->single ? "no file is waited for"
					      : "no file is in use");
}

static void draw_item(const struct ui *ui, int y, int width, const struct item *item, bool selected)
{
	if (selected)
		screen_fill(y, 0, width, ROLE_SELECTED);
	switch ((enum item_kind)item->kind) {
	case ITEM_SECTION:
		draw_section(ui, y, width, item);
		break;
	case ITEM_ROW:
		draw_row(ui, y, width, item, selected);
		break;
	case ITEM_DIRECTORY:
		draw_directory(ui, y, width, item, selected);
		break;
	case ITEM_NODE:
		draw_node(ui, y, width, item, selected);
		break;
	case ITEM_LOCK:
		draw_lock(ui, y, width, item, selected);
		break;
	case ITEM_PROCESS:
		draw_process(ui, y, width, item, selected);
		break;
	case ITEM_TEXT:
		draw_text(ui, y, width, item, selected);
		break;
	case ITEM_NOTHING:
		draw_nothing(ui, y, width);
		break;
	}
	if (selected)
		screen_put(y, 0, width, ROLE_SELECTED, ">");
}

/* ---- what there is to say of the row at the cursor ----------------------------------------- */

static const struct row *row_here(const struct ui *ui)
{
	const struct item *item = ui->cursor < ui->list.n ? &ui->list.items[ui->cursor] : NULL;

	if (!item || item->kind == ITEM_SECTION || item->kind == ITEM_DIRECTORY ||
	    item->kind == ITEM_NOTHING)
		return NULL;
	return &ui->shot->group.rows[item->row];
}

static void draw_about(const struct ui *ui, int y, int width, const struct row *row)
{
	const struct space *space = &ui->shot->model.spaces[row->space];
	char raw[NAME_MAX_TEXT], clean[NAME_MAX_TEXT], size[UNIT_MAX];
	const char *kind = row_kind(row);
	int x;

	row_label(&ui->shot->model, row, false, raw, sizeof(raw));
	unit_clean(clean, sizeof(clean), raw, width / 2);
	x = screen_put(y, 0, width, ROLE_PATH, clean);
	if (row->path && !row->id.class)
		x = screen_format(y, x, width, ROLE_FAINT, "  inode %llu",
				  (unsigned long long)row->id.number);
	if (kind)
		x = screen_format(y, x, width, ROLE_FAINT, ", %s", kind);
	if (row->size != UINT64_MAX && row->kind == DT_REG)
		x = screen_format(y, x, width, ROLE_FAINT, " of %s", unit_bytes(size, row->size));
	screen_format(y, x, width, ROLE_FAINT, "  %s %.40s", space->source->name, space->name);
}

/* Who waits or holds, a line each, as far as there is room; the waiting ones first. */
static int draw_who(const struct ui *ui, int y, int end_y, int width, const struct row *row)
{
	char text[512];

	for (int waits = 1; waits >= 0; waits--)
		for (uint32_t i = 0; i < row->n_locksets; i++)
			for (uint32_t j = 0; j < row->locksets[i].n_members; j++) {
				const struct member *member = &row->locksets[i].members[j];
				const struct holder *h;
				uint32_t n;

				h = snapshot_holders(ui->shot, member, &n);
				for (; n-- && y < end_y; h++) {
					if (h->waits != waits || !h->pid)
						continue;
					process_text(ui, member, h, text, sizeof(text));
					screen_put(y++, 2, width, waits ? ROLE_HOT : ROLE_PLAIN,
						   text);
				}
			}
	return y;
}

static int draw_waiting_nodes(const struct ui *ui, int y, int end_y, int width,
			      const struct row *row)
{
	const struct row_node *first = NULL;
	char name[256], range[UNIT_RANGE_MAX], use[80];

	for (uint32_t i = 0; i < row->n_nodes && y < end_y; i++) {
		const struct row_node *n = &row->nodes[i];

		if (!n->sum.waiting)
			continue;
		first = first ? first : n;
		unit_clean(name, sizeof(name), ui->shot->model.nodes[n->node].name, 0);
		node_use(&n->sum, use, sizeof(use));
		screen_format(y++, 2, width, ROLE_HOT, "%s: %s since %s", name, use,
			      unit_range(range, n->sum.oldest_s, n->sum.oldest_max_s));
	}
	/* who is asked next, where the sentence above does not name the process */
	if (first && y < end_y && first->sum.oldest_s >= LONG_WAIT_S &&
	    !(row->sentence && strstr(row->sentence, "(pid "))) {
		unit_clean(name, sizeof(name), ui->shot->model.nodes[first->node].name, 0);
		screen_format(
		    y++, 2, width, ROLE_FAINT,
		    "which process is not told here; on %s: ps -eo pid,stat,wchan:24,args", name);
	}
	return y;
}

/* Each text takes as many lines as it wants while there are any. */
static int draw_texts(const struct ui *ui, int y, int end_y, int width, uint32_t row)
{
	char text[TEXT_MAX], line[TEXT_MAX];

	for (int about = 0; about < ABOUTS; about++) {
		enum role role;
		const char *mark = text_mark(ui, about, &role);

		if (!item_text(ui, row, about, text, sizeof(text)))
			continue;
		for (unsigned i = 0; y < end_y && fold_line(text, width - 5, i, line, sizeof(line));
		     i++) {
			screen_put(y, 2, width, role, i ? "" : mark);
			screen_put(y++, 5, width, role, line);
		}
	}
	return y;
}

static void draw_pane(const struct ui *ui, int y, int end_y, int width)
{
	const struct row *row = row_here(ui);
	int x;

	for (x = 0; x < width; x++)
		screen_put(y, x, width, ROLE_FAINT, ui->setup->view->ascii ? "-" : "─");
	if (!row)
		return;
	draw_about(ui, ++y, width, row);
	y = draw_texts(ui, y + 1, end_y, width, (uint32_t)(row - ui->shot->group.rows));
	x = draw_who(ui, y, end_y, width, row);
	if (x == y)
		draw_waiting_nodes(ui, y, end_y, width, row);
}

/* ---- the last line, and pages over the table ----------------------------------------------- */

static void draw_keys(const struct ui *ui, int y, int width)
{
	static const struct {
		const char *key, *does;
	} live[] = {{"?", "Help"},  {"Enter", "Open"}, {"/", "Search"}, {"\\", "Filter"},
		    {"<>", "Sort"}, {"d", "Nodes"},    {"D", "Dirs"},   {"p", "Paths"},
		    {"z", "Pause"}, {"o", "Hot"},      {"a", "System"}, {"q", "Quit"}},
	  replay[] = {{"?", "Help"},  {"Enter", "Open"}, {"/", "Search"}, {"\\", "Filter"},
		      {"<>", "Sort"}, {"d", "Nodes"},    {"z", "Pause"},  {", .", "Step"},
		      {"g", "Go to"}, {"+-", "Speed"},   {"D", "Dirs"},   {"q", "Quit"}};
	const bool is_replay = ui->setup->engine.collector->replay != NULL;
	int x = 0;

	if (ui->prompt.kind) {
		char clean[2 * PROMPT_MAX];

		unit_clean(clean, sizeof(clean), ui->prompt.text, width - 30);
		x = screen_put(y, 0, width, ROLE_KEY, prompt_title(ui->prompt.kind));
		x = screen_put(y, x, width, ROLE_PLAIN, clean);
		screen_put(y, x, width, ROLE_SELECTED, " ");
		return;
	}
	if (*ui->message) {
		screen_put(y, 0, width, ROLE_BAD, ui->message);
		return;
	}
	for (size_t i = 0; i < sizeof(live) / sizeof(live[0]); i++) {
		const char *key = is_replay ? replay[i].key : live[i].key;
		const char *does = is_replay ? replay[i].does : live[i].does;

		if (x + (int)(strlen(key) + strlen(does)) + 1 > width)
			break;
		x = screen_put(y, x, width, ROLE_KEY, key);
		x = screen_put(y, x, width, ROLE_KEY_TEXT, does);
		x = screen_put(y, x, width, ROLE_PLAIN, " ");
	}
}

static void draw_help(struct ui *ui, int height, int width)
{
	char line[256];
	unsigned n = 0;

	while (key_help(n, line, sizeof(line)))
		n++;
	if (ui->help_top > (int)n - height + 1)
		ui->help_top = (int)n - height + 1;
	if (ui->help_top < 0)
		ui->help_top = 0;
	for (int y = 0; y < height - 1; y++) {
		if (!key_help((unsigned)(ui->help_top + y), line, sizeof(line)))
			break;
		screen_put(y, 1, width, line[0] == ' ' || !*line ? ROLE_PLAIN : ROLE_SECTION, line);
	}
	screen_put(height - 1, 0, width, ROLE_KEY,
		   (int)n > height - 1 ? "Up and Down scroll, any other key goes back"
				       : "any key goes back");
}

static void draw_problems(struct ui *ui, int height, int width)
{
	const struct problems *p = &ui->shot->problems;
	char clean[NAME_MAX_TEXT], line[NAME_MAX_TEXT];
	int y = 0;

	screen_format(y++, 0, width, ROLE_SECTION,
		      p->count ? "What could not be used in this frame: %zu" : "All could be used",
		      p->count);
	for (size_t i = 0; i < p->kept; i++) {
		unit_clean(clean, sizeof(clean), p->text[i], 0);
		for (unsigned j = 0;
		     y < height - 1 && fold_line(clean, width - 3, j, line, sizeof(line)); j++)
			screen_put(y++, j ? 3 : 1, width, ROLE_PLAIN, line);
	}
	if (p->count > p->kept && y < height - 1)
		screen_format(y, 1, width, ROLE_PLAIN, "and %zu more", p->count - p->kept);
	screen_put(height - 1, 0, width, ROLE_KEY, "any key goes back");
}

/* ---- all of it ----------------------------------------------------------------------------- */

enum { LEAST_ROWS = 10, LEAST_COLUMNS = 40 };

static int pane_height(int rows)
{
	return rows < 18 ? 0 : rows < 30 ? 7 : 10;
}

/* A table that is short leaves room for more to say. */
static int more_pane(const struct ui *ui, int pane, int table)
{
	int free_rows = ui->list.n < (size_t)table ? table - (int)ui->list.n - 1 : 0;

	return pane + (free_rows > 8 ? 8 : free_rows > 0 ? free_rows : 0);
}

/* What everybody must see, as far as the table keeps its room. */
static int draw_banners(const struct ui *ui, int y, int width)
{
	const struct model *m = &ui->shot->model;
	const struct problems *p = &ui->shot->problems;
	char raw[NAME_MAX_TEXT], clean[NAME_MAX_TEXT];
	int end_y = y + (screen_size().rows < 30 ? 2 : 5);

	for (size_t i = 0; i < m->banners.n && y < end_y; i++) {
		unit_clean(clean, sizeof(clean), m->banners.text[i], 0);
		screen_fill(y, 0, width, ROLE_BANNER);
		screen_format(y++, 0, width, ROLE_BANNER, "!! %s", clean);
	}
	for (size_t i = 0; i < m->n_nodes && y < end_y; i++) {
		if (!m->nodes[i].why)
			continue;
		snprintf(raw, sizeof(raw), "%.100s: %.1000s", m->nodes[i].name, m->nodes[i].why);
		unit_clean(clean, sizeof(clean), raw, 0);
		screen_format(y++, 0, width, ROLE_BAD, "! %s", clean);
	}
	if (p->count && y < end_y)
		screen_format(y++, 0, width, ROLE_BAD,
			      "! %zu problem%s with what was read: ! tells", p->count,
			      p->count == 1 ? "" : "s");
	return y;
}

static void draw_table(struct ui *ui, int y, int end_y, int width)
{
	ui->table_row = y;
	ui->table_rows = end_y - y;
	if (ui->cursor >= ui->list.n)
		ui->cursor = ui->list.n ? ui->list.n - 1 : 0;
	if (ui->cursor < ui->top)
		ui->top = ui->cursor;
	if (ui->table_rows > 0 && ui->cursor >= ui->top + (size_t)ui->table_rows)
		ui->top = ui->cursor - (size_t)ui->table_rows + 1;
	/* a section's title above the first row is seen, too */
	if (ui->top == 1 && ui->list.items[0].kind == ITEM_SECTION &&
	    ui->cursor < (size_t)ui->table_rows)
		ui->top = 0;
	for (size_t i = ui->top; y < end_y && i < ui->list.n; i++)
		draw_item(ui, y++, width, &ui->list.items[i], i == ui->cursor);
}

void draw(struct ui *ui)
{
	struct tui_size size = screen_size();
	int y = 0, height = size.rows, width = size.columns, pane = pane_height(height);

	erase();
	ui->header_row = ui->table_row = -1;
	if (height < LEAST_ROWS || width < LEAST_COLUMNS) {
		screen_format(0, 0, width, ROLE_BAD, "too small: %d x %d", width, height);
	} else if (ui->help) {
		draw_help(ui, height, width);
	} else if (ui->show_problems && ui->shot) {
		draw_problems(ui, height, width);
	} else if (!ui->shot) {
		draw_title(ui, 0, width);
		screen_put(2, 2, width, ROLE_PLAIN, "reading ...");
	} else {
		draw_title(ui, y++, width);
		draw_nodes(ui, y++, width);
		draw_totals(ui, y++, width);
		y = draw_banners(ui, y, width);
		draw_titles(ui, y++, width);
		pane = pane ? more_pane(ui, pane, height - 1 - y - pane) : 0;
		draw_table(ui, y, height - pane - 1, width);
		if (pane)
			draw_pane(ui, height - pane - 1, height - 1, width);
		draw_keys(ui, height - 1, width);
	}
	refresh();
}
