/* SPDX-License-Identifier: MIT */
/*
 * summary.h - the frames of a time together: what each file cost in all of them.
 *
 * The memory depends on the number of rows that were active, not on the number of frames.
 */
#ifndef O2TOP_SUMMARY_H
#define O2TOP_SUMMARY_H

#include "o2top/rank/names.h"
#include "view.h"

/*
 * All frames of a row. Of `row`, lost_s, acquired, requests and longest_s are those of all frames,
 * and waiting and oldest_s are the greatest of a frame. row.lost_per_s is the mean.
 */
struct summary_row {
	struct row row;
	char *path; /* the row's own copy, or NULL */
	double peak_per_s;
	uint32_t hot_frames;
	int64_t first_us, last_us; /* frames in which it was hot; 0 never */
};

/* The time of a node that the sums lack. */
struct summary_node {
	char *name;
	double missed_s;
};

struct summary {
	struct summary_row *rows;
	size_t n, room;
	uint32_t *slots; /* rows by their key, each index + 1; 0 is free */
	size_t n_slots;
	struct summary_node *nodes; /* machines; processes come and go */
	size_t n_nodes, room_nodes;
	struct change total;
	size_t frames;
	double span_s;             /* of all frames */
	int64_t from_us, until_us; /* 0 not known */
};

/* Adds a frame. Returns 0 or -ENOMEM. */
int summary_add(struct summary *s, const struct frame *frame);
/* Sorts and names the rows: files first, each section by rank. Ends the adding. */
void summary_finish(struct summary *s, const struct model *m, const struct names *names,
		    enum sort_key key);
void summary_free(struct summary *s);

/* Returns the seconds of a node that are in no frame. 0: too few to tell. */
double summary_missed(const struct summary *s, const struct summary_node *n);

enum summary_form { SUMMARY_TEXT, SUMMARY_JSON, SUMMARY_CSV };
/* Writes the finished summary. Returns 0, or a negative errno if a write fails. */
int summary_write(FILE *out, const struct summary *s, enum summary_form form, const struct model *m,
		  const char *title, const struct view_options *options);

#endif
