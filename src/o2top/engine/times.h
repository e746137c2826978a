/* SPDX-License-Identifier: MIT */
/*
 * times.h - times as users write them, and the part of a recording between two times.
 */
#ifndef O2TOP_TIMES_H
#define O2TOP_TIMES_H

#include "o2top/collect/collect.h"

/*
 * Parses "06:07", "06:07:30", "2026-11-20", "2026-11-20 06:07:30" or "@SECONDS", in local time.
 * A time without a date belongs to the day of near_us. Returns false for any other text.
 */
bool time_parse(const char *text, int64_t near_us, int64_t *time_us);

/* Returns the first sample at or after a time, or count() if there is none. */
size_t replay_find(struct collector *c, int64_t time_us);

/* Samples of a recording: first <= i < end are shown, and reading starts at begin. */
struct times {
	size_t begin, first, end;
};

/*
 * Finds the samples between two times. A time is written as for time_parse(), or is NULL. `warm`
 * samples before the first one are read, so that rates, trends and waits have a past.
 * Returns 0, or -EINVAL with the text that is no time in *wrong.
 */
int times_between(struct collector *c, const char *from, const char *to, size_t warm,
		  struct times *out, const char **wrong);

#endif
