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
	const char *title;               /* what is watched */
	bool single;                     /* made of one sample: nothing but who waits */
};

struct view_options {
	unsigned length;     /* rows of files; 0 all */
	bool details;        /* hot rows opened to lock types and nodes */
	bool details_of_all; /* and the others */
	bool by_directory;   /* rows added up by directory */
	bool all_system;     /* also the rows of the system section that are not hot */
	bool color;
	bool ascii;    /* no characters but ASCII */
	bool head;     /* of CSV: begin with the columns' names */
	bool filtered; /* not all rows are wanted */
	int columns;   /* width of the page */
};

/* Each writes one frame to out. 0, or negative errno where it could not be written. */
int view_batch(FILE *out, const struct frame *frame, const struct view_options *options);
int view_json(FILE *out, const struct frame *frame, const struct view_options *options);
int view_csv(FILE *out, const struct frame *frame, const struct view_options *options);
/* At most this many rows, however many options->length asks for. */
enum { METRICS_ROWS_MAX = 100 };
int view_openmetrics(FILE *out, const struct frame *frame, const struct view_options *options);
/* The same as a file that is there whole or not at all. */
int view_textfile(const char *path, const struct frame *frame, const struct view_options *options);

#endif
