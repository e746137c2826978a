/* SPDX-License-Identifier: MIT */
/*
 * sort.h - the order of many rows: by a column, or by directory.
 */
#ifndef O2TOP_SORT_H
#define O2TOP_SORT_H

#include "o2top/rank/row.h"

/*
 * Sorts rows by `key`, inside each section. Before the call, `order` has the order of the group: by
 * section, and in each section by `now`. Returns 0 or -ENOMEM.
 */
int sort_rows(const struct row *rows, uint32_t *order, size_t n, enum sort_key key,
	      enum sort_key now, bool reversed);
/*
 * Sorts rows by directory. In each directory the row that lost the most time comes first. Returns 0
 * or -ENOMEM.
 */
int sort_by_directory(const struct row *rows, uint32_t *order, size_t n);
/*
 * Returns the directory that a row is in, or the row's own path if the row is a directory. *len is
 * 0 if the directory is not known.
 */
const char *directory_of(const struct row *row, size_t *len);

#endif
