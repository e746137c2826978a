/* SPDX-License-Identifier: MIT */
/*
 * sort.h - the order of many rows: by a column, or by directory.
 */
#ifndef O2TOP_SORT_H
#define O2TOP_SORT_H

#include "o2top/rank/rank.h"
#include "o2top/rank/row.h"

/* ---- directories.c: rows summed by directory: time lost in a directory, and in all that is
 * below it. */

struct directory {
	char *path; /* "" for rows without a known path */
	struct change sum;
	double lost_per_s, acquired_per_s;
	double under_per_s; /* lost in the directory and in all below it */
	uint32_t n_rows, n_hot;
	uint32_t first; /* index in `order` of the first row */
};

struct directories {
	struct directory *list;
	size_t n;
	uint32_t *order; /* rows by directory, in each the most lost time first */
};

/*
 * Sums the rows order[0..n) by directory. Returns 0 or -ENOMEM. The caller calls directories_free()
 * in both cases.
 */
int directories_make(struct directories *d, const struct model *m, const struct row *rows,
		     const uint32_t *order, size_t n);
/*
 * Does the same for a whole group, and sorts the directories by time lost. Without `all`, the
 * function leaves out rows of the system section that are not hot.
 */
int directories_of_group(struct directories *d, const struct model *m, const struct group *g,
			 bool all);
void directories_free(struct directories *d);

/* ---- sort.c. */

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
