/* SPDX-License-Identifier: MIT */
/*
 * tui_keys.c - the action of each key.
 *
 * The help (tui_help.c) is made from the same table, so the help is always true.
 */
#include "tui_impl.h"

#include <curses.h>
#include <stdio.h>
#include <string.h>

/* ---- moving -------------------------------------------------------------------------------- */

static void move_by(struct ui *ui, long by)
{
	long at = (long)ui->cursor + by, last = (long)ui->list.n - 1;

	/* the cursor passes over a section's title */
	at = at < 0 ? 0 : at > last ? last : at;
	if (at >= 0 && ui->list.items[at].kind == ITEM_SECTION)
		at = by < 0 && at > 0 ? at - 1 : at < last ? at + 1 : at;
	cursor_move_to(ui, (size_t)(at < 0 ? 0 : at));
}

static void go_up(struct ui *ui)
{
	move_by(ui, -1);
}

static void go_down(struct ui *ui)
{
	move_by(ui, 1);
}

static long page(const struct ui *ui)
{
	return ui->table_rows > 1 ? ui->table_rows - 1 : 1;
}

static void go_page_up(struct ui *ui)
{
	move_by(ui, -page(ui));
}

static void go_page_down(struct ui *ui)
{
	move_by(ui, page(ui));
}

static void go_first(struct ui *ui)
{
	ui->cursor = 0;
	move_by(ui, 0);
	ui->top = 0;
}

static void go_last(struct ui *ui)
{
	if (ui->list.n)
		cursor_move_to(ui, ui->list.n - 1);
}

/* Leaves the view by node, and goes to the row. */
static void show_part(struct ui *ui, const struct item *item)
{
	cursor_forget(ui);
	ui->following = item_key_of(ui, item, &ui->here);
	/* the row is a line of its own there, so the cursor must not stay below a line */
	ui->cursor = ui->top = 0;
	ui->by_node = ui->by_directory = false;
	ui->dirty = true;
}

static void open_row(struct ui *ui)
{
	size_t at = ui->cursor;
	struct item_key key;

	if (at >= ui->list.n)
		return;
	if (ui->list.items[at].kind == ITEM_PART) {
		show_part(ui, &ui->list.items[at]);
		return;
	}
	item_toggle(ui, &ui->list.items[at]);
	if (item_key_of(ui, &ui->list.items[at], &key) && !key.directory) {
		struct opened_row row = {item_is_open(ui, &ui->list.items[at]), key.space,
					 key.id.class, key.id.number};

		engine_open(ui->engine, &row);
	}
	/* from a line of an open row, the cursor goes back to the row */
	while (at > 0 && !item_is_head(&ui->list.items[at]))
		at--;
	ui->cursor = at;
	ui->dirty = true;
}

/* ---- what is shown ------------------------------------------------------------------------- */

static void key_say(struct ui *ui, const char *what)
{
	snprintf(ui->message, sizeof(ui->message), "%s", what);
}

static void sort_next(struct ui *ui)
{
	sort_by(ui, (ui->sort + 1) % SORT_KEYS, false);
}

static void sort_before(struct ui *ui)
{
	sort_by(ui, (ui->sort + SORT_KEYS - 1) % SORT_KEYS, false);
}

static void sort_lost(struct ui *ui)
{
	sort_by(ui, SORT_LOST, false);
}

static void sort_waiting(struct ui *ui)
{
	sort_by(ui, SORT_WAITING, false);
}

static void sort_name(struct ui *ui)
{
	sort_by(ui, SORT_NAME, false);
}

static void reverse(struct ui *ui)
{
	sort_by(ui, ui->sort, !ui->reversed);
}

static void toggle_nodes(struct ui *ui)
{
	ui->per_node = !ui->per_node;
	ui->dirty = true;
	key_say(ui, ui->per_node ? "each row by node" : "nodes together");
}

static void toggle_by_node(struct ui *ui)
{
	ui->by_node = !ui->by_node;
	ui->dirty = true;
	ui->following = false;
	ui->cursor = ui->top = 0;
	key_say(ui, ui->by_node ? "by node: Enter shows its worst rows" : "by file");
}

static void toggle_directories(struct ui *ui)
{
	ui->by_directory = !ui->by_directory;
	ui->by_node = false;
	ui->dirty = true;
	ui->following = false;
	ui->cursor = ui->top = 0;
	key_say(ui, ui->by_directory ? "by directory: Enter opens one" : "by file");
}

static void next_paths(struct ui *ui)
{
	static const char *const names[] = {"whole paths", "names without directories",
					    "inode numbers"};

	ui->paths = (ui->paths + 1) % PATH_STYLES;
	ui->dirty = true;
	key_say(ui, names[ui->paths]);
}

static void toggle_trends(struct ui *ui)
{
	ui->own_trends = !ui->own_trends;
	ui->dirty = true;
	key_say(ui, ui->own_trends ? "TREND: each row by its own highest"
				   : "TREND: one scale for all rows");
}

static void toggle_system(struct ui *ui)
{
	ui->all_system = !ui->all_system;
	ui->dirty = true;
	key_say(ui, ui->all_system ? "all of the system section"
				   : "only hot rows of the system section");
}

