/* SPDX-License-Identifier: MIT */
/*
 * row.h - a row of the ranking: an inode with all its LockSets, or a lock that belongs to no file.
 */
#ifndef O2TOP_ROW_H
#define O2TOP_ROW_H

#include "o2top/model/lockset.h"
#include "o2top/model/model.h"

enum { TREND_MAX = TRAIL_SHOTS };

/* How one node took part in a row. */
struct row_node {
	uint32_t node;
	struct change sum;
	double lost_per_s;
};

enum section { SECTION_FILES, SECTION_SYSTEM, SECTIONS };

struct row {
	uint32_t space;
	struct row_id id;
	enum section section;
	uint32_t rank; /* from 1, within its section */
	bool hot;
	struct change sum;
	double lost_per_s;
	struct lockset *locksets;
	uint32_t n_locksets;
	struct row_node *nodes;
	uint32_t n_nodes, n_writers, n_readers;
	uint8_t kind;       /* DT_*, 0 not known */
	uint64_t size;      /* UINT64_MAX not known */
	const char *path;   /* or NULL */
	const char *links;  /* its other names, " = " between them, or NULL */
	const char *within; /* without a path: the directory that it is in, or NULL */
	char *sentence;     /* the wait, its holder and the cause, or NULL; the group's */
	char *note;         /* what is missing from this row, or NULL; the group's */
	float *trend;       /* seconds lost per second, frame by frame, the newest last */
	uint32_t n_trend;
};

enum sort_key {
	SORT_LOST,
	SORT_WAITING,
	SORT_AGE,
	SORT_MEAN,
	SORT_LONGEST,
	SORT_ACQUIRED,
	SORT_HIT,
	SORT_WRITERS,
	SORT_READERS,
	SORT_SIZE,
	SORT_INODE,
	SORT_NAME,
	SORT_KEYS
};
extern const char *const sort_key_names[SORT_KEYS];

/* The value that decides first, the greatest first; names are compared as such. */
double row_sort_value(const struct row *row, enum sort_key key);
/* By a column: the greatest first, names in their order; less than, equal to or greater than 0. */
int row_compare(const struct row *a, const struct row *b, enum sort_key key);

double row_mean(const struct row *row);      /* seconds, NAN where nothing was acquired */
double row_hit_ratio(const struct row *row); /* NAN where requests are not counted */
const char *row_kind(const struct row *row); /* "file", "directory", ... or NULL */
/*
 * The path; or "<32264>", or what a row without a file is called, and with `of` in which file
 * system, if there are several.
 */
void row_label(const struct model *m, const struct row *row, bool of, char *buf, size_t size);
double row_acquired_per_s(const struct model *m, const struct row *row);

#endif
