/* SPDX-License-Identifier: MIT */
/*
 * tui_items.c - a line of the table: its key, whether it is open, and the mark before a detail.
 */
#include "tui_impl.h"

#include "o2top/base/grow.h"

#include <stdlib.h>
#include <string.h>

struct item *list_add(struct ui *ui, enum item_kind kind, uint32_t row, uint32_t at, unsigned depth)
{
	struct list *l = &ui->list;

	if (!grow(&l->items, l->n, &l->room, sizeof(*l->items)))
		return NULL;
	l->items[l->n] = (struct item){.kind = kind, .row = row, .at = at, .depth = (uint8_t)depth};
	return &l->items[l->n++];
}

const char *item_branch(const struct ui *ui, const struct item *item)
{
	if (ui->setup->view->ascii)
		return item->last ? "`-" : "|-";
	return item->last ? "└─" : "├─";
}

/* ---- what is open -------------------------------------------------------------------------- */

bool item_key_of(const struct ui *ui, const struct item *item, struct item_key *key)
{
	*key = (struct item_key){0};
	if (!ui->shot || item->kind == ITEM_SECTION || item->kind == ITEM_NOTHING)
		return false;
	if (item->kind == ITEM_HOST) {
		key->directory = ui->shot->model.nodes[ui->list.nodes[item->row].node].name;
		key->node = true;
		return true;
	}
	if (item->kind == ITEM_DIRECTORY) {
		key->directory = ui->list.directories.list[item->row].path;
		return true;
	}
	key->space = ui->shot->group.rows[item->row].space;
	key->id = ui->shot->group.rows[item->row].id;
	return true;
}

bool item_is_head(const struct item *item)
{
	return item->kind == ITEM_ROW || item->kind == ITEM_DIRECTORY || item->kind == ITEM_HOST;
}

bool item_same_key(const struct item_key *a, const struct item_key *b)
{
	if (a->directory || b->directory)
		return a->directory && b->directory && a->node == b->node &&
		       strcmp(a->directory, b->directory) == 0;
	return a->space == b->space && a->id.class == b->id.class && a->id.number == b->id.number;
}

static bool is_open(const struct ui *ui, const struct item_key *key)
{
	for (size_t i = 0; i < ui->n_open; i++)
		if (item_same_key(&ui->open[i], key))
			return true;
	return false;
}

bool item_is_open(const struct ui *ui, const struct item *item)
{
	struct item_key key;

	return ui->n_open && item_key_of(ui, item, &key) && is_open(ui, &key);
}

void item_toggle(struct ui *ui, const struct item *item)
{
	struct item_key key, *more;

	if (!item_key_of(ui, item, &key))
		return;
	for (size_t i = 0; i < ui->n_open; i++)
		if (item_same_key(&ui->open[i], &key)) {
			free(ui->open[i].directory);
			ui->open[i] = ui->open[--ui->n_open];
			return;
		}
	more = reallocarray(ui->open, ui->n_open + 1, sizeof(*more));
	if (!more)
		return;
	ui->open = more;
	if (key.directory && !(key.directory = strdup(key.directory)))
		return;
	more[ui->n_open++] = key;
}
