/* SPDX-License-Identifier: MIT */
/*
 * view.h - the views: functions that show a frame.
 *
 * A view does not depend on a source. A view reads the model and the LockSetGroup.
 */
#ifndef O2TOP_VIEW_H
#define O2TOP_VIEW_H

#include "o2top/rank/group.h"

#include <stdio.h>

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
	bool ascii;    /* ASCII characters only */
	bool head;     /* of CSV: begin with the names of the columns */
	bool filtered; /* the user asked for some rows only */
	bool openmetrics; /* of the file for monitoring: OpenMetrics, not Prometheus text */
	int columns;   /* width of the page */
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

#endif
