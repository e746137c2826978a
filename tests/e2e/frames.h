/* SPDX-License-Identifier: MIT */
/*
 * frames.h - runs the real o2top and reads its output.
 */
#ifndef TESTS_FRAMES_H
#define TESTS_FRAMES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdbool.h>

/* Returns the folder of a recording that comes with the project, in static storage. */
const char *capture(const char *name);

/*
 * Runs o2top with a shell-quoted argument string. Returns its output (to be freed) and its exit
 * status.
 */
char *run_text(const char *args, int *status);

/* Runs `o2top --json ARGS`, which must exit with 0. Returns an array of frames. */
json_t *run_frames(const char *args);

/* Returns the row of a frame by inode and file system, or NULL. */
json_t *row_of(json_t *frame, const char *fs, json_int_t ino);
double real_of(json_t *object, const char *key); /* NAN if the value is null */
const char *text_of(json_t *object, const char *key);
/* Returns a node of a frame or of a row by its name, or NULL. */
json_t *node_of(json_t *object, const char *name);
bool has_text(json_t *array, const char *text);

#endif
