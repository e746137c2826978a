/* SPDX-License-Identifier: MIT */
/*
 * directories.c - sums rows by directory, and adds each directory's time to those above it.
 */
#include "sort.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void directory_add_row(struct directory *d, const struct row *row, const struct model *m)
{
	change_sum(&d->sum, &row->sum);
	d->lost_per_s += row->lost_per_s;
	d->acquired_per_s += row_acquired_per_s(m, row);
	d->n_rows++;
	d->n_hot += row->hot;
}

static int gather(struct directories *d, const struct model *m, const struct row *rows, size_t n)
{
	size_t before_len = 0;
	const char *before = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct row *row = &rows[d->order[i]];
		size_t len;
		const char *path = directory_of(row, &len);

		if (!before || len != before_len || memcmp(path, before, len) != 0) {
			struct directory *new = &d->list[d->n];

			new->path = strndup(path, len);
			if (!new->path)
				return -ENOMEM;
			new->first = (uint32_t)i;
			d->n++;
			before = path;
			before_len = len;
		}
		directory_add_row(&d->list[d->n - 1], row, m);
	}
	return 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct directory *)a)->path, ((const struct directory *)b)->path);
}

/* Adds the time lost in each directory to that directory, and to all listed ones above it. */
static int add_under(struct directories *d)
{
	qsort(d->list, d->n, sizeof(*d->list), by_path);
	for (size_t i = 0; i < d->n; i++) {
		struct directory key = {.path = strdup(d->list[i].path)}, *above;
		char *slash;

		if (!key.path)
			return -ENOMEM;
		d->list[i].under_per_s += d->list[i].lost_per_s;
		while ((slash = strrchr(key.path, '/')) && slash[1]) {
			slash[slash == key.path] = '\0';
			above = bsearch(&key, d->list, d->n, sizeof(*d->list), by_path);
			if (above)
				above->under_per_s += d->list[i].lost_per_s;
		}
		free(key.path);
	}
	return 0;
}

int directories_make(struct directories *d, const struct model *m, const struct row *rows,
		     const uint32_t *order, size_t n)
{
	int err;

	*d = (struct directories){.list = calloc(n + 1, sizeof(*d->list)),
				  .order = calloc(n + 1, sizeof(*d->order))};
	if (!d->list || !d->order)
		return -ENOMEM;
	memcpy(d->order, order, n * sizeof(*order));
	err = sort_by_directory(rows, d->order, n);
	err = err ? err : gather(d, m, rows, n);
	return err ? err : add_under(d);
}

static int by_lost(const void *a, const void *b)
{
	const struct directory *x = a, *y = b;

	if (x->lost_per_s != y->lost_per_s)
		return x->lost_per_s > y->lost_per_s ? -1 : 1;
	return strcmp(x->path, y->path);
}

int directories_of_group(struct directories *d, const struct model *m, const struct group *g,
			 bool all)
{
	uint32_t *order = calloc(g->n_rows + 1, sizeof(*order));
	int err = -ENOMEM;
	size_t n = 0;

	*d = (struct directories){0};
	for (size_t i = 0; order && i < g->n_rows; i++)
		if (all || g->rows[i].section == SECTION_FILES || g->rows[i].hot)
			order[n++] = (uint32_t)i;
	if (order)
		err = directories_make(d, m, g->rows, order, n);
	free(order);
	if (!err)
		qsort(d->list, d->n, sizeof(*d->list), by_lost);
	return err;
}

void directories_free(struct directories *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->list[i].path);
	free(d->list);
	free(d->order);
	*d = (struct directories){0};
}
