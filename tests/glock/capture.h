/* SPDX-License-Identifier: MIT */
/*
 * capture.h - what a real kernel wrote: recordings that the tests are held against.
 *
 * They lie in the directory $GLOCK_CAPTURES, or else in tests/data of the source tree; each either
 * as a directory or as an archive NAME.tar.xz, which is unpacked for as long as the test runs.
 * A recording that is not there is a failure, with a message: a test that was not run proves
 * nothing.
 */
#ifndef TESTS_GLOCK_CAPTURE_H
#define TESTS_GLOCK_CAPTURE_H

#include <stddef.h>

/* The directory of a recording, e.g. "gfs2-trace". */
const char *capture_dir(const char *name);

/* A file below it, whole, with a NUL behind; "x" is read from "x.xz" if need be. To be freed. */
char *capture_read(const char *dir, const char *file);

/* Calls fn for every file of that name below dir, in no order; text as in capture_read(). */
void capture_each(const char *dir, const char *name, void (*fn)(const char *path, char *text));

/* The next line of a text, its newline replaced by NUL; NULL at the end. */
char *capture_line(char **text);

#endif
