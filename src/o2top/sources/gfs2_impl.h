/* SPDX-License-Identifier: MIT */
/*
 * gfs2_impl.h - functions that the files of the GFS2 source share.
 */
#ifndef O2TOP_GFS2_IMPL_H
#define O2TOP_GFS2_IMPL_H

#include "o2top/model/source.h"

/*
 * Counts the waits in ns->holders, and those in ns->holders_before that ended. Call this after
 * glstats and glocks were read.
 */
void gfs2_take_waits(struct source_sample *t, bool traced);

/*
 * Reads the trace, if one was recorded. Returns true if its events cover the frame and were
 * counted.
 */
bool gfs2_take_trace(struct source_sample *t);

/*
 * Returns the holders of a glock that the sample before showed. They are known until the glock's
 * line of glocks comes.
 */
struct holder *gfs2_holders_then(const struct source_sample *t, const struct lock *lock,
				 uint32_t *n);

/* Returns the sentence of a wait, as struct source has it. */
char *gfs2_sentence(const struct model *m, const struct row_wait *wait, struct blocker *root);

#endif
