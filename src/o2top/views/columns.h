/* SPDX-License-Identifier: MIT */
/*
 * columns.h - the columns of a line, in one table that all views read.
 *
 * A line is a row, a node's part in a row, a LockSet, a directory, or a row of the summary. A new
 * column is a value, an entry of the table, and a paragraph of the manual.
 */
#ifndef O2TOP_COLUMNS_H
#define O2TOP_COLUMNS_H

#include "o2top/base/units.h"
#include "o2top/rank/rank.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct line {
	const struct model *model;
	const struct change *sum;
	double lost;           /* per second; of the summary in all frames */
	double all;            /* the same of all rows */
	double acquired_per_s; /* NAN not known */
	const struct row *row; /* NULL: no trend, hit ratio, size and nodes */
	const struct row *of;  /* a row of the same file system, or NULL */
	float trend_most;      /* the scale of TREND; 0: the row's own highest */
	bool rates;            /* the length of the frame is known */
	bool ascii;
};

enum form {
	FORM_RATE, /* seconds per second */
	FORM_SECONDS,
	FORM_LONGEST, /* seconds; tables do not show 0 */
	FORM_AGE,     /* seconds, as a range */
	FORM_SHARE,
	FORM_WAITS, /* a count; tables do not show 0 */
	FORM_COUNT,
	FORM_FLAG,
	FORM_NODES, /* a count in tables, and names elsewhere */
	FORM_BYTES,
	FORM_TREND,
	FORM_FS
};

enum estimate { EXACT, ESTIMATED_SUM, ESTIMATED_LONGEST };

struct column {
	const char *name; /* of --columns and the screen; NULL: no column of the screen */
	const char *title, *about;
	enum sort_key sort; /* SORT_KEYS: rows are not sorted by it */
	enum form form;
	double (*value)(const struct line *l); /* NAN not known; NULL: the form knows its value */
	enum estimate estimate;
	signed char width;      /* on the screen */
	signed char text_width; /* of --batch; 0: not there */
	signed char worth;      /* without room, the column with the least worth goes first */
	bool left;
	bool narrow;                /* a narrow page has it, too */
	const char *key;            /* in JSON and CSV, or NULL */
	signed char json;           /* its place in JSON from 1; 0: not there */
	bool csv;                   /* CSV has the columns in the order of the table */
	const char *metric, *meant; /* the name and the help of a row's gauge, or NULL */
};

enum { COLUMNS = 21, TREND_WIDTH = 8, CELL_MAX = 64 };
extern const struct column columns[COLUMNS];

/* Places in JSON: a change has the first ones, and a row has all. A new column takes the last. */
enum { JSON_CHANGE = 1, JSON_ROW = 10, JSON_USE = 14, JSON_END = 18 };

/* Returns the column of that name of `len` bytes; NULL if there is none. */
const struct column *column_named(const char *name, size_t len);
/* Returns NULL if each name in the list is a column, otherwise the part that is wrong. */
const char *columns_check(const char *names);
/* Writes each column of the screen with its meaning. */
void columns_list(FILE *out);
/* Writes the cell of a table, `~` before an estimate, "-" for a value that is not known. */
const char *column_text(const struct column *c, const struct line *l, char buf[CELL_MAX]);
/* Does the same for the column of a name. */
const char *column_cell(const char *name, const struct line *l, char buf[CELL_MAX]);
/* Writes `~` and the value, if an estimate is to be marked. */
const char *column_mark(char buf[CELL_MAX], const char *value, bool estimated);

struct frame;
/* Returns whether the frame has a length, so that rates and counts of it are known. */
bool frame_rates(const struct frame *f);
/* Returns the line of a row in a frame, or of a change that is a part of a row. */
struct line line_of_row(const struct frame *f, const struct row *row);
struct line line_of(const struct frame *f, const struct change *sum, double lost_per_s,
		    double acquired_per_s);

/* Writes the short name of a row's file system. Returns how many columns it takes. */
int fs_name(const struct model *m, const struct row *row, char *buf, size_t size);

enum { PROCESS_TEXT_MAX = 512 };
/* Writes text such as "node1: pid 1770 cp waits 6.01 s for SH". */
const char *process_text(const struct model *m, const struct member *member, const struct holder *h,
			 char buf[PROCESS_TEXT_MAX]);

/* The key and the words of a column to sort by. The letter r reverses, so no column has r. */
struct sort_about {
	char letter;
	const char *about;
};
extern const struct sort_about sort_abouts[SORT_KEYS];

#endif
