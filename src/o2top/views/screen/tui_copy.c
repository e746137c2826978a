/* SPDX-License-Identifier: MIT */
/*
 * tui_copy.c - hands the path and the inode of a row to the clipboard of the user's terminal.
 *
 * OSC 52 is the escape sequence for this. The terminal may be on another machine. A terminal gives
 * no answer, so the message line always shows the text, for a copy with the mouse.
 */
#include "tui_impl.h"

#include "o2top/base/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Terminals limit the length of a sequence, and a path is at most some thousand bytes long. */
enum { COPY_MAX = 1024 };

/* Returns whether the name in TERM is of a terminal that may know OSC 52. */
static bool may_know_clipboard(void)
{
	static const char *const known[] = {"xterm", "tmux",    "screen", "alacritty", "contour",
					    "foot",  "ghostty", "kitty",  "konsole",   "mintty",
					    "rio",   "st-",     "wezterm"};
	const char *term = getenv("TERM");

	for (size_t i = 0; term && i < sizeof(known) / sizeof(known[0]); i++)
		if (strncmp(term, known[i], strlen(known[i])) == 0)
			return true;
	return false;
}

/* Writes the text in base64. `out` needs 4 bytes for each 3 of the text, and 5 more. */
static void base64(char *out, const char *text)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t n = strlen(text); n > 0;) {
		const unsigned char *p = (const unsigned char *)text;
		unsigned bits =
		    (unsigned)p[0] << 16 | (n > 1 ? (unsigned)p[1] << 8 : 0) | (n > 2 ? p[2] : 0);

		*out++ = digits[bits >> 18];
		*out++ = digits[bits >> 12 & 63];
		*out++ = n > 1 ? digits[bits >> 6 & 63] : '=';
		*out++ = n > 2 ? digits[bits & 63] : '=';
		text += n > 3 ? 3 : n;
		n -= n > 3 ? 3 : n;
	}
	*out = '\0';
}

/* Writes the row's path and inode number. A path has no character that a terminal must not get. */
static void copy_text(const struct ui *ui, const struct row *row, char *buf, size_t size)
{
	char raw[NAME_MAX_TEXT], clean[COPY_MAX - 40];

	row_label(&ui->shot->model, row, true, raw, sizeof(raw));
	unit_clean(clean, sizeof(clean), raw, 0);
	if (row->path && !row->id.class)
		snprintf(buf, size, "%s inode %llu", clean, (unsigned long long)row->id.number);
	else
		snprintf(buf, size, "%s", clean);
}

void copy_row(struct ui *ui)
{
	const struct item *item = ui->cursor < ui->list.n ? &ui->list.items[ui->cursor] : NULL;
	char text[COPY_MAX], sequence[4 * COPY_MAX / 3 + 32];
	const bool sent = may_know_clipboard();
	size_t n;

	if (!item || item->kind == ITEM_SECTION || item->kind == ITEM_NOTHING)
		return;
	if (item->kind == ITEM_DIRECTORY)
		unit_clean(text, sizeof(text), ui->list.directories.list[item->row].path, 0);
	else if (item->kind == ITEM_HOST)
		unit_clean(text, sizeof(text), nodes_node(ui, item)->name, 0);
	else
		copy_text(ui, &ui->shot->group.rows[item->row], text, sizeof(text));
	if (sent) {
		n = (size_t)snprintf(sequence, sizeof(sequence), "\033]52;c;");
		base64(sequence + n, text);
		strcat(sequence, "\a");
		screen_send(sequence);
	}
	snprintf(ui->message, sizeof(ui->message), "%s%s",
		 sent ? "copied: " : "no clipboard, mark this: ", text);
}
