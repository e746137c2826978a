/* SPDX-License-Identifier: MIT */
/*
 * tui_prompt.c - the line for typed text.
 *
 * The prompt is a mode, not a loop: frames come while the user types. A search or a filter takes
 * effect with each key, and a time with Enter. Escape restores the earlier search, and removes the
 * filter.
 */
#include "tui_impl.h"

#include "o2top/base/units.h"
#include "o2top/engine/watch.h"

#include <curses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

const char *prompt_title(enum prompt_kind kind)
{
	static const char *const titles[] = {
	    [PROMPT_NONE] = "",
	    [PROMPT_SEARCH] = "Search: ",
	    [PROMPT_FILTER] = "Show only rows that contain: ",
	    [PROMPT_TIME] = "Go to (06:07, 2026-11-20 06:07:30, @SECONDS): ",
	    [PROMPT_SAVE] = "Save the view? y/n: ",
	};

	return titles[kind];
}

static char *target(struct ui *ui)
{
	switch (ui->prompt.kind) {
	case PROMPT_SEARCH:
		return ui->search;
	case PROMPT_FILTER:
		return ui->filter;
	default:
		return NULL;
	}
}

void prompt_begin(struct ui *ui, enum prompt_kind kind)
{
	char *text;

	ui->prompt = (struct prompt){.kind = kind};
	text = target(ui);
	if (!text)
		return;
	strcpy(ui->prompt.before, text);
	if (kind == PROMPT_FILTER)
		strcpy(ui->prompt.text, text);
}

bool search_next(struct ui *ui, size_t from, int direction)
{
	char label[1200];

	for (size_t i = from; i < ui->list.n; i += (size_t)direction) {
		const struct item *item = &ui->list.items[i];
		const char *text = label;

		if (item->kind == ITEM_DIRECTORY)
			text = ui->list.directories.list[item->row].path;
		else if (item->kind == ITEM_HOST)
			text = nodes_node(ui, item)->name;
		else if (item->kind == ITEM_ROW || item->kind == ITEM_PART)
			item_label(ui, &ui->shot->group.rows[item->row], false, label,
				   sizeof(label));
		else
			continue;
		if (!strcasestr(text, ui->search))
			continue;
		cursor_move_to(ui, i);
		return true;
	}
	return false;
}

/* Searches or filters by the typed text. A time waits for Enter. */
static void apply(struct ui *ui)
{
	switch (ui->prompt.kind) {
	case PROMPT_SEARCH:
		strcpy(ui->search, ui->prompt.text);
		if (*ui->search && !search_next(ui, 0, 1))
			snprintf(ui->message, sizeof(ui->message), "no match");
		break;
	case PROMPT_FILTER:
		strcpy(ui->filter, ui->prompt.text);
		ui->dirty = true;
		break;
	default:
		break;
	}
}

static void finish(struct ui *ui)
{
	int64_t time_us;

	if (ui->prompt.kind == PROMPT_TIME && *ui->prompt.text) {
		if (time_parse(ui->prompt.text, ui->shot ? ui->shot->group.time_us : 0, &time_us))
			engine_seek(ui->engine, time_us);
		else
			snprintf(ui->message, sizeof(ui->message), "not a time: %.100s",
				 ui->prompt.text);
	}
	ui->prompt.kind = PROMPT_NONE;
}

static void give_up(struct ui *ui)
{
	if (ui->prompt.kind == PROMPT_FILTER) {
		*ui->filter = '\0';
		ui->dirty = true;
	} else if (target(ui)) {
		strcpy(target(ui), ui->prompt.before);
	}
	ui->prompt.kind = PROMPT_NONE;
}

static void erase_last(char *text)
{
	size_t n = strlen(text);

	/* remove all bytes of a UTF-8 character */
	while (n > 0 && ((unsigned char)text[n - 1] & 0xc0) == 0x80)
		n--;
	text[n ? n - 1 : 0] = '\0';
}

enum { ESCAPE = 27, BACKSPACE = 8, DELETE = 127, CTRL_U = 21 };

void prompt_key(struct ui *ui, int key)
{
	char *text = ui->prompt.text;
	size_t n = strlen(text);

	if (ui->prompt.kind == PROMPT_SAVE) {
		ui->prompt.kind = PROMPT_NONE;
		if (key == 'y' || key == 'Y')
			save_now(ui);
		else
			snprintf(ui->message, sizeof(ui->message), "not saved");
		return;
	}

	switch (key) {
	case ESCAPE:
		give_up(ui);
		return;
	case '\r':
	case '\n':
	case KEY_ENTER:
		finish(ui);
		return;
	case BACKSPACE:
	case DELETE:
	case KEY_BACKSPACE:
		erase_last(text);
		break;
	case CTRL_U:
		*text = '\0';
		break;
	default:
		/* the bytes of one character come one by one */
		if (key < ' ' || key > 0xff || n + 2 > sizeof(ui->prompt.text))
			return;
		text[n] = (char)key;
		text[n + 1] = '\0';
	}
	apply(ui);
}
