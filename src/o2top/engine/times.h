/* SPDX-License-Identifier: MIT */
/*
 * times.h - times as users write them, and the part of a recording between two times.
 */
#ifndef O2TOP_TIMES_H
#define O2TOP_TIMES_H

#include "o2top/collect/collect.h"

/*
 * "06:07", "06:07:30", "2026-11-20", "2026-11-20 06:07:30" or "@SECONDS", local time; a time of day
 * is of the day of near_us. False where it is none of them.
 */
bool time_parse(const char *text, int64_t near_us, int64_t *time_us);

/* The first sample at or after a time; count() where there is none. */
size_t replay_find(struct collector *c, int64_t time_us);

/* Samples of a recording: those that are shown, first <= i < end, and where to begin reading. */
struct times {
	size_t begin, first, end;
};

/*
 * What lies between two times, as people write them or NULL; `warm` samples before it are read so
 * that rates, trends and waits have a past. 0, or -EINVAL: *wrong is the one that is no time.
 */
int times_between(struct collector *c, const char *from, const char *to, size_t warm,
		  struct times *out, const char **wrong);

#endif
