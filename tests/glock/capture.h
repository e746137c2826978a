/* SPDX-License-Identifier: MIT */
/*
 * capture.h - the recordings of a real kernel's output, with which tests compare the library's.
 *
 * The recordings are in the directory $GLOCK_CAPTURES, or else in tests/data of the source tree.
 * Each is a directory or an archive NAME.tar.xz, which is unpacked while the test runs. A missing
 * recording is a failure with a message, because a test that did not run proves nothing.
 */
#ifndef TESTS_GLOCK_CAPTURE_H
#define TESTS_GLOCK_CAPTURE_H

#include <stddef.h>

/* Returns the directory of a recording, such as "gfs2-trace". */
const char *capture_dir(const char *name);

/*
 * Returns a whole file below it, with a NUL behind. "x" is read from "x.xz" if "x" is missing. The
 * text is to be freed.
 */
char *capture_read(const char *dir, const char *file);

/*
 * Calls fn for every file of that name below dir, in any order. The text is as in capture_read().
 */
void capture_each(const char *dir, const char *name, void (*fn)(const char *path, char *text));

/* Returns the next line of a text, its newline replaced by NUL, or NULL at the end. */
char *capture_line(char **text);

#endif
