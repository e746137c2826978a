/* SPDX-License-Identifier: MIT */
/*
 * tui_cursor.c - the place of the cursor. The cursor stays with its row from frame to frame.
 */
#include "tui_impl.h"

#include <stdlib.h>
#include <string.h>

void cursor_forget(struct ui *ui)
{
	free(ui->here.directory);
	ui->here = (struct item_key){0};
}

static void keep_row(struct ui *ui)
{
	if (ui->cursor >= ui->list.n || !item_key_of(ui, &ui->list.items[ui->cursor], &ui->here)) {
		ui->here = (struct item_key){0};
		ui->following = false;
		return;
	}
	if (ui->here.directory && !(ui->here.directory = strdup(ui->here.directory)))
		ui->following = false;
}

static bool is_row(const struct ui *ui, const struct item *item)
{
	struct item_key key;

	if ((item->kind != ITEM_ROW && item->kind != ITEM_DIRECTORY) ||
	    !item_key_of(ui, item, &key))
		return false;
	if (key.directory || ui->here.directory)
		return key.directory && ui->here.directory &&
		       strcmp(key.directory, ui->here.directory) == 0;
	return key.space == ui->here.space && key.id.class == ui->here.id.class &&
	       key.id.number == ui->here.id.number;
}

void cursor_find(struct ui *ui)
{
	for (size_t i = 0; ui->following && i < ui->list.n; i++)
		if (is_row(ui, &ui->list.items[i])) {
			ui->cursor = i;
			return;
		}
	if (ui->cursor >= ui->list.n)
		ui->cursor = ui->list.n ? ui->list.n - 1 : 0;
	if (ui->cursor < ui->list.n && ui->list.items[ui->cursor].kind == ITEM_SECTION &&
	    ui->cursor + 1 < ui->list.n)
		ui->cursor++;
}

void cursor_move_to(struct ui *ui, size_t item)
{
	if (!ui->list.n)
		return;
	ui->cursor = item < ui->list.n ? item : ui->list.n - 1;
	/* the cursor does not follow the first row: it stays at the top, where the most is lost */
	ui->following = ui->cursor > 1;
	cursor_forget(ui);
	keep_row(ui);
}
