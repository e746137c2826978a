/* SPDX-License-Identifier: MIT */
/*
 * group.h - a LockSetGroup: all rows of a frame, ranked by time lost.
 *
 * A group points into the model. The group is good until the next sample.
 */
#ifndef O2TOP_GROUP_H
#define O2TOP_GROUP_H

#include "row.h"

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
	int64_t time_us;   /* the newest of the nodes' wall clocks; see sample_time.h */
	/* storage */
	struct member *members;
	size_t n_members;
	struct lockset *locksets;
	struct row_node *row_nodes;
	float *trends;
	size_t n_explained; /* rows that have a sentence or a note */
	size_t text_bytes;  /* of all paths, links and directories, with their ends */
};

#endif
