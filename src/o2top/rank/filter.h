/* SPDX-License-Identifier: MIT */
/*
 * filter.h - which rows one wants to see.
 */
#ifndef O2TOP_FILTER_H
#define O2TOP_FILTER_H

#include "o2top/model/source.h"
#include "row.h"

/* All rows are counted in the totals. */
struct filter {
	const char *fs;   /* "ocfs2", "gfs2" or a lock space's name, or NULL */
	const char *type; /* a lock type's name or letter, or NULL */
	bool has_inode;
	uint64_t inode;
	uint32_t writers;
	double min_lost_per_s;
	bool no_system;
	bool hot_only;
};

/* Whether a lock of this type counts at all. */
bool filter_wants_type(const struct filter *f, const struct source *source, uint8_t type);
bool filter_wants_row(const struct filter *f, const struct model *m, const struct row *row);

/* Whether any source has locks of this type; whether the lock space asked for is there. */
bool filter_knows_type(const char *name);
bool filter_knows_space(const struct filter *f, const struct model *m);

#endif