static void toggle_hot(struct ui *ui)
{
	ui->hot_only = !ui->hot_only;
	ui->dirty = true;
	key_say(ui, ui->hot_only ? "only hot rows" : "all rows");
}

static void toggle_problems(struct ui *ui)
{
	ui->show_problems = true;
}

static void begin_save(struct ui *ui)
{
	char file[PROMPT_MAX];

	if (!save_question(ui, file, sizeof(file)))
		return;
	prompt_begin(ui, PROMPT_SAVE);
	strcpy(ui->prompt.text, file);
}

static void show_help(struct ui *ui)
{
	ui->help = true;
	ui->help_top = 0;
}

/* ---- searching ----------------------------------------------------------------------------- */

static void begin_search(struct ui *ui)
{
	prompt_begin(ui, PROMPT_SEARCH);
}

static void begin_filter(struct ui *ui)
{
	prompt_begin(ui, PROMPT_FILTER);
}

static void search_on(struct ui *ui)
{
	if (!*ui->search)
		key_say(ui, "no search text yet: / asks for one");
	else if (!search_next(ui, ui->cursor + 1, 1))
		key_say(ui, "no match below");
}

static void search_back(struct ui *ui)
{
	if (!*ui->search)
		key_say(ui, "no search text yet: / asks for one");
	else if (!search_next(ui, ui->cursor ? ui->cursor - 1 : 0, -1))
		key_say(ui, "no match above");
}

/* ---- time ---------------------------------------------------------------------------------- */

static bool is_replay(const struct ui *ui)
{
	return ui->setup->engine.collector->replay != NULL;
}

static void toggle_pause(struct ui *ui)
{
	if (is_replay(ui)) {
		engine_pause(ui->engine, !ui->status.paused);
	} else {
		/* samples continue, so that rates, trends and recordings miss nothing */
		ui->held = !ui->held;
	}
}

static void step_on(struct ui *ui)
{
	if (!is_replay(ui))
		ui->held = true;
	ui->step = true;
	engine_step(ui->engine, 1);
}

static void step_back(struct ui *ui)
{
	if (is_replay(ui))
		engine_step(ui->engine, -1);
	else
		key_say(ui, "only a recording has frames to go back to: --record makes one");
}

static void begin_time(struct ui *ui)
{
	if (is_replay(ui))
		prompt_begin(ui, PROMPT_TIME);
	else
		key_say(ui, "only a recording has other times: --record makes one");
}

static void change_speed(struct ui *ui, double factor)
{
	double speed = ui->status.speed * factor, interval = ui->status.interval_s / factor;

	if (is_replay(ui)) {
		speed = speed < 1.0 / 16 ? 1.0 / 16 : speed > 1024 ? 1024 : speed;
		engine_speed(ui->engine, speed);
		snprintf(ui->message, sizeof(ui->message), "%g times as fast", speed);
	} else {
		interval = interval < 0.25 ? 0.25 : interval > 3600 ? 3600 : interval;
		engine_interval(ui->engine, interval);
		snprintf(ui->message, sizeof(ui->message), "a sample every %g s", interval);
	}
}

static void faster(struct ui *ui)
{
	change_speed(ui, 2);
}

static void slower(struct ui *ui)
{
	change_speed(ui, 0.5);
}

static void suspend(struct ui *ui)
{
	screen_suspend();
	ui->dirty = true;
}

static void leave(struct ui *ui)
{
	ui->quit = true;
}

/* ---- the table ----------------------------------------------------------------------------- */

enum { CTRL_D = 4, CTRL_F = 6, CTRL_B = 2, CTRL_U = 21, CTRL_L = 12, CTRL_Z = 26 };

static void redraw(struct ui *ui)
{
	clearok(stdscr, TRUE);
	ui->dirty = true;
}

