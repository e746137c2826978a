/* SPDX-License-Identifier: MIT */
/*
 * directories.h - rows summed by directory: time lost in a directory, and in all that is below it.
 */
#ifndef O2TOP_DIRECTORIES_H
#define O2TOP_DIRECTORIES_H

#include "o2top/rank/group.h"

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

#endif
