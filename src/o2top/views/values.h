/* SPDX-License-Identifier: MIT */
/*
 * values.h - values of JSON and CSV: numbers and texts that may be unknown or not UTF-8.
 */
#ifndef O2TOP_VALUES_H
#define O2TOP_VALUES_H

#include "o2top/model/model.h"
#include "o2top/rank/row.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* ---- json_unprotected.c: the list of unprotected files in the JSON of a frame. */

json_t *json_unprotected(const struct model *m);

/* ---- values of a line of CSV; each but the last one of a line ends with a comma. */

/* raw: text that a spreadsheet takes for a formula stays as it is */
void csv_text(FILE *out, const char *s, bool raw);
void csv_number(FILE *out, double v); /* empty if it is not finite */
void csv_whole(FILE *out, uint64_t v, bool known);

/* ---- times_view.c: how the waits of a row were spread, as text and as JSON. */

enum { TIMES_TEXT_MAX = 256 };

/* Writes one line of text, or returns NULL if nothing is known. */
const char *times_text(const struct wait_times *t, char buf[TIMES_TEXT_MAX]);
/*
 * Adds the percentiles, the holds and hand-overs of libglock, and the phases of GFS2 to an object.
 * Values that are not known are null.
 */
void times_json(const struct wait_times *t, json_t *object);

/* ---- values of JSON and CSV: numbers and texts that may be unknown or not UTF-8. */

json_t *json_text_of(const char *s); /* null for NULL */
json_t *json_number_of(double v);    /* in microseconds at most; null if it is not finite */
json_t *json_whole(uint64_t v);

#endif
