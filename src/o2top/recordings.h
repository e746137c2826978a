/* SPDX-License-Identifier: MIT */
/*
 * recordings.h - the command line's recordings: one to show, its times, one to write.
 */
#ifndef O2TOP_RECORDINGS_H
#define O2TOP_RECORDINGS_H

#include "o2top/engine/times.h"
#include "o2top/options/options.h"

/*
 * Opens the recording in one file, the built-in recording, or the recording that --replay names.
 * Returns 0, negative errno, or 1 if the arguments name none of them. -EINVAL means that the error
 * was printed. Any other error becomes a problem.
 */
int recording_open(const struct options *o, struct collector **out, const char **title,
		   struct problems *problems);
/* Goes to the first sample that the user wants. Returns 0, or -EINVAL after printing the error. */
int recording_go_to(const struct options *o, struct collector *c, const char *title,
		    struct times *times);
/* Puts a recorder around the collector, if the user wants a recording. */
int recording_begin(const struct options *o, struct collector **c, struct problems *problems);
/* Returns whether the recorder wrote each sample. If not, the error is printed. */
bool recording_is_whole(const struct options *o, const struct collector *c);

#endif
