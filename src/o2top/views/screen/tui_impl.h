/* SPDX-License-Identifier: MIT */
/*
 * tui_impl.h - the parts of the terminal view.
 *
 *	tui.c        the loop: keys, new frames, signals
 *	tui_cursor.c the place of the cursor, from frame to frame
 *	tui_keys.c   the action of each key, one table from which the help is made
 *	tui_help.c   the pages of the help
 *	tui_copy.c   a row's path for the clipboard
 *	tui_save.c   the settings for the configuration file
 *	tui_menu.c   the list of columns to sort by
 *	tui_prompt.c the line for typed text: search, filter, a time
 *	tui_list.c   the lines of the table: sorting, filtering, opened rows, directories
 *	tui_items.c  a line of the table
 *	tui_nodes.c  the lines of the view by node
 *	tui_cells.c  the cells of a line, and the columns that fit
 *	tui_head.c, tui_rows.c, tui_node_rows.c, tui_about.c  the parts of a screen
 *	tui_draw.c   a screen of these parts
 *	tui_known.c  the check that this terminal can show a screen
 *	tui_screen.c the terminal: set up, and restored however the program ends
 *
 * All parts run in one thread. The engine's thread makes samples, and the screen shows a snapshot,
 * so that no key waits for a sample.
 */
#ifndef O2TOP_TUI_IMPL_H
#define O2TOP_TUI_IMPL_H

#include "o2top/views/columns.h"
#include "o2top/views/sort.h"
#include "o2top/views/view.h"
#include "tui.h"

enum item_kind {
	ITEM_SECTION, /* a section's title */
	ITEM_ROW,
	ITEM_DIRECTORY,
	ITEM_NODE,    /* the part of one node in a row */
	ITEM_HOST,    /* a node, in the view by node */
	ITEM_PART,    /* below a node: the node's part of a row */
	ITEM_LOCK,    /* a LockSet of a row */
	ITEM_PROCESS, /* a process that holds or wants the lock */
	ITEM_TEXT,    /* a line of a text about a row, such as advice */
	ITEM_NOTHING, /* the line that says that there is nothing to show */
};

/* A line of the table. */
struct item {
	uint8_t kind, depth;
	bool last;    /* the last line below a row */
	uint32_t row; /* number of a row, directory, section or line of a node */
	uint32_t at;  /* number of a node, LockSet, member or line of text */
	uint32_t nth; /* number of a process, or enum about */
};

/* The key of a row, directory or node, the same from frame to frame. */
struct item_key {
	uint32_t space;
	struct row_id id;
	char *directory; /* or a node's name; or NULL */
	bool node;
};

/* A line of the view by node: the sums over all rows. */
struct node_line {
	uint32_t node;
	struct change sum;
	double lost_per_s;
};

struct list {
	struct item *items;
	size_t n, room;
	uint32_t *order; /* of the rows */
	size_t n_order;
	size_t n_section[SECTIONS]; /* rows that are shown */
	size_t n_left[SECTIONS];    /* rows left out because they cost little */
	struct directories directories;
	struct node_line *nodes; /* of each node of the model, in the order of the view */
};

enum path_style { PATH_FULL, PATH_NAME, PATH_INODE, PATH_STYLES };

enum { NAME_MAX_TEXT = 1200 };
enum { PROMPT_MAX = 256 };

enum prompt_kind { PROMPT_NONE, PROMPT_SEARCH, PROMPT_FILTER, PROMPT_TIME, PROMPT_SAVE };

struct prompt {
	enum prompt_kind kind;
	char text[PROMPT_MAX];
	char before[PROMPT_MAX]; /* the text before the prompt, for Escape in a search */
};

struct ui {
	const struct tui_setup *setup;
	struct engine *engine;
	struct engine_status status;
	struct snapshot *shot;
	struct list list;
	/* the user's choice of the view */
	enum sort_key sort;
	bool reversed, per_node, by_directory, by_node, all_system, hot_only, held, own_trends;
	enum path_style paths;
	char filter[PROMPT_MAX], search[PROMPT_MAX];
	struct item_key *open;
	size_t n_open;
	int columns[COLUMNS];
	size_t n_columns;
	int widths[COLUMNS]; /* of columns[] in this frame */
	float trend_most;    /* the scale of TREND; 0: each row's own highest */
	int fs_saves;        /* columns by which labels beside FS are shorter */
	/* the user's place in the table */
	size_t cursor, top;
	bool following; /* the cursor stays with its row, not at its place */
	struct item_key here;
	struct prompt prompt;
	bool help, show_problems, menu;
	int help_top, menu_at;
	char message[NAME_MAX_TEXT];
	bool quit, dirty, step;
	/* places on the screen, for the mouse */
	int header_row, table_row, table_rows;
	struct {
		int from, to, column;
	} titles[COLUMNS];
	size_t n_titles;
};

/* tui_cursor.c */
void cursor_move_to(struct ui *ui, size_t item);
/* Finds the cursor's row in a new list. */
void cursor_find(struct ui *ui);
/* Forgets the cursor's row. */
void cursor_forget(struct ui *ui);

/* tui_screen.c */
struct tui_size {
	int rows, columns;
};
int screen_begin(const struct view_options *view, bool mouse);
void screen_end(void);
/* Returns a file descriptor that is readable after a signal. screen_signals() acts on signals. */
int screen_signal_fd(void);
/*
 * Acts on the signals that came. Returns false if the loop must end, with the signal in
 * *signal_number. Sets *resized if all must be drawn anew.
 */
