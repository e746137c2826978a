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

	return item_is_head(item) && item_key_of(ui, item, &key) && item_same_key(&key, &ui->here);
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
