/* SPDX-License-Identifier: MIT */
/*
 * gfs2_impl.h - what the files of the GFS2 source share.
 */
#ifndef O2TOP_GFS2_IMPL_H
#define O2TOP_GFS2_IMPL_H

#include "o2top/model/source.h"

/*
 * Counts the waits among ns->holders and those of ns->holders_before that ended; after glstats and
 * glocks.
 */
void gfs2_take_waits(struct source_sample *t, bool traced);

/*
 * Reads the trace, where one was recorded; true where its events cover the frame and were counted.
 */
bool gfs2_take_trace(struct source_sample *t);

/* The sentence about a wait, as struct source has it. */
char *gfs2_sentence(const struct model *m, const struct row_wait *wait);

#endif