static const struct {
	int keys[4];
	const char *name, *does;
	void (*act)(struct ui *ui);
} table[] = {
    {{0}, "", "Moving", NULL},
    {{KEY_UP, 'k'}, "Up k", "one line up", go_up},
    {{KEY_DOWN, 'j'}, "Down j", "one line down", go_down},
    {{KEY_PPAGE, CTRL_B, CTRL_U}, "PgUp", "a page up", go_page_up},
    {{KEY_NPAGE, CTRL_F, CTRL_D}, "PgDn", "a page down", go_page_down},
    {{KEY_HOME}, "Home", "to the top, where the cursor stays with the worst row", go_first},
    {{KEY_END, 'G'}, "End G", "to the end", go_last},
    {{'\r', '\n', ' ', KEY_ENTER},
     "Enter Space",
     "open or close a row: advice, lock types, nodes, processes",
     open_row},
    {{0}, "", "Finding", NULL},
    {{'/', KEY_F(3)}, "/ F3", "search for a part of a path or number", begin_search},
    {{'n'}, "n", "next match", search_on},
    {{'N'}, "N", "previous match", search_back},
    {{'\\', KEY_F(4)}, "\\ F4", "show only rows that contain a text", begin_filter},
    {{'o'}, "o", "only hot rows, or all", toggle_hot},
    {{'a'}, "a", "all of the system section, or only its hot rows", toggle_system},
    {{0}, "", "Sorting and showing", NULL},
    {{'s'}, "s", "choose a column to sort by from a list", menu_begin},
    {{'>', KEY_RIGHT}, "> Right", "sort by the next column", sort_next},
    {{'<', KEY_LEFT}, "< Left", "sort by the column before", sort_before},
    {{'L'}, "L", "sort by time lost", sort_lost},
    {{'W'}, "W", "sort by waits in progress", sort_waiting},
    {{'P'}, "P", "sort by path", sort_name},
    {{'r'}, "r", "reverse the order", reverse},
    {{'d'}, "d", "each row by node, or nodes together", toggle_nodes},
    {{'D'}, "D", "by directory", toggle_directories},
    {{'v'}, "v", "a line for each node; Enter there shows its worst rows", toggle_by_node},
    {{'p'}, "p", "whole paths, names or inode numbers", next_paths},
    {{'t'}, "t", "TREND: one scale for all rows, or each row's own", toggle_trends},
    {{'y'}, "y", "copy the row's path and inode number to the clipboard", copy_row},
    {{'!'}, "!", "all banners, and the problems of this frame", toggle_problems},
    {{0}, "", "Time", NULL},
    {{'z', 'Z'}, "z", "pause or continue", toggle_pause},
    {{'.'}, ".", "pause, next frame", step_on},
    {{','}, ",", "pause, previous frame (of a recording)", step_back},
    {{'g'}, "g", "go to a time (of a recording): 06:07, 2026-11-20 06:07:30, @SECONDS", begin_time},
    {{'+', '='}, "+", "twice as fast, or samples twice as often", faster},
    {{'-'}, "-", "half as fast, or samples half as often", slower},
    {{0}, "", "Other", NULL},
    {{'w'}, "w", "save sorting, interval, D, o and a for the next run", begin_save},
    {{'?', 'h', KEY_F(1)}, "? h F1", "this help", show_help},
    {{CTRL_L}, "Ctrl-L", "redraw the screen", redraw},
    {{CTRL_Z}, "Ctrl-Z", "stop o2top, until fg", suspend},
    {{'q', 'Q', KEY_F(10)}, "q F10", "quit (Ctrl-C, too)", leave},
};

enum { N_KEYS = sizeof(table) / sizeof(table[0]) };

const char *key_line(unsigned nth, char *buf, size_t size)
{
	unsigned lines = 0;

	for (unsigned i = 0; i < N_KEYS; i++) {
		if (!table[i].act && i && lines++ == nth)
			return strcpy(buf, "");
		if (lines++ != nth)
			continue;
		if (table[i].act)
			snprintf(buf, size, "   %-12s %s", table[i].name, table[i].does);
		else
			snprintf(buf, size, "%s", table[i].does);
		return buf;
	}
	return NULL;
}

void key_press(struct ui *ui, int key)
{
	*ui->message = '\0';
	if (ui->prompt.kind) {
		prompt_key(ui, key);
		return;
	}
	if (ui->help) {
		help_key(ui, key);
		return;
	}
	if (ui->menu) {
		menu_key(ui, key);
		return;
	}
	if (ui->show_problems) {
		ui->show_problems = false;
		return;
	}
	for (size_t i = 0; i < N_KEYS; i++)
		for (int j = 0; j < 4; j++)
			if (table[i].keys[j] && table[i].keys[j] == key) {
				table[i].act(ui);
				return;
			}
	if (key != 27)
		key_say(ui, "no such key: ? lists the keys");
}

/* ---- the mouse ----------------------------------------------------------------------------- */

/* Sorts by the clicked column. A second click reverses the order. */
static void click_title(struct ui *ui, int x)
{
	for (size_t i = 0; i < ui->n_titles; i++) {
		const int column = ui->titles[i].column;
		const enum sort_key key = column < 0 ? SORT_NAME : columns[column].sort;

		if (x < ui->titles[i].from || x >= ui->titles[i].to)
			continue;
		if (key < SORT_KEYS)
			sort_by(ui, key, key == ui->sort && !ui->reversed);
		return;
	}
}

void key_mouse(struct ui *ui)
{
	MEVENT event;
	size_t item;

	if (getmouse(&event) != OK)
		return;
	*ui->message = '\0';
	if (ui->help || ui->show_problems || ui->menu) {
		ui->help = ui->show_problems = ui->menu = false;
		return;
	}
	if (event.bstate & BUTTON4_PRESSED) {
		move_by(ui, -3);
	} else if (event.bstate & BUTTON5_PRESSED) {
		move_by(ui, 3);
	} else if (event.y == ui->header_row) {
		click_title(ui, event.x);
	} else if (ui->table_row >= 0 && event.y >= ui->table_row &&
		   event.y < ui->table_row + ui->table_rows) {
		item = ui->top + (size_t)(event.y - ui->table_row);
		if (item >= ui->list.n || ui->list.items[item].kind == ITEM_SECTION)
			return;
		if (item == ui->cursor)
			open_row(ui);
		else
			cursor_move_to(ui, item);
	}
}
