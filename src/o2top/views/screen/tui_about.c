/* SPDX-License-Identifier: MIT */
/*
 * tui_about.c - the pane about the row at the cursor: kind, waits, advice, holders and waiters.
 */
#include "tui_impl.h"

#include "o2top/base/units.h"
#include "o2top/model/source.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

/* A wait of this many seconds is more than normal traffic. */
#define LONG_WAIT_S 1.0

static const struct row *row_here(const struct ui *ui)
{
	const struct item *item = ui->cursor < ui->list.n ? &ui->list.items[ui->cursor] : NULL;

	if (!item || item->kind == ITEM_SECTION || item->kind == ITEM_DIRECTORY ||
	    item->kind == ITEM_NOTHING || item->kind == ITEM_HOST)
		return NULL;
	return &ui->shot->group.rows[item->row];
}

static void draw_about(const struct ui *ui, int y, int width, const struct row *row)
{
	const struct space *space = &ui->shot->model.spaces[row->space];
	char raw[NAME_MAX_TEXT], clean[NAME_MAX_TEXT], size[UNIT_MAX];
	const char *kind = row_kind(row);
	int x;

	row_label(&ui->shot->model, row, false, raw, sizeof(raw));
	unit_clean(clean, sizeof(clean), raw, width / 2);
	x = screen_put(y, 0, width, ROLE_PATH, clean);
	if (row->path && !row->id.class)
		x = screen_format(y, x, width, ROLE_FAINT, "  inode %llu",
				  (unsigned long long)row->id.number);
	if (kind)
		x = screen_format(y, x, width, ROLE_FAINT, ", %s", kind);
	if (row->size != UINT64_MAX && row->kind == DT_REG)
		x = screen_format(y, x, width, ROLE_FAINT, " of %s", unit_bytes(size, row->size));
	unit_clean(clean, sizeof(clean), space->name, 40);
	screen_format(y, x, width, ROLE_FAINT, "  %s %s", space->source->name, clean);
}

/*
 * Draws a line for each process that waits or holds, until no line is left. Waiting processes come
 * first. Returns the line after them.
 */
static int draw_who(const struct ui *ui, int y, int end_y, int width, const struct row *row)
{
	char text[512];

	for (int waits = 1; waits >= 0; waits--)
		for (uint32_t i = 0; i < row->n_locksets; i++)
			for (uint32_t j = 0; j < row->locksets[i].n_members; j++) {
				const struct member *member = &row->locksets[i].members[j];
				const struct holder *h;
				uint32_t n;

				h = snapshot_holders(ui->shot, member, &n);
				for (; n-- && y < end_y; h++) {
					if (h->waits != waits || !h->pid)
						continue;
					process_text(ui, member, h, text, sizeof(text));
					screen_put(y++, 2, width, waits ? ROLE_HOT : ROLE_PLAIN,
						   text);
				}
			}
	return y;
}

static int draw_waiting_nodes(const struct ui *ui, int y, int end_y, int width,
			      const struct row *row)
{
	const struct row_node *first = NULL;
	char name[256], range[UNIT_RANGE_MAX], use[80];

	for (uint32_t i = 0; i < row->n_nodes && y < end_y; i++) {
		const struct row_node *n = &row->nodes[i];

		if (!n->sum.waiting)
			continue;
		first = first ? first : n;
		unit_clean(name, sizeof(name), ui->shot->model.nodes[n->node].name, 0);
		node_use(&n->sum, use, sizeof(use));
		screen_format(y++, 2, width, ROLE_HOT, "%s: %s, age %s", name, use,
			      unit_range(range, n->sum.oldest_s, n->sum.oldest_max_s));
	}
	/* a long wait: if the sentence above does not name the process, tell how to find it */
	if (first && y < end_y && first->sum.oldest_s >= LONG_WAIT_S &&
	    !(row->sentence && strstr(row->sentence, "(pid "))) {
		unit_clean(name, sizeof(name), ui->shot->model.nodes[first->node].name, 0);
		screen_format(y++, 2, width, ROLE_FAINT,
			      "the process is unknown here; on %s: ps -eo pid,stat,wchan:24,args",
			      name);
	}
	return y;
}

/*
 * Draws the texts about a row. Each text takes as many lines as it needs, until no line is left.
 * Returns the line after them.
 */
static int draw_texts(const struct ui *ui, int y, int end_y, int width, uint32_t row)
{
	char text[TEXT_MAX], line[TEXT_MAX];

	for (int about = 0; about < ABOUTS; about++) {
		enum role role;
		const char *mark = text_mark(ui, about, &role);

		if (!item_text(ui, row, about, text, sizeof(text)))
			continue;
		for (unsigned i = 0; y < end_y && fold_line(text, width - 5, i, line, sizeof(line));
		     i++) {
			screen_put(y, 2, width, role, i ? "" : mark);
			screen_put(y++, 5, width, role, line);
		}
	}
	return y;
}

void draw_pane(const struct ui *ui, int y, int end_y, int width)
{
	const struct row *row = row_here(ui);
	int x;

	for (x = 0; x < width; x++)
		screen_put(y, x, width, ROLE_FAINT, ui->setup->view->ascii ? "-" : "─");
	if (!row && ui->cursor < ui->list.n && ui->list.items[ui->cursor].kind == ITEM_HOST)
		draw_node_pane(ui, y + 1, end_y, width, &ui->list.items[ui->cursor]);
	if (!row)
		return;
	draw_about(ui, ++y, width, row);
	y = draw_texts(ui, y + 1, end_y, width, (uint32_t)(row - ui->shot->group.rows));
	x = draw_who(ui, y, end_y, width, row);
	if (x == y)
		draw_waiting_nodes(ui, y, end_y, width, row);
}
