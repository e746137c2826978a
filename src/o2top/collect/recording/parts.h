/* SPDX-License-Identifier: MIT */
/*
 * parts.h - the files of a rotated recording: FILE is the newest one, FILE.1 the one before.
 */
#ifndef O2TOP_PARTS_H
#define O2TOP_PARTS_H

#include <stdbool.h>

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
 * Renames FILE to FILE.1, FILE.1 to FILE.2 and so on, and keeps `keep` files, a new FILE counted.
 * A missing file ends the renaming, so that an interrupted rotation loses no file. Returns 0,
 * -EEXIST if a file in the way is no recording, or another negative errno. *name is then the file
 * in the way, which the caller frees; it may be NULL.
 */
int parts_rotate(const char *path, unsigned keep, char **name);

#endif
