/* SPDX-License-Identifier: MIT */
/*
 * sort.c - the order of up to some hundred thousand rows, within the time that a key may take.
 *
 * Rows are far apart in memory, so the deciding data lies side by side. It is the value, or eight
 * bytes of a name at a time. The bytes that all rows of a bunch share are skipped.
 */
#include "sort.h"

#include "o2top/base/radix_sort.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * A row's text and its length. The string may go on behind the text. The row is read once, because
 * the row is far away in memory.
 */
struct text {
	const char *text;
	size_t len;
	uint32_t row;
};

struct sorting {
	const struct row *rows;
	enum sort_key key;
	const struct text *texts; /* the list has indices of texts; NULL: of rows */
};

static const struct row *row_of(const struct sorting *s, const void *keyed)
{
	uint32_t index = ((const struct radix_item *)keyed)->index;

	return &s->rows[s->texts ? s->texts[index].row : index];
}

static int by_value(const void *a, const void *b, void *arg)
{
	const struct sorting *s = arg;

	return row_compare(row_of(s, a), row_of(s, b), s->key);
}

/* ---- texts --------------------------------------------------------------------------------- */

/*
 * Returns eight bytes from `skip` on as a number. The first byte is the highest. Bytes behind the
 * end are 0.
 */
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

/* Returns how many bytes all texts share. The caller knows that they share `skip` bytes. */
static size_t common_prefix(const struct sorting *s, const struct radix_item *list, size_t n,
			    size_t skip)
{
	const struct text *first = &s->texts[list[0].index];
	size_t common = first->len;

	for (size_t i = 1; i < n && common > skip; i++) {
		const struct text *t = &s->texts[list[i].index];
		size_t same = skip;

		while (same < common && same < t->len && t->text[same] == first->text[same])
			same++;
		common = same;
	}
	return common > skip ? common : skip;
}

/*
 * Sorts a bunch of texts that share the first `skip` bytes. The eight bytes after the shared ones
 * decide. Texts with the same eight bytes are a bunch again.
 */
static int sort_bunch(const struct sorting *s, struct radix_item *list, size_t n, size_t skip)
{
	bool over = true; /* all texts ended */
	int err;

	skip = common_prefix(s, list, n, skip);
	for (size_t i = 0; i < n; i++) {
		const struct text *t = &s->texts[list[i].index];

		list[i].key = text_key(t->text, t->len, skip);
		over = over && t->len <= skip;
	}
	if (over) {
		qsort_r(list, n, sizeof(*list), by_value, (void *)s);
		return 0;
	}
	err = radix_sort(list, n);
	for (size_t i = 0, same; i < n && !err; i += same) {
		for (same = 1; i + same < n && list[i + same].key == list[i].key;)
			same++;
		if (same > 1)
			err = sort_bunch(s, list + i, same, skip + sizeof(list->key));
	}
	return err;
}

/* Sorts rows by a text of each row. Rows with the same text are sorted by a key. */
static int sort_by_text(const struct row *rows, uint32_t *order, size_t n, enum sort_key key,
			const char *(*text)(const struct row *row, size_t *len))
{
	struct text *texts = malloc((n + 1) * sizeof(*texts));
	struct radix_item *list = malloc((n + 1) * sizeof(*list));
	struct sorting sorting = {rows, key, texts};
	int err = texts && list ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !err; i++) {
		texts[i].text = text(&rows[order[i]], &texts[i].len);
		texts[i].row = order[i];
		list[i].index = (uint32_t)i;
	}
	if (!err && n)
		err = sort_bunch(&sorting, list, n, 0);
	for (size_t i = 0; i < n && !err; i++)
		order[i] = texts[list[i].index].row;
	free(texts);
	free(list);
	return err;
}

/* ---- by a column --------------------------------------------------------------------------- */

static const char *path_of(const struct row *row, size_t *len)
{
	*len = row->path ? strlen(row->path) : 0;
	return row->path ? row->path : "";
}

/* Reverses the order. The caller passes one section at a time. */
static void turn_round(uint32_t *order, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		uint32_t other = order[n - 1 - i];

		order[n - 1 - i] = order[i];
		order[i] = other;
	}
}

/* Sorts rows by path. Rows without a path come last, by number. */
static int sort_by_name(const struct row *rows, uint32_t *order, size_t n)
{
	uint32_t *none = malloc((n + 1) * sizeof(*none));
	struct radix_item *list = malloc((n + 1) * sizeof(*list));
	struct sorting sorting = {rows, SORT_INODE, NULL};
	size_t n_none = 0, n_paths = 0;
	int err = none && list ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !err; i++)
		if (rows[order[i]].path)
			order[n_paths++] = order[i];
		else
			none[n_none++] = order[i];
	err = err ? err : sort_by_text(rows, order, n_paths, SORT_INODE, path_of);
	for (size_t i = 0; i < n_none && !err; i++)
		list[i] = (struct radix_item){
		    radix_greatest_first(row_sort_value(&rows[none[i]], SORT_INODE)), none[i]};
	err = err ? err : radix_sort_by(list, n_none, by_value, &sorting);
	for (size_t i = 0; i < n_none && !err; i++)
		order[n_paths + i] = list[i].index;
	free(none);
	free(list);
	return err;
}

static int sort_by_number(const struct row *rows, uint32_t *order, size_t n, enum sort_key key,
			  enum sort_key now)
{
	struct radix_item *list = malloc((n + 1) * sizeof(*list));
	struct sorting sorting = {rows, key, NULL};
	int err = list ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !err; i++)
		list[i] = (struct radix_item){
		    radix_greatest_first(row_sort_value(&rows[order[i]], key)), order[i]};
	/*
	 * Rows of equal value are ordered by time lost. If the rows come in this order, a sort that
	 * keeps the order of equal keys is enough.
	 */
	if (!err)
		err = now == SORT_LOST ? radix_sort(list, n)
				       : radix_sort_by(list, n, by_value, &sorting);
	for (size_t i = 0; i < n && !err; i++)
		order[i] = list[i].index;
	free(list);
	return err;
}

int sort_rows(const struct row *rows, uint32_t *order, size_t n, enum sort_key key,
	      enum sort_key now, bool reversed)
{
	int err = 0;

	/* files stay before the system section, also in a reversed order */
	for (size_t i = 0, same; i < n && !err; i += same) {
		for (same = 1;
		     i + same < n && rows[order[i + same]].section == rows[order[i]].section;)
			same++;
		err = key == SORT_NAME ? sort_by_name(rows, order + i, same)
				       : sort_by_number(rows, order + i, same, key, now);
		if (reversed)
			turn_round(order + i, same);
	}
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

int sort_by_directory(const struct row *rows, uint32_t *order, size_t n)
{
	return sort_by_text(rows, order, n, SORT_LOST, directory_of);
}
