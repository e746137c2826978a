/* SPDX-License-Identifier: MIT */
/*
 * What changed between two samples of one file of the kernel's, exactly to the byte.
 *
 * These files are lists of one line a lock, which move little: most lines are as they were, some have
 * other numbers, some come and go, and some are lost now and then (the kernel loses one of
 * locking_state's at each 4 KiB). So a text is units (a line, with those after it that begin with
 * a blank), each known by its name; a unit that is absent is kept for when it comes back. What is
 * written is runs of units that are the same or absent, and of the others the words that differ,
 * numbers as differences.
 *
 * Both sides do the same to their own struct known.
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
