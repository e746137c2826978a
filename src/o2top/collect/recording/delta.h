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
	struct unit *units; /* in the order of the file, absent ones where they were */
	size_t n, room;
	size_t absent; /* of them, not in the last text */
};

/* Kinds of things in columns of their own, as each compresses best by itself. */
struct delta {
	struct pack runs, gaps, numbers, text;
};

struct undelta {
	struct unpack runs, gaps, numbers, text;
};

void known_free(struct known *k);

/* Adds what leads from what is known to this text, which is known then. 0 or -ENOMEM. */
int delta_write(struct known *k, const char *text, size_t len, struct delta *out);
/*
 * The other way round: *text is allocated, NUL-terminated. 0, -ENOMEM, or -EBADMSG where it leads
 * nowhere; then nothing is known any more. text may be NULL for who only wants to know.
 */
int delta_read(struct known *k, struct undelta *in, char **text, size_t *len);

#endif
