/* SPDX-License-Identifier: MIT */
/*
 * delta.h - the change between two samples of one kernel file, exact to the byte.
 *
 * These files are lists with a line a lock, and they move little. Most lines stay, some have other
 * numbers, and some come and go. A few are lost now and then, because the kernel loses one line of
 * locking_state at each 4 KiB. So a text is units: a line, with the following lines that begin with
 * a blank. A unit is known by its name. An absent unit is kept for its return. A delta holds runs
 * of units that are unchanged or absent. Of the other units, it holds the words that differ, with
 * numbers as differences.
 *
 * Both sides update their own struct known in the same way.
 */
#ifndef O2TOP_DELTA_H
#define O2TOP_DELTA_H

#include "o2top/collect/pack.h"

struct unit;

/* The units of one file, as they were last seen. */
struct known {
	struct unit *units; /* in the order of the file; absent units stay where they were */
	size_t n, room;
	size_t absent; /* how many of them are not in the last text */
};

/*
 * The columns of a delta. Each kind of item has a column of its own, because it compresses best by
 * itself.
 */
struct delta {
	struct pack runs, gaps, numbers, text;
};

struct undelta {
	struct unpack runs, gaps, numbers, text;
};

void known_free(struct known *k);

/*
 * Adds the change from the known text to this text, which is the known one then. Returns 0 or
 * -ENOMEM.
 */
int delta_write(struct known *k, const char *text, size_t len, struct delta *out);
/*
 * Reads a change, and makes the text known. *text is allocated and NUL-terminated. text is NULL if
 * the caller does not want the text.
 *
 * Returns 0, -ENOMEM, or -EBADMSG if the change leads nowhere. After an error nothing is known any
 * more.
 */
int delta_read(struct known *k, struct undelta *in, char **text, size_t *len);

#endif
