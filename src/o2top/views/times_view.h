/* SPDX-License-Identifier: MIT */
/*
 * times_view.h - how the waits of a row were spread, as text and as JSON.
 */
#ifndef O2TOP_TIMES_VIEW_H
#define O2TOP_TIMES_VIEW_H

#include "o2top/rank/wait_times.h"

#include <jansson.h>

enum { TIMES_TEXT_MAX = 256 };

/* Writes one line of text, or returns NULL if nothing is known. */
const char *times_text(const struct wait_times *t, char buf[TIMES_TEXT_MAX]);
/*
 * Adds the percentiles, the holds and hand-overs of libglock, and the phases of GFS2 to an object.
 * Values that are not known are null.
 */
void times_json(const struct wait_times *t, json_t *object);

#endif
