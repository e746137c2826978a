/* SPDX-License-Identifier: MIT */
/*
 * ocfs2_flock.h - flocks of OCFS2, which have a line for each open file.
 */
#ifndef O2TOP_OCFS2_FLOCK_H
#define O2TOP_OCFS2_FLOCK_H

#include "o2top/model/source.h"

/* Takes a line of a flock. The Lock's Shot becomes that of the line that tells most. */
void ocfs2_flock_take(struct source_sample *t, struct lock *lock, const struct ocfs2_shot *s);

/* Adds, after the last line, the waits of all flocks: those in progress, and those that ended. */
void ocfs2_flock_settle(struct source_sample *t);

/* Returns whether the line is that of a process that has the flock. */
bool ocfs2_flock_held(const struct ocfs2_shot *s);

#endif
