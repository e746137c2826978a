/* SPDX-License-Identifier: MIT */
/*
 * tui_help.c - the pages of the help: keys, signs, columns.
 *
 * The columns come last, and their part is at most 23 lines long. So the last page of a terminal
 * with 24 lines has all columns.
 */
#include "tui_impl.h"

#include <curses.h>
#include <stdio.h>
#include <string.h>

static const char *const signs[] = {
    "",
    "Mouse: click a title to sort by it, a row to select it, again to open it.",
    "",
    "Signs",
    "   *   hot: 2 % or more of the time lost, or a wait of a second",
    "   !   a wait of a second or more; a node that is not ok; a problem",
    "   ~   estimated        ?  inferred from sampled modes        -  not known",
    "",
    "Columns",
};

static const char *const forms[] = {
    "   FILE     path, or <inode number>; / at the end: a directory",
    "AGE has four forms",
    "   8.23 s        known exactly, or within 5 %",
    "   4.46..10.0 s  at least the first, at most the second",
    "   >5.00 s       at least; no upper bound is known",
    "   0             the sample caught the beginning of the wait",
};

enum { N_SIGNS = sizeof(signs) / sizeof(signs[0]), N_FORMS = sizeof(forms) / sizeof(forms[0]) };

static const char *help_line(help_keys *key_line, unsigned nth, char *buf, size_t size)
{
	static unsigned keys;

	/* the table of keys never changes, so its lines are counted once */
	while (key_line(keys, buf, size))
		keys++;
	if (nth < keys)
		return key_line(nth, buf, size);
	nth -= keys;
	if (nth < N_SIGNS)
		return signs[nth];
	nth -= N_SIGNS;
	for (const struct column *c = columns; c < columns + COLUMNS; c++) {
		if (!c->name || nth--)
			continue;
		snprintf(buf, size, "   %-8s %s", c->title, c->about);
		return buf;
	}
	return nth < N_FORMS ? forms[nth] : NULL;
}

void help_key(struct ui *ui, int key)
{
	const int page = screen_size().rows - 1;

	switch (key) {
	case KEY_UP:
	case 'k':
		ui->help_top--;
		break;
	case KEY_DOWN:
	case 'j':
		ui->help_top++;
		break;
	case KEY_NPAGE:
	case ' ':
		ui->help_top += page;
		break;
	case KEY_PPAGE:
		ui->help_top -= page;
		break;
	case KEY_HOME:
		ui->help_top = 0;
		break;
	case KEY_END:
	case 'G':
		ui->help_top = HELP_END;
		break;
	default:
		ui->help = false;
	}
}

int draw_help(struct ui *ui, int height, int width, help_keys *key_line)
{
	char buf[256];
	const char *line;
	int n = 0;

	while (help_line(key_line, (unsigned)n, buf, sizeof(buf)))
		n++;
	if (ui->help_top > n - height + 1)
		ui->help_top = n - height + 1;
	if (ui->help_top < 0)
		ui->help_top = 0;
	for (int y = 0; y < height - 1; y++) {
		line = help_line(key_line, (unsigned)(ui->help_top + y), buf, sizeof(buf));
		if (!line)
			break;
		screen_put(y, 1, width, line[0] == ' ' || !*line ? ROLE_PLAIN : ROLE_SECTION, line);
	}
	return screen_put(height - 1, 0, width, ROLE_KEY,
			  n > height - 1 ? "PgDn scrolls, End: columns, other keys go back"
					 : "any key goes back");
}
