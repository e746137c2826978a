/* SPDX-License-Identifier: MIT */
/*
 * directories.h - rows summed by directory: time lost in a directory, and in all that is below it.
 */
#ifndef O2TOP_DIRECTORIES_H
#define O2TOP_DIRECTORIES_H

#include "o2top/rank/group.h"

struct directory {
	char *path; /* "" for what has no path that is known */
	struct change sum;
	double lost_per_s, acquired_per_s;
	double under_per_s; /* lost in it and in the directories below it */
	uint32_t n_rows, n_hot;
	uint32_t first; /* of its rows, in `order` */
};

struct directories {
	struct directory *list;
	size_t n;
	uint32_t *order; /* rows, directory after directory, the worst first in each */
};

/* Of the rows order[0..n). 0 or -ENOMEM; to be freed in any case. */
int directories_make(struct directories *d, const struct model *m, const struct row *rows,
		     const uint32_t *order, size_t n);
/* The same of a whole group; the directories by time lost. Without `all`, cheap system rows are
 * left out. */
int directories_of_group(struct directories *d, const struct model *m, const struct group *g,
			 bool all);
void directories_free(struct directories *d);

#endif
