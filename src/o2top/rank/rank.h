/* SPDX-License-Identifier: MIT */
/*
 * rank.h - rows, LockSets and the ranking that the changes of all nodes' Locks become.
 *
 * A LockSet is one lock on all nodes. A row is one line of a view. A row is an inode with all its
 * LockSets, or a lock that belongs to no file. The LockSetGroup holds all rows that were active in
 * a frame, ranked by time lost. The group points into the model and is good until the next sample.
 */
#ifndef O2TOP_RANK_H
#define O2TOP_RANK_H

#include "names.h"
#include "o2top/model/source.h"
#include "row.h"

/* ---- a LockSetGroup: all rows of a frame, ranked by time lost.
 *
 * A group points into the model. The group is good until the next sample.
 */

struct totals {
	struct change sum;
	double lost_per_s, acquired_per_s;
	size_t rows, hot, locks;
};

struct group {
	struct row *rows; /* files first; each section by rank */
	size_t n_rows;    /* rows that pass the filter */
	size_t n_section[SECTIONS];
	struct totals totals;
	double interval_s; /* the longest of the nodes' frames; 0 for a single sample */
	int64_t time_us;   /* the newest of the nodes' wall clocks; see clock.h */
	/* storage */
	struct member *members;
	size_t n_members;
	struct lockset *locksets;
	struct row_node *row_nodes;
	float *trends;
	size_t n_explained; /* rows that have a sentence or a note */
	size_t text_bytes;  /* of all paths, links and directories, with their ends */
};

/* ---- filter.c: the choice of the rows that the user wants to see. */

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

/* ---- rank.c. */

/* Ranks the rows of the model's last sample. Returns 0 or -ENOMEM. */
int group_rank(struct group *g, const struct model *m, struct names *names,
	       const struct filter *filter, enum sort_key key);
void group_free(struct group *g);

/* ---- gather.c: the first half of ranking: changes of all nodes' Locks become unordered rows. */

/*
 * Fills in the rows of the model's last sample, with their LockSets, nodes and trends.
 * Returns 0 or -ENOMEM.
 */
int gather_rows(struct group *g, const struct model *m, const struct filter *filter);

/* ---- explain.c: a row's sentence, and a note on what is missing from the row.
 *
 * The source makes the sentence. The sentence names the waiter and the holder, as far as known.
 */

/* Fills in the row's sentence and note, if there is a wait to explain. */
void explain_row(const struct model *m, struct row *row);

/* ---- describe.c: a row's description: file or directory, system's or user's, size, name. */

void describe_row(struct row *row, const struct model *m);
/* Fills in the row's path and other names, if they are known. */
void describe_name(struct row *row, const struct model *m, const struct names *names);
/* Finds the lock space of each list of names that has none yet. */
void describe_settle(struct names *names, const struct model *m);

/* ---- hang.c: tells a hang from traffic.
 *
 * A wait of a second or more is not a hang by itself, because traffic on an overloaded machine has
 * such waits, too. A row hangs, or hung, if few waits explain it:
 *
 * - HANG_NOW: waits in progress make most of the time lost.
 * - HANG_ENDED: the nodes that waited long lost most of the row's time. On each of them, at most
 *   three ended waits make most of the node's time.
 *
 * If the row is acquired more than once a second, the wait must also be longer than 5 s.
 */

enum row_hang { HANG_NONE, HANG_NOW, HANG_ENDED };

enum row_hang row_hang(const struct model *m, const struct row *row);

/* Returns whether a request waited long. The limit is twice as high for an estimated wait. */
bool waited_long(const struct change *c);

/* Returns whether a request in progress waits long, or may do so for all that is known. */
bool waits_long(const struct change *c);

/* ---- paths.c: paths of the rows that are shown.
 *
 * o2top asks a node that has the inode in its cache, for a few inodes at a time. Answers come with
 * a later sample. They are kept by inode and generation.
 *
 * If the user asks for a full search, a node looks through its whole file system. The node looks
 * for the inodes that are not found this way. Only one node at a time does so. A banner shows the
 * progress.
 */

struct paths;

enum paths_effort { PATHS_CACHED, PATHS_NONE, PATHS_WHOLE };

/* Takes in the nodes' answers of this sample. */
void paths_take(struct paths **p, struct names **names, struct model *m, struct collector *c,
		const struct sample *sample);
/* Asks for the missing paths of the first `rows` rows; with `whole`, by a full search, too. */
void paths_ask(struct paths **p, const struct model *m, const struct group *g, struct collector *c,
	       const struct sample *sample, unsigned rows, bool whole);
void paths_free(struct paths *p);

#endif
