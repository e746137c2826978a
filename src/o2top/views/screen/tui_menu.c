/* SPDX-License-Identifier: MIT */
/*
 * tui_menu.c - the list of columns to sort by.
 *
 * The menu is a mode, not a loop: frames come while the menu is open.
 */
#include "tui_impl.h"

#include <curses.h>
#include <stdio.h>

void sort_by(struct ui *ui, enum sort_key key, bool reversed)
{
	ui->sort = key;
	ui->reversed = reversed;
	ui->dirty = true;
	if (!ui->following)
		ui->cursor = ui->top = 0;
	snprintf(ui->message, sizeof(ui->message), "sorted by %s%s", sort_key_names[key],
		 ui->reversed ? ", reversed" : "");
}

void menu_begin(struct ui *ui)
{
	ui->menu = true;
	ui->menu_at = (int)ui->sort;
}

/* Sorts by the column at the cursor, and leaves the menu. */
static void menu_choose(struct ui *ui, bool reversed)
{
	ui->menu = false;
	sort_by(ui, (enum sort_key)ui->menu_at, reversed);
}

void menu_key(struct ui *ui, int key)
{
	switch (key) {
	case KEY_UP:
		ui->menu_at -= ui->menu_at > 0;
		return;
	case KEY_DOWN:
		ui->menu_at += ui->menu_at < SORT_KEYS - 1;
		return;
	case KEY_HOME:
		ui->menu_at = 0;
		return;
	case KEY_END:
		ui->menu_at = SORT_KEYS - 1;
		return;
	case '\r':
	case '\n':
	case ' ':
	case KEY_ENTER:
		menu_choose(ui, false);
		return;
	case 'r':
		menu_choose(ui, ui->menu_at == (int)ui->sort ? !ui->reversed : true);
		return;
	default:
		for (int i = 0; i < SORT_KEYS; i++)
			if (sort_abouts[i].letter == key) {
				ui->menu_at = i;
				menu_choose(ui, false);
				return;
			}
		/* any other key leaves everything as it is */
		ui->menu = false;
	}
}

void draw_menu(const struct ui *ui, int height, int width)
{
	const int room = height - 2, top = ui->menu_at >= room ? ui->menu_at - room + 1 : 0;

	screen_put(0, 1, width, ROLE_SECTION, "Sort by");
	for (int y = 1; y <= room && top + y - 1 < SORT_KEYS; y++) {
		const int i = top + y - 1;
		const bool now = i == (int)ui->sort;
		const enum role role = i == ui->menu_at ? ROLE_SELECTED : ROLE_PLAIN;

		if (i == ui->menu_at)
			screen_fill(y, 0, width, ROLE_SELECTED);
		screen_format(y, 0, width, role, "%s%s %c  %-9s %s%s", i == ui->menu_at ? ">" : " ",
			      now ? "*" : " ", sort_abouts[i].letter, sort_key_names[i],
			      sort_abouts[i].about,
			      now ? ui->reversed ? " (now, reversed)" : " (now)" : "");
	}
	screen_put(height - 1, 0, width, ROLE_KEY,
		   "Enter or a letter sorts, r sorts in reverse, any other key goes back");
}
