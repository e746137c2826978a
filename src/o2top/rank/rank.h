/* SPDX-License-Identifier: MIT */
/*
 * From Locks of nodes to a ranking.
 *
 * A LockSet is one lock on all nodes; a row is what one wants to see as one line, an inode with all
 * its LockSets or a lock that belongs to no file; the LockSetGroup holds all that did something in
 * a frame, ranked by time lost. It points into the model and is good until the next sample.
 */
#ifndef O2TOP_RANK_H
#define O2TOP_RANK_H

#include "o2top/model/lockset.h"
#include "o2top/model/model.h"
#include "o2top/model/source.h"
#include "names.h"

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
	char *sentence;     /* who waits for whom and why, or NULL; the group's */
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

/* Which rows one wants to see. All are counted in the totals. */
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

struct totals {
	struct change sum;
	double lost_per_s, acquired_per_s;
	size_t rows, hot, locks;
};

struct group {
	struct row *rows; /* files first; each section by rank */
	size_t n_rows;    /* those that pass the filter */
	size_t n_section[SECTIONS];
	struct totals totals;
	double interval_s; /* the longest of the nodes' frames; 0 for a single sample */
	int64_t time_us;   /* the newest of the nodes' wall clocks */
	/* storage */
	struct member *members;
	size_t n_members;
	struct lockset *locksets;
	struct row_node *row_nodes;
	float *trends;
	size_t n_explained; /* rows that have a sentence or a note */
	size_t text_bytes;  /* of all paths, links and directories, with their ends */
};

/* Ranks what the model's last sample holds. 0 or -ENOMEM. */
int group_rank(struct group *g, const struct model *m, struct names *names,
	       const struct filter *filter, enum sort_key key);
void group_free(struct group *g);

/* By a column: the greatest first, names in their order; less than, equal to or greater than 0. */
/* What decides first: the greatest first; names are compared as such. */
double row_sort_value(const struct row *row, enum sort_key key);
int row_compare(const struct row *a, const struct row *b, enum sort_key key);
/* Adds what one did to what others did. */
void change_sum(struct change *to, const struct change *from);

double row_mean(const struct row *row);      /* seconds, NAN where nothing was acquired */
double row_hit_ratio(const struct row *row); /* NAN where requests are not counted */
const char *row_kind(const struct row *row); /* "file", "directory", ... or NULL */
/*
 * The path; or "<32264>", or what a row without a file is called, and with `of` in which file system,
 * if there are several.
 */
void row_label(const struct model *m, const struct row *row, bool of, char *buf, size_t size);
double row_acquired_per_s(const struct model *m, const struct row *row);

/* Whether any source has locks of this type; whether the lock space asked for is there. */
bool filter_knows_type(const char *name);
bool filter_knows_space(const struct filter *f, const struct model *m);

#endif
