/* SPDX-License-Identifier: MIT */
/*
 * watch.h - a sample with the facts beside the locks: conditions, waits in the DLM, found paths.
 *
 * Every program that makes frames of a collector calls watch_sample() and watch_ranked(), so that
 * all views show equal content.
 */
#ifndef O2TOP_WATCH_H
#define O2TOP_WATCH_H

#include "o2top/collect/collect.h"
#include "o2top/rank/rank.h"

/* ---- times.c: times as users write them, and the part of a recording between two times. */

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

/* ---- watch.c. */

struct watch {
	struct model *model;
	struct collector *collector;
	struct names **names; /* paths that are found are added */
	struct paths *paths;
	enum paths_effort effort; /* how hard paths are looked for */
	unsigned rows;            /* rows whose paths are asked for; 0 means a hundred */
	struct sample sample;     /* the last one; the collector owns the memory */
};

/* Takes a sample in. Returns as model_sample(). */
int watch_sample(struct watch *w, const struct sample *sample);
/* Asks for the missing paths of the seen rows, after ranking. */
void watch_ranked(struct watch *w, const struct group *g);
void watch_free(struct watch *w);

#endif
