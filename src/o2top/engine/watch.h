/* SPDX-License-Identifier: MIT */
/*
 * watch.h - a sample with the facts beside the locks: conditions, waits in the DLM, found paths.
 *
 * Every program that makes frames of a collector calls watch_sample() and watch_ranked(), so that
 * all views show equal content.
 */
#ifndef O2TOP_WATCH_H
#define O2TOP_WATCH_H

#include "o2top/rank/paths.h"

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
