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

#include "o2top/collect/parcel.h"

#include <stdbool.h>

/* ---- parts.c: the files of a rotated recording: FILE is the newest one, FILE.1 the one before. */

/* The most files of a set. Replay opens all of them. */
enum { PARTS_MOST = 100 };

/* Returns the name of the ith file of a set, 0 for the newest. NULL: no memory. Free it. */
char *part_name(const char *path, unsigned i);

/*
 * Returns whether a file begins as a recording does. A file that is missing or empty is one, too,
 * if a recording was rotated before it.
 */
bool is_recording(const char *path);
/*
 * Renames FILE to FILE.1, FILE.1 to FILE.2 and so on in the folder that own_folder() opened, and
 * keeps `keep` files, a new FILE counted. A missing file ends the renaming, so that an interrupted
 * rotation loses no file. Returns 0, -EEXIST if a file in the way is no recording of this user, or
 * another negative errno. *name is then the path of the file in the way, which the caller frees; it
 * may be NULL.
 */
int parts_rotate(int folder, const char *path, unsigned keep, char **name);

/* ---- delta.c. */

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

/* ---- delta_parts.c: units and words: the common base of writing and reading a delta. */

struct unit {
	char *text;
	uint32_t len;
	uint32_t hash; /* of its name */
};

enum run { RUN_SAME, RUN_GONE, RUN_EDIT, RUN_NEW, RUN_END, RUNS };

/* A unit that is longer than this becomes two. */
enum { UNIT_LONGEST = 1 << 20 };

/* Returns the length of the unit at the beginning of a text; 0 at the text's end. */
size_t unit_length(const char *text, size_t len);
/* Returns the hash of a unit's name. */
uint32_t unit_hash(const char *text, size_t len);
int unit_set_text(struct unit *u, const char *text, size_t len);
/* Adds an empty unit. NULL: no memory. */
struct unit *known_add(struct known *k);
/* Moves the units up to `until` over as absent ones. Returns 0 or -ENOMEM. */
int known_pass(struct known *to, struct known *from, size_t *at, size_t until);

struct word_walk {
	const char *at, *end;
	bool done;
};

/* Finds the next word and, behind it, one separator or the end. */
bool words_next(struct word_walk *w, const char **word, size_t *len, char *separator);
/* Returns whether a word is a number that would be printed again in the same way. */
bool word_number(const char *word, size_t len, uint64_t *v);

#endif
