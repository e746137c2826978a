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

/* The part of the pane below its heading. All lines are counted, and those that fit are drawn. */
struct pane {
	const struct ui *ui;
	int y, end_y, width;
};

static void pane_line(struct pane *p, int x, enum role role, const char *text)
{
	if (p->y < p->end_y)
		screen_put(p->y, x, p->width, role, text);
	p->y++;
}

/*
 * Draws a line for each process that waits or holds. Waiting processes come first. Returns whether
 * there is one.
 */
static bool draw_who(struct pane *p, const struct row *row)
{
	char text[512];
	bool any = false;

	for (int waits = 1; waits >= 0; waits--)
		for (uint32_t i = 0; i < row->n_locksets; i++)
			for (uint32_t j = 0; j < row->locksets[i].n_members; j++) {
				const struct member *member = &row->locksets[i].members[j];
				const struct holder *h;
				uint32_t n;

				h = snapshot_holders(p->ui->shot, member, &n);
				for (; n--; h++) {
					if (h->waits != waits || !h->pid)
						continue;
					process_text(&p->ui->shot->model, member, h, text);
					pane_line(p, 2, waits ? ROLE_HOT : ROLE_PLAIN, text);
					any = true;
				}
			}
	return any;
}

static void draw_waiting_nodes(struct pane *p, const struct row *row)
{
	const struct row_node *first = NULL;
	const struct node *nodes = p->ui->shot->model.nodes;
	char name[256], range[UNIT_RANGE_MAX], use[80], text[512];

	for (uint32_t i = 0; i < row->n_nodes; i++) {
		const struct row_node *n = &row->nodes[i];

		if (!n->sum.waiting)
			continue;
		first = first || !change_own_waits(&n->sum) ? first : n;
		unit_clean(name, sizeof(name), nodes[n->node].name, 0);
		node_use(&n->sum, use, sizeof(use));
		snprintf(text, sizeof(text), "%s: %s, age %s", name, use,
			 n->sum.unproved && !change_age_known(&n->sum)
			     ? "not known"
			     : unit_range(range, n->sum.oldest_s, n->sum.oldest_max_s));
		pane_line(p, 2, ROLE_HOT, text);
	}
	/* a long wait: if the sentence above does not name the process, tell how to find it */
	if (first && first->sum.oldest_s >= LONG_WAIT_S &&
	    !(row->sentence && strstr(row->sentence, "(pid "))) {
		unit_clean(name, sizeof(name), nodes[first->node].name, 0);
		snprintf(text, sizeof(text),
			 "the process is unknown here; on %s: ps -eo pid,stat,wchan:24,args", name);
		pane_line(p, 2, ROLE_FAINT, text);
	}
}

/* Draws the texts about a row. Each text takes as many lines as it needs. */
static void draw_texts(struct pane *p, uint32_t row)
{
	char text[TEXT_MAX], line[TEXT_MAX];

	for (int about = 0; about < ABOUTS; about++) {
		enum role role;
		const char *mark = text_mark(p->ui, about, &role);

		if (!item_text(p->ui, row, about, text, sizeof(text)))
			continue;
		for (unsigned i = 0; fold_line(text, p->width - 5, i, line, sizeof(line)); i++) {
			if (!i && p->y < p->end_y)
				screen_put(p->y, 2, p->width, role, mark);
			pane_line(p, 5, role, line);
		}
	}
}

void draw_more(int y, int end_y, int width)
{
	if (y <= end_y)
		return;
	screen_fill(end_y - 1, 0, width, ROLE_PLAIN);
	screen_format(end_y - 1, 2, width, ROLE_FAINT, "... %d more lines", y - end_y + 1);
}

void draw_pane(const struct ui *ui, int y, int end_y, int width)
{
	const struct row *row = row_here(ui);
	struct pane p = {ui, y + 2, end_y, width};

	for (int x = 0; x < width; x++)
		screen_put(y, x, width, ROLE_FAINT, ui->setup->view->ascii ? "-" : "─");
	if (!row && ui->cursor < ui->list.n && ui->list.items[ui->cursor].kind == ITEM_HOST)
		draw_node_pane(ui, y + 1, end_y, width, &ui->list.items[ui->cursor]);
	if (!row)
		return;
	draw_about(ui, y + 1, width, row);
	draw_texts(&p, (uint32_t)(row - ui->shot->group.rows));
	if (!draw_who(&p, row))
		draw_waiting_nodes(&p, row);
	draw_more(p.y, end_y, width);
}
