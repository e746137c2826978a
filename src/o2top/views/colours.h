/* SPDX-License-Identifier: MIT */
/*
 * colours.h - the roles that have a colour in o2top; colours.c has the colours.
 *
 * A role that stands out by colour also stands out by a sign: a star, an exclamation mark, a word.
 */
#ifndef O2TOP_COLOURS_H
#define O2TOP_COLOURS_H

#include <stdbool.h>

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

#endif
