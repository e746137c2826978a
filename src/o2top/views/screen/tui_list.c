/* SPDX-License-Identifier: MIT */
/*
 * tui_list.c - the lines of the table.
 *
 * The list is rebuilt when a frame comes or the user asks for another one, never while drawing. So
 * the cost is at most n log n of the frame's size.
 */
#include "tui_impl.h"

#include "o2top/advice/advice.h"
#include "o2top/base/units.h"
#include "o2top/views/sort.h"
#include "o2top/views/values.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names --------------------------------------------------------------------------------- */

void item_label(const struct ui *ui, const struct row *row, bool name, char *buf, size_t size)
{
	const struct model *m = &ui->shot->model;
	struct row plain = *row;
	const char *slash;
	size_t n;

	if (ui->paths == PATH_INODE)
		plain.path = NULL;
	row_label_slash(m, &plain, true, buf, size);
	if (!plain.path || (!name && ui->paths != PATH_NAME))
		return;
	n = strlen(buf);
	if (n > 1 && buf[n - 1] == '/')
		n--;
	slash = memrchr(buf, '/', n);
	if (slash && slash[1])
		memmove(buf, slash + 1, strlen(slash));
}

/* ---- order --------------------------------------------------------------------------------- */

static bool row_shown(struct ui *ui, const struct row *row)
{
	char label[1200];

	if (ui->hot_only && !row->hot)
		return false;
	if (row->section == SECTION_SYSTEM && !row->hot && !ui->all_system) {
		ui->list.n_left[SECTION_SYSTEM]++;
		return false;
	}
	if (!*ui->filter)
		return true;
	/* shortcut: most labels are the path itself */
	if (ui->paths == PATH_FULL && row->path && row->kind != DT_DIR)
		return strcasestr(row->path, ui->filter) != NULL;
	item_label(ui, row, false, label, sizeof(label));
	return strcasestr(label, ui->filter) != NULL;
}

static int list_order_rows(struct ui *ui)
{
	const struct group *g = &ui->shot->group;
	uint32_t *order = reallocarray(ui->list.order, g->n_rows + 1, sizeof(*order));

	if (!order)
		return -ENOMEM;
	ui->list.order = order;
	ui->list.n_order = 0;
	memset(ui->list.n_section, 0, sizeof(ui->list.n_section));
	memset(ui->list.n_left, 0, sizeof(ui->list.n_left));
	for (size_t i = 0; i < g->n_rows; i++)
		if (row_shown(ui, &g->rows[i])) {
			order[ui->list.n_order++] = (uint32_t)i;
			ui->list.n_section[g->rows[i].section]++;
		}
	/* the group comes sorted by the engine's column, which is time lost by default */
	if (ui->sort != ui->setup->engine.sort || ui->reversed)
		return sort_rows(g->rows, order, ui->list.n_order, ui->sort, ui->setup->engine.sort,
				 ui->reversed);
	return 0;
}

/* ---- items --------------------------------------------------------------------------------- */

const char *fold_line(const char *text, int width, unsigned nth, char *buf, size_t size)
{
	width = width < 20 ? 20 : width;
	for (unsigned i = 0; *text; i++) {
		size_t n = unit_fold(text, width, true);

		if (i == nth) {
			snprintf(buf, size, "%.*s", (int)n, text);
			return buf;
		}
		text += n;
		text += *text == ' ';
	}
	return NULL;
}

const char *item_text(const struct ui *ui, uint32_t row, enum about about, char *buf, size_t size)
{
	const struct row *r = &ui->shot->group.rows[row];
	const char *text = about == ABOUT_SENTENCE ? r->sentence : r->note;
	char advice[ADVICE_MAX], times[TIMES_TEXT_MAX];

	if (about == ABOUT_TIMES)
		text = times_text(&r->times, times);
	if (about == ABOUT_ADVICE) {
		advise(&ui->shot->model, r, advice, sizeof(advice));
		text = *advice ? advice : NULL;
	}
	if (!text)
		return NULL;
	unit_clean(buf, size, text, 0);
	return buf;
}

static int add_text(struct ui *ui, uint32_t row, unsigned depth, int width)
{
	char text[TEXT_MAX], line[TEXT_MAX];

	for (int about = 0; about < ABOUTS; about++) {
		if (!item_text(ui, row, about, text, sizeof(text)))
			continue;
		for (unsigned i = 0; fold_line(text, width, i, line, sizeof(line)); i++) {
			struct item *item = list_add(ui, ITEM_TEXT, row, i, depth);

			if (!item)
				return -ENOMEM;
			item->nth = (uint32_t)about;
		}
	}
	return 0;
}

static bool says_something(const struct holder *h)
{
	return h->pid || h->waits;
}

