/* SPDX-License-Identifier: MIT */
/*
 * The order of up to some hundred thousand rows, within the time that a key may take. Rows are far apart
 * in memory, so what mostly decides lies side by side: the value, or the first bytes in which names
 * differ.
 */
#include "tui.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of 32 bytes, which qsort moves as they are. */
struct sortable {
	uint64_t key, more;
	float lost; /* within a directory */
	uint32_t row;
	uint8_t section;
	bool whole; /* the keys hold all of the text */
};

struct sorting {
	const struct row *rows;
	enum sort_key key;
	bool reversed;
};

/* The greatest first. */
static uint64_t number_key(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	bits = bits >> 63 ? ~bits : bits | 1ull << 63;
	return ~bits;
}

/* Eight bytes behind those that all have in common, the first one highest. */
static uint64_t text_key(const char *s, size_t len, size_t skip)
{
	uint64_t key = 0;

	for (size_t i = skip; i < skip + 8; i++)
		key = key << 8 | (i < len ? (unsigned char)s[i] : 0);
	return key;
}

static size_t common_prefix(const struct row *rows, const uint32_t *order, size_t n)
{
	const char *first = NULL;
	size_t common = 0;

	for (size_t i = 0; i < n; i++) {
		const char *path = rows[order[i]].path;
		size_t same = 0;

		if (!path)
			continue;
		if (!first) {
			first = path;
			common = strlen(path);
		}
		while (same < common && path[same] == first[same])
			same++;
		common = same;
	}
	return common;
}

/* Rows without a path come last, by number. */
static int by_path(const struct row *x, const struct row *y)
{
	int c = !x->path - !y->path;

	if (c || !x->path)
		return c ? c : row_compare(x, y, SORT_INODE);
	c = strcmp(x->path, y->path);
	return c ? c : row_compare(x, y, SORT_INODE);
}

static int by_keys(const struct sortable *x, const struct sortable *y)
{
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->more > y->more) - (x->more < y->more);
}

/* Sixteen bytes of a text behind those that all have in common. */
static void set_text(struct sortable *s, const char *text, size_t len, size_t skip)
{
	s->key = text_key(text, len, skip);
	s->more = text_key(text, len, skip + 8);
	s->whole = len <= skip + 16;
}

static int by_sorting(const void *a, const void *b, void *arg)
{
	const struct sorting *s = arg;
	const struct sortable *x = a, *y = b;
	int c;

	/* files before the system, whichever way round */
	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	c = by_keys(x, y);
	if (!c && s->key == SORT_NAME)
		c = by_path(&s->rows[x->row], &s->rows[y->row]);
	else if (!c)
		c = row_compare(&s->rows[x->row], &s->rows[y->row], s->key);
	return s->reversed ? -c : c;
}

int sort_rows(const struct row *rows, uint32_t *order, size_t n, enum sort_key key, bool reversed)
{
	struct sorting sorting = {rows, key, reversed};
	struct sortable *list = malloc((n + 1) * sizeof(*list));
	size_t skip = key == SORT_NAME ? common_prefix(rows, order, n) : 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct row *row = &rows[order[i]];

		list[i] = (struct sortable){.row = order[i], .section = (uint8_t)row->section};
		if (key != SORT_NAME)
			list[i].key = number_key(row_sort_value(row, key));
		else
			list[i].key =
			    row->path ? text_key(row->path, strlen(row->path), skip) : UINT64_MAX;
	}
	qsort_r(list, n, sizeof(*list), by_sorting, &sorting);
	for (size_t i = 0; i < n; i++)
		order[i] = list[i].row;
	free(list);
	return 0;
}

/* ---- by directory -------------------------------------------------------------------------- */

const char *directory_of(const struct row *row, size_t *len)
{
	const char *slash;

	*len = 0;
	if (!row->path && row->within) {
		*len = strlen(row->within);
		return row->within;
	}
	if (!row->path)
		return "";
	*len = strlen(row->path);
	while (*len > 1 && row->path[*len - 1] == '/')
		--*len;
	if (row->kind == DT_DIR)
		return row->path;
	slash = memrchr(row->path, '/', *len);
	*len = slash ? (slash > row->path ? (size_t)(slash - row->path) : 1) : 0;
	return row->path;
}

static int by_directory(const void *a, const void *b, void *arg)
{
	const struct row *rows = arg;
	const struct sortable *s = a, *t = b;
	const struct row *x = &rows[s->row], *y = &rows[t->row];
	const char *p, *q;
	size_t n, m;
	int c;

	c = by_keys(s, t);
	if (c)
		return c;
	if (!s->whole || !t->whole) {
		p = directory_of(x, &n);
		q = directory_of(y, &m);
		c = memcmp(p, q, n < m ? n : m);
		c = c ? c : (n > m) - (n < m);
	}
	if (!c && s->lost != t->lost)
		return s->lost > t->lost ? -1 : 1;
	return c ? c : row_compare(x, y, SORT_LOST);
}

int sort_by_directory(const struct row *rows, uint32_t *order, size_t n)
{
	struct sortable *list = malloc((n + 1) * sizeof(*list));
	size_t skip = common_prefix(rows, order, n);

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		size_t len;
		const char *path = directory_of(&rows[order[i]], &len);

		list[i] =
		    (struct sortable){.lost = (float)rows[order[i]].lost_per_s, .row = order[i]};
		set_text(&list[i], path, len, skip);
	}
	/* comparing reads rows, but does not change them */
	qsort_r(list, n, sizeof(*list), by_directory, (void *)rows);
	for (size_t i = 0; i < n; i++)
		order[i] = list[i].row;
	free(list);
	return 0;
}
