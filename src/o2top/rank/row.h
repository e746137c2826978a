/* SPDX-License-Identifier: MIT */
/*
 * row.h - a row of the ranking: an inode with all its LockSets, or a lock that belongs to no file.
 */
#ifndef O2TOP_ROW_H
#define O2TOP_ROW_H

#include "o2top/model/model.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- wait_times.c: how the waits of a row were spread, and what they waited for.
 *
 * GFS2 needs traces for that. Of libglock the percentiles come from the counts of the library.
 */

/* Percentiles of times. */
struct spread {
	uint32_t n; /* how many ended in the frame; 0: none, or not known */
	double p50_s, p90_s, p99_s;
};

struct wait_times {
	struct spread waits, holds, handovers; /* holds, handovers: libglock only */
	bool rounded;        /* up to 512 ns times a power of two, because they were counted so */
	uint32_t split;      /* waits that the rest describes; 0: no trace of each node */
	double give_s;       /* another node had the demand and kept the lock */
	double write_back_s; /* the part of give_s in which a write-back is known */
	double request_s;    /* the rest: the way of the request and of the reply, the DLM */
};

struct model;
struct row;

/* Fills in row->times. */
void wait_times_take(const struct model *m, struct row *row);

/* ---- row.c. */

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
	uint8_t kind;        /* DT_*, 0 not known */
	uint64_t size;       /* UINT64_MAX not known */
	const char *path;    /* or NULL */
	const char *links;   /* the file's other names, " = " between them, or NULL */
	const char *within;  /* without a path: the directory of the inode, or NULL */
	char *sentence;      /* the wait, its holder and the cause, or NULL; the group owns it */
	struct blocker root; /* the blocker that the sentence names; only with a sentence */
	char *note;          /* a note on data missing from the row, or NULL; the group owns it */
	struct wait_times times; /* of traces */
	float *trend;            /* seconds lost per second, frame by frame, the newest last */
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

/*
 * Returns the value that decides first. The row with the greatest value comes first. SORT_NAME
 * compares the names instead.
 */
double row_sort_value(const struct row *row, enum sort_key key);
/*
 * Compares two rows by a column: the greatest value first, names in their order.
 * Returns less than, equal to or greater than 0.
 */
int row_compare(const struct row *a, const struct row *b, enum sort_key key);

/*
 * Returns the part of all time lost. A row, node or directory whose time lost is shown as 0 has no
 * part in it.
 */
double lost_share(double lost_per_s, double all_per_s);
double row_mean(const struct row *row);      /* seconds, NAN where nothing was acquired */
double row_hit_ratio(const struct row *row); /* NAN where requests are not counted */
const char *row_kind(const struct row *row); /* "file", "directory", ... or NULL */
/*
 * Writes the row's label: a path, or an inode number such as "<32264>". A lock that is no file's
 * has its own name. With `of` the label also names the file system, if there are several.
 */
void row_label(const struct model *m, const struct row *row, bool of, char *buf, size_t size);
/* Does the same, with a slash behind the path of a directory. */
void row_label_slash(const struct model *m, const struct row *row, bool of, char *buf, size_t size);
/*
 * Writes a lock space's short name: where it is mounted, otherwise its name. A UUID is shortened.
 */
void space_label(const struct space *space, char *buf, size_t size);
/* Returns the highest value in the newest `n` frames of the row's trend, at least `most`. */
float row_trend_most(const struct row *row, unsigned n, float most);
double row_acquired_per_s(const struct model *m, const struct row *row);

#endif
