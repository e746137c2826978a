/* SPDX-License-Identifier: MIT */
/*
 * view.h - the views: functions that show a frame.
 *
 * A view does not depend on a source. A view reads the model and the LockSetGroup.
 */
#ifndef O2TOP_VIEW_H
#define O2TOP_VIEW_H

#include "o2top/rank/rank.h"

#include <stdbool.h>
#include <stdio.h>

/* ---- colours.c: the roles that have a colour in o2top; colours.c has the colours.
 *
 * A role that stands out by colour also stands out by a sign: a star, an exclamation mark, a word.
 */

enum role {
	ROLE_PLAIN,
	ROLE_TITLE,    /* the program's name, totals */
	ROLE_HOT,      /* a hot row, a process that waits */
	ROLE_LONG,     /* a wait of a second or more */
	ROLE_BAD,      /* a node that is not ok, a problem */
	ROLE_GOOD,     /* a node that is ok */
	ROLE_FAINT,    /* details that matter least */
	ROLE_TREND,    /* bars */
	ROLE_COLUMNS,  /* the line of column titles */
	ROLE_SORTED,   /* the title of the column that sorts the rows */
	ROLE_SECTION,  /* a section's title */
	ROLE_SELECTED, /* the row that the cursor is at */
	ROLE_KEY,      /* a key on the last line */
	ROLE_KEY_TEXT, /* the action of the key */
	ROLE_BANNER,   /* the most urgent thing */
	ROLE_ADVICE,   /* advice */
	ROLE_PATH,     /* a path in a heading */
	ROLES
};

/* Terminal colours by number. -1 is the terminal's own colour. */
struct colour {
	signed char front, back;
	bool bold, faint, reverse, underline;
};

/* Returns the look of a role, with colours or without. */
const struct colour *colour_of(enum role role, bool colours);

enum { COLOUR_SGR_MAX = 32 };
/* Returns the look with colours as an escape sequence, or "" for a plain role. */
const char *colour_sgr(char buf[COLOUR_SGR_MAX], enum role role);

/* ---- the views: functions that show a frame. */

struct frame {
	const struct model *model;
	const struct group *group;
	const struct problems *problems; /* of this sample */
	const char *label;               /* of the sample, or "" */
	const char *title;               /* the cluster, machine or recording */
	bool single;                     /* made of one sample: shows waits, but no rates */
};

struct view_options {
	unsigned length;     /* rows of files; 0: all */
	bool details;        /* show lock types and nodes of hot rows */
	bool details_of_all; /* and of the other rows */
	bool by_directory;   /* sum rows by directory */
	bool all_system;     /* also show system rows that are not hot */
	bool color;
	bool ascii;       /* ASCII characters only */
	bool head;        /* of CSV: begin with the names of the columns */
	bool csv_raw;     /* of CSV: text that a spreadsheet takes for a formula stays as it is */
	bool filtered;    /* the user asked for some rows only */
	bool openmetrics; /* of the file for monitoring: OpenMetrics, not Prometheus text */
	int columns;      /* width of the page */
};

/* Each function writes one frame to `out`. Returns 0, or a negative errno if a write fails. */
int view_batch(FILE *out, const struct frame *frame, const struct view_options *options);
int view_json(FILE *out, const struct frame *frame, const struct view_options *options);
int view_csv(FILE *out, const struct frame *frame, const struct view_options *options);
/* view_openmetrics() writes at most this many rows, also if options->length is 0 or larger. */
enum { METRICS_ROWS_MAX = 100 };
struct counters;
int view_openmetrics(FILE *out, const struct frame *frame, const struct counters *counters,
		     const struct view_options *options);
/* Writes the same to a file at `path`. A reader finds a whole file or none. */
int view_textfile(const char *path, const struct frame *frame, const struct counters *counters,
		  const struct view_options *options);

/* ---- counters.c: sums over all frames that o2top has shown, for monitoring systems. They only
 * grow. */

/* The sums of one node in one lock space. Processes of libglock share one. */
struct counter {
	uint32_t space; /* index in the model */
	char *node;     /* "" for all processes together */
	double lost_s;
	uint64_t acquired;
};

struct counters {
	struct counter *list;
	size_t n, room;
	struct wait_counts *ended; /* by lock space */
	size_t n_spaces;
};

/* Adds a frame. A frame of a single sample has no time, so it adds nothing. Returns 0 or -ENOMEM.
 */
int counters_add(struct counters *c, const struct frame *f);
void counters_free(struct counters *c);

#endif
