/* SPDX-License-Identifier: MIT */
/*
 * filter.h - the choice of the rows that the user wants to see.
 */
#ifndef O2TOP_FILTER_H
#define O2TOP_FILTER_H

#include "o2top/model/source.h"
#include "row.h"

/* The totals count all rows, also those that the filter hides. */
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

/* Returns whether locks of this type are counted. */
bool filter_wants_type(const struct filter *f, const struct source *source, uint8_t type);
bool filter_wants_space(const struct filter *f, const struct space *space);
bool filter_wants_row(const struct filter *f, const struct model *m, const struct row *row);

/* Returns whether a source has locks of this type. */
bool filter_knows_type(const char *name);
/*
 * Returns whether a node has a lock space, and a lock in it, that the filter chooses. The lock may
 * be idle. Conditions on numbers, such as min_lost_per_s, do not matter.
 */
bool filter_finds(const struct filter *f, const struct model *m);
/* Returns whether the filter's lock space or kind of file system exists. */
bool filter_knows_space(const struct filter *f, const struct model *m);

#endif
