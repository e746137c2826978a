/* SPDX-License-Identifier: MIT */
/*
 * The order of up to some hundred thousand rows, within the time that a key may take. Rows are far apart
 * in memory, so what mostly decides lies side by side: the value, or eight bytes of a name at a time,
 * behind those that all of a bunch have in common.
 */
#include "tui.h"

#include "../keyed.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sorting {
	const struct row *rows;
	enum sort_key key;
	/* a row's text, which may be longer than that */
	const char *(*text)(const struct row *row, size_t *len);
	int (*compare)(const void *a, const void *b, void *arg);
};

static const struct row *row_of(const struct sorting *s, const void *keyed)
{
	return &s->rows[((const struct keyed *)keyed)->index];
}

static int by_value(const void *a, const void *b, void *arg)
{
	const struct sorting *s = arg;

	return row_compare(row_of(s, a), row_of(s, b), s->key);
}

/* ---- texts --------------------------------------------------------------------------------- */

/* Eight bytes from there on, the first one highest; 0 behind the end. */
static uint64_t text_key(const char *s, size_t len, size_t skip)
{
	uint64_t key = 0;

	if (len >= skip + sizeof(key)) {
		memcpy(&key, s + skip, sizeof(key));
		return be64toh(key);
	}
	for (size_t i = skip; i < skip + sizeof(key); i++)
		key = key << 8 | (i < len ? (unsigned char)s[i] : 0);
	return key;
}

/* How many bytes all have in common, of which `skip` are known to be. */
static size_t common_prefix(const struct sorting *s, const struct keyed *list, size_t n,
			    size_t skip)
{
	size_t common, len;
	const char *first = s->text(row_of(s, list), &common);

	for (size_t i = 1; i < n && common > skip; i++) {
		const char *text = s->text(row_of(s, &list[i]), &len);
		size_t same = skip;

		while (same < common && same < len && text[same] == first[same])
			same++;
		common = same;
	}
	return common > skip ? common : skip;
}

/* Of a bunch that is the same up to `skip`: by what follows, those that are the same there, too, again. */
static int sort_texts(const struct sorting *s, struct keyed *list, size_t n, size_t skip)
{
	bool over = true; /* all ended */
	int err;

	skip = common_prefix(s, list, n, skip);
	for (size_t i = 0; i < n; i++) {
		size_t len;
		const char *text = s->text(row_of(s, &list[i]), &len);

		list[i].key = text_key(text, len, skip);
		over = over && len <= skip;
	}
	if (over) {
		qsort_r(list, n, sizeof(*list), s->compare, (void *)s);
		return 0;
	}
	err = keyed_sort(list, n);
	for (size_t i = 0, same; i < n && !err; i += same) {
		for (same = 1; i + same < n && list[i + same].key == list[i].key;)
			same++;
		if (same > 1)
			err = sort_texts(s, list + i, same, skip + sizeof(list->key));
	}
	return err;
}

static int sort_rows_by_text(const struct sorting *s, struct keyed *list, size_t n)
{
	return n ? sort_texts(s, list, n, 0) : 0;
}

/* ---- by a column --------------------------------------------------------------------------- */

static const char *path_of(const struct row *row, size_t *len)
{
	*len = row->path ? strlen(row->path) : 0;
	return row->path ? row->path : "";
}

/* The other way round, section by section. */
static void turn_round(uint32_t *order, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		uint32_t other = order[n - 1 - i];

		order[n - 1 - i] = order[i];
		order[i] = other;
	}
}

/* Rows without a path come last, by number. */
static int sort_by_name(const struct row *rows, struct keyed *list, size_t n)
{
	struct sorting by_path = {rows, SORT_INODE, path_of, by_value};
	struct keyed *none = malloc((n + 1) * sizeof(*none));
	size_t n_none = 0, n_paths = 0;
	int err;

	if (!none)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (rows[list[i].index].path)
			list[n_paths++] = list[i];
		else
			none[n_none++] = list[i];
	memcpy(list + n_paths, none, n_none * sizeof(*none));
	free(none);
	err = sort_rows_by_text(&by_path, list, n_paths);
	if (!err)
		qsort_r(list + n_paths, n_none, sizeof(*list), by_value, &by_path);
	return err;
}

/* Rows of one section. */
static int sort_section(const struct row *rows, uint32_t *order, size_t n, struct keyed *list,
			enum sort_key key, bool reversed)
{
	struct sorting sorting = {.rows = rows, .key = key};
	int err;

	for (size_t i = 0; i < n; i++)
		list[i] = (struct keyed){
		    key == SORT_NAME ? 0
				     : keyed_greatest_first(row_sort_value(&rows[order[i]], key)),
		    order[i]};
	err = key == SORT_NAME ? sort_by_name(rows, list, n)
			       : keyed_sort_by(list, n, by_value, &sorting);
	for (size_t i = 0; i < n && !err; i++)
		order[i] = list[i].index;
	if (reversed)
		turn_round(order, n);
	return err;
}

int sort_rows(const struct row *rows, uint32_t *order, size_t n, enum sort_key key, bool reversed)
{
	struct keyed *list = malloc((n + 1) * sizeof(*list));
	int err = list ? 0 : -ENOMEM;

	/* files before the system, whichever way round; they are so already */
	for (size_t i = 0, same; i < n && !err; i += same) {
		for (same = 1;
		     i + same < n && rows[order[i + same]].section == rows[order[i]].section;)
			same++;
		err = sort_section(rows, order + i, same, list, key, reversed);
	}
	free(list);
	return err;
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

/* Of one directory. */
static int by_loss(const void *a, const void *b, void *arg)
{
	return row_compare(row_of(arg, a), row_of(arg, b), SORT_LOST);
}

int sort_by_directory(const struct row *rows, uint32_t *order, size_t n)
{
	struct sorting sorting = {rows, SORT_LOST, directory_of, by_loss};
	struct keyed *list = malloc((n + 1) * sizeof(*list));
	int err;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		list[i].index = order[i];
	err = sort_rows_by_text(&sorting, list, n);
	for (size_t i = 0; i < n && !err; i++)
		order[i] = list[i].index;
	free(list);
	return err;
}