bool screen_signals(bool *resized, int *signal_number);
void screen_suspend(void);
struct tui_size screen_size(void);
/* Writes clean text from column x, and stops before `end`. Returns the column after the text. */
int screen_put(int y, int x, int end, enum role role, const char *text);
int screen_format(int y, int x, int end, enum role role, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Writes a sequence to the terminal, beside curses. The sequence must not move the cursor. */
void screen_send(const char *sequence);
void screen_fill(int y, int x, int end, enum role role);

/* tui_items.c */
bool item_key_of(const struct ui *ui, const struct item *item, struct item_key *key);
bool item_same_key(const struct item_key *a, const struct item_key *b);
/* Returns whether the item is a line of its own, and not a detail of the line above. */
bool item_is_head(const struct item *item);
bool item_is_open(const struct ui *ui, const struct item *item);
void item_toggle(struct ui *ui, const struct item *item);
/* Returns the mark before a detail. */
const char *item_branch(const struct ui *ui, const struct item *item);
/* Returns a new item at the end of the list, or NULL without memory. */
struct item *list_add(struct ui *ui, enum item_kind kind, uint32_t row, uint32_t at,
		      unsigned depth);

/* tui_list.c */
int list_build(struct ui *ui, int width);
void list_free(struct list *l);
/* Writes a row's label. With `name`, a path loses its directory in each style of paths. */
void item_label(const struct ui *ui, const struct row *row, bool name, char *buf, size_t size);
/* item_text() returns a text about a row, fit for a terminal, or NULL if there is none. */
enum about { ABOUT_SENTENCE, ABOUT_ADVICE, ABOUT_TIMES, ABOUT_NOTE, ABOUTS };
enum { TEXT_MAX = 2048 };
const char *item_text(const struct ui *ui, uint32_t row, enum about about, char *buf, size_t size);
/* Returns the nth line of a text folded to `width` columns, or NULL past the end. */
const char *fold_line(const char *text, int width, unsigned nth, char *buf, size_t size);

/* tui_cells.c */
struct cell {
	char text[CELL_MAX];
	enum role role; /* the caller sets the line's role before cell_fill() */
};
void cell_fill(struct cell *cell, const struct column *c, const struct line *l);
/* Returns a line of the frame on the screen. */
struct line cell_line(const struct ui *ui, const struct change *sum, double lost_per_s,
		      double acquired_per_s);
/* Sets ui->widths by the content of the list. */
void columns_measure(struct ui *ui);
/* Writes the columns that fit into this width, in order. Returns their number. */
size_t columns_fit(const struct ui *ui, int width, int *out);
/* Returns whether the column of file systems fits into this width. */
bool columns_show_fs(const struct ui *ui, int width);

/* tui_head.c */
void draw_title(const struct ui *ui, int y, int width);
void draw_nodes(const struct ui *ui, int y, int width);
void draw_totals(const struct ui *ui, int y, int width);
/* Returns the line after the banners. */
int draw_banners(const struct ui *ui, int y, int width);

/* tui_rows.c */
void draw_titles(struct ui *ui, int y, int width);
void draw_item(const struct ui *ui, int y, int width, const struct item *item, bool selected);
/* Writes the use of a lock, such as "wrote and read, waits to write". */
void node_use(const struct change *c, char *buf, size_t size);
/* Returns the mark before a text, and sets the role. */
const char *text_mark(const struct ui *ui, enum about about, enum role *role);

/* tui_nodes.c */
/* Adds the lines of the view by node. Returns 0 or -ENOMEM. */
int nodes_add(struct ui *ui);

/* tui_node_rows.c */
const struct node *nodes_node(const struct ui *ui, const struct item *item);
void draw_node_titles(struct ui *ui, int y, int width);
void draw_node_line(const struct ui *ui, int y, int width, const struct item *item, bool selected);
void draw_node_row(const struct ui *ui, int y, int width, const struct item *item, bool selected);
void draw_node_pane(const struct ui *ui, int y, int end_y, int width, const struct item *item);

/* tui_about.c */
void draw_pane(const struct ui *ui, int y, int end_y, int width);
/* Says how many lines are missing, if a text would take the lines up to y but ends at end_y. */
void draw_more(int y, int end_y, int width);

/* tui_save.c */
/* Writes the file's name for the question. Returns false if there is no file, and says so. */
bool save_question(struct ui *ui, char *buf, size_t size);
void save_now(struct ui *ui);

/* tui_copy.c */
void copy_row(struct ui *ui);

/* tui_draw.c */
void draw(struct ui *ui);

/* tui_keys.c */
void key_press(struct ui *ui, int key);
void key_mouse(struct ui *ui);
/* Returns the nth line about the keys, or NULL past the end. */
const char *key_line(unsigned nth, char *buf, size_t size);

/* tui_help.c */
enum { HELP_END = 100000 }; /* the first line of the help, at its end */
/* Returns the nth line about the keys, as key_line() does. */
typedef const char *help_keys(unsigned nth, char *buf, size_t size);
void help_key(struct ui *ui, int key);
/* Returns the column after the last line. */
int draw_help(struct ui *ui, int height, int width, help_keys *key_line);

/* tui_menu.c */
void sort_by(struct ui *ui, enum sort_key key, bool reversed);
void menu_begin(struct ui *ui);
void menu_key(struct ui *ui, int key);
void draw_menu(const struct ui *ui, int height, int width);

/* tui_prompt.c */
void prompt_begin(struct ui *ui, enum prompt_kind kind);
void prompt_key(struct ui *ui, int key);
const char *prompt_title(enum prompt_kind kind);
bool search_next(struct ui *ui, size_t from, int direction);

#endif
