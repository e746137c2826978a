/* SPDX-License-Identifier: MIT */
/*
 * sort.h - the order of many rows: by a column, or by directory.
 */
#ifndef O2TOP_SORT_H
#define O2TOP_SORT_H

#include "o2top/rank/row.h"

/* `order` is as the group is: by section, in each by `now`. */
int sort_rows(const struct row *rows, uint32_t *order, size_t n, enum sort_key key,
	      enum sort_key now, bool reversed);
/* Directory after directory, in each the worst first. */
int sort_by_directory(const struct row *rows, uint32_t *order, size_t n);
/* The directory that a row is in, or is; of length 0 where that is not known. */
const char *directory_of(const struct row *row, size_t *len);

#endif