static int add_processes(struct ui *ui, uint32_t row, unsigned depth)
{
	const struct row *r = &ui->shot->group.rows[row];

	for (uint32_t i = 0; i < r->n_locksets; i++)
		for (uint32_t j = 0; j < r->locksets[i].n_members; j++) {
			const struct member *member = &r->locksets[i].members[j];
			const struct holder *holders;
			uint32_t n;

			holders = snapshot_holders(ui->shot, member, &n);
			for (uint32_t k = 0; k < n; k++) {
				struct item *item;

				if (!says_something(&holders[k]))
					continue;
				item =
				    list_add(ui, ITEM_PROCESS, row,
					     (uint32_t)(member - ui->shot->group.members), depth);
				if (!item)
					return -ENOMEM;
				item->nth = k;
			}
		}
	return 0;
}

static int list_add_row(struct ui *ui, uint32_t row, unsigned depth, int width)
{
	const struct row *r = &ui->shot->group.rows[row];
	struct item *item = list_add(ui, ITEM_ROW, row, 0, depth);
	size_t first = ui->list.n;
	bool open;
	int err = 0;

	if (!item)
		return -ENOMEM;
	open = item_is_open(ui, item);
	if (open)
		err = add_text(ui, row, depth + 1, width);
	for (uint32_t i = 0; open && !err && i < r->n_locksets; i++)
		err = list_add(ui, ITEM_LOCK, row, i, depth + 1) ? 0 : -ENOMEM;
	for (uint32_t i = 0; (open || ui->per_node) && !err && i < r->n_nodes; i++)
		err = list_add(ui, ITEM_NODE, row, i, depth + 1) ? 0 : -ENOMEM;
	if (open && !err)
		err = add_processes(ui, row, depth + 1);
	if (!err && ui->list.n > first)
		ui->list.items[ui->list.n - 1].last = true;
	return err;
}

static int add_rows(struct ui *ui, int width)
{
	enum section section = SECTIONS;
	int err = 0;

	for (size_t i = 0; i < ui->list.n_order && !err; i++) {
		const struct row *r = &ui->shot->group.rows[ui->list.order[i]];

		if (r->section != section && !list_add(ui, ITEM_SECTION, r->section, 0, 0))
			return -ENOMEM;
		section = r->section;
		err = list_add_row(ui, ui->list.order[i], 0, width);
	}
	/* add the section's title, because the title tells how many rows are left out */
	if (!err && ui->list.n_left[SECTION_SYSTEM] && !ui->list.n_section[SECTION_SYSTEM])
		err = list_add(ui, ITEM_SECTION, SECTION_SYSTEM, 0, 0) ? 0 : -ENOMEM;
	return err;
}

/* ---- directories --------------------------------------------------------------------------- */

static int by_worth(const void *a, const void *b, void *arg)
{
	const struct directory *x = a, *y = b;
	const struct ui *ui = arg;
	double u = x->lost_per_s, v = y->lost_per_s;
	int c;

	switch (ui->sort) {
	case SORT_WAITING:
		u = x->sum.waiting;
		v = y->sum.waiting;
		break;
	case SORT_AGE:
		u = x->sum.oldest_s;
		v = y->sum.oldest_s;
		break;
	case SORT_LONGEST:
		u = x->sum.longest_s;
		v = y->sum.longest_s;
		break;
	case SORT_ACQUIRED:
		u = x->acquired_per_s;
		v = y->acquired_per_s;
		break;
	case SORT_NAME:
		c = strcoll(x->path, y->path);
		return ui->reversed ? -c : c;
	default:
		break;
	}
	c = (u < v) - (u > v);
	c = c ? c : strcmp(x->path, y->path);
	return ui->reversed ? -c : c;
}

static int gather_directories(struct ui *ui)
{
	struct list *l = &ui->list;
	int err = directories_make(&l->directories, &ui->shot->model, ui->shot->group.rows,
				   l->order, l->n_order);

	if (!err)
		qsort_r(l->directories.list, l->directories.n, sizeof(*l->directories.list),
			by_worth, ui);
	return err;
}

static int add_directories(struct ui *ui, int width)
{
	int err = gather_directories(ui);

	for (size_t i = 0; i < ui->list.directories.n && !err; i++) {
		const struct directory *d = &ui->list.directories.list[i];
		struct item *item = list_add(ui, ITEM_DIRECTORY, (uint32_t)i, 0, 0);

		if (!item)
			return -ENOMEM;
		if (!item_is_open(ui, item))
			continue;
		for (uint32_t j = 0; j < d->n_rows && !err; j++)
			err = list_add_row(ui, ui->list.directories.order[d->first + j], 1, width);
	}
	return err;
}

/* ---- all of it ----------------------------------------------------------------------------- */

int list_build(struct ui *ui, int width)
{
	int err;

	ui->list.n = 0;
	directories_free(&ui->list.directories);
	if (!ui->shot)
		return 0;
	err = list_order_rows(ui);
	if (!err)
		err = ui->by_node        ? nodes_add(ui)
		      : ui->by_directory ? add_directories(ui, width - 10)
					 : add_rows(ui, width - 10);
	if (!err && !ui->list.n_order && !ui->by_node)
		err = list_add(ui, ITEM_NOTHING, 0, 0, 0) ? 0 : -ENOMEM;
	columns_measure(ui);
	return err;
}

void list_free(struct list *l)
{
	directories_free(&l->directories);
	free(l->items);
	free(l->order);
	free(l->nodes);
	*l = (struct list){0};
}
