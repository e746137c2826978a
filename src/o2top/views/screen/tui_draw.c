/* SPDX-License-Identifier: MIT */
/*
 * tui_draw.c - a screen: head, table, pane about the row at the cursor, and keys.
 *
 * Curses sends the changes to the terminal.
 */
#include "tui_impl.h"

#include "o2top/base/units.h"

#include <curses.h>
#include <stdio.h>
#include <string.h>

/* ---- the last line, and pages over the table ----------------------------------------------- */

/* Returns how many bytes of a clean text fit into `width` columns. */
static size_t bytes_in(const char *text, int width)
{
	mbstate_t state = {0};
	size_t n = 0;

	while (text[n]) {
		wchar_t wide;
		int columns;
		size_t bytes = unit_char(text + n, &state, &wide, &columns);

		width -= columns > 0 ? columns : 0;
		if (width < 0)
			break;
		n += bytes;
	}
	return n;
}

/* Draws a message. A long one takes up to four lines, because the user may copy from it. */
static void draw_message(const struct ui *ui, int y, int width)
{
	enum { LINES_MOST = 4 };
	const char *line[LINES_MOST + 1] = {ui->message};
	char text[NAME_MAX_TEXT];
	int n = 0;

	while (n < LINES_MOST && *line[n]) {
		line[n + 1] = line[n] + bytes_in(line[n], width);
		n++;
	}
	for (int i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "%.*s", (int)(line[i + 1] - line[i]), line[i]);
		screen_fill(y - n + 1 + i, 0, width, ROLE_PLAIN);
		screen_put(y - n + 1 + i, 0, width, ROLE_BAD, text);
	}
}

static void draw_keys(const struct ui *ui, int y, int width)
{
	static const struct {
		const char *key, *does;
	} live[] = {{"?", "Help"},  {"Enter", "Open"}, {"/", "Search"}, {"\\", "Filter"},
		    {"s", "Sort"},  {"d", "Nodes"},    {"D", "Dirs"},   {"p", "Paths"},
		    {"z", "Pause"}, {"o", "Hot"},      {"a", "System"}, {"q", "Quit"}},
	  replay[] = {{"?", "Help"},  {"Enter", "Open"}, {"/", "Search"}, {"\\", "Filter"},
		      {"s", "Sort"},  {"d", "Nodes"},    {"z", "Pause"},  {", .", "Step"},
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
		draw_message(ui, y, width);
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

/* Draws the cost of o2top itself, if the nodes are live. */
static void draw_cost(const struct ui *ui, int y, int x, int width)
{
	char cpu[UNIT_MAX], read[UNIT_MAX], bytes[UNIT_MAX];
	const struct cost *cost = ui->shot ? &ui->shot->model.cost : NULL;

	if (!cost || !cost->live)
		return;
	screen_format(y, x, width, ROLE_KEY, "   o2top used: CPU %s, read %s on nodes, %sB by ssh",
		      unit_seconds(cpu, cost->cpu_s), unit_seconds(read, cost->read_s),
		      unit_bytes(bytes, cost->bytes));
}

/* Draws a text on lines of the page, as far as the page reaches. Returns the next line. */
static int draw_on_page(int y, int height, int width, const char *text)
{
	char clean[NAME_MAX_TEXT], line[NAME_MAX_TEXT];

	unit_clean(clean, sizeof(clean), text, 0);
	for (unsigned j = 0; fold_line(clean, width - 3, j, line, sizeof(line)); j++, y++)
		if (y < height - 1)
			screen_put(y, j ? 3 : 1, width, ROLE_PLAIN, line);
	return y;
}

static void draw_problems(struct ui *ui, int height, int width)
{
	const struct model *m = &ui->shot->model;
	const struct problems *p = &ui->shot->problems;
	char raw[NAME_MAX_TEXT];
	int y = 0;

	for (size_t i = 0; i < m->banners.n; i++)
		y = draw_on_page(y, height, width, m->banners.text[i]);
	for (size_t i = 0; i < m->n_nodes; i++) {
		if (!m->nodes[i].why)
			continue;
		snprintf(raw, sizeof(raw), "%.100s: %.1000s", m->nodes[i].name, m->nodes[i].why);
		y = draw_on_page(y, height, width, raw);
	}
	if (y++ < height - 1)
		screen_format(y - 1, 0, width, ROLE_SECTION,
			      p->count ? "Problems in this frame: %zu"
				       : "No problems in this frame",
			      p->count);
	for (size_t i = 0; i < p->kept; i++)
		y = draw_on_page(y, height, width, p->text[i]);
	if (p->count > p->kept && y++ < height - 1)
		screen_format(y - 1, 1, width, ROLE_PLAIN, "and %zu more", p->count - p->kept);
	draw_more(y, height - 1, width);
	screen_put(height - 1, 0, width, ROLE_KEY, "any key goes back");
}

/* ---- all of it ----------------------------------------------------------------------------- */

enum { LEAST_ROWS = 10, LEAST_COLUMNS = 40 };

static int pane_height(int rows)
{
	return rows < 18 ? 0 : rows < 30 ? 7 : 10;
}

/* Returns the height of the pane. The pane gets up to 8 lines that a short table leaves free. */
static int more_pane(const struct ui *ui, int pane, int table)
{
	int free_rows = ui->list.n < (size_t)table ? table - (int)ui->list.n - 1 : 0;

	return pane + (free_rows > 8 ? 8 : free_rows > 0 ? free_rows : 0);
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
	/* the cursor at the first row shows the section's title above, too */
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
		if (height > 1)
			screen_format(1, 0, width, ROLE_BAD, "needs %d x %d", LEAST_COLUMNS,
				      LEAST_ROWS);
	} else if (ui->help) {
		draw_cost(ui, height - 1, draw_help(ui, height, width, key_line), width);
	} else if (ui->menu) {
		draw_menu(ui, height, width);
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
