/* SPDX-License-Identifier: MIT */
/*
 * recordings.h - the command line's wishes about recordings: one to show, its times, one to write.
 */
#ifndef O2TOP_RECORDINGS_H
#define O2TOP_RECORDINGS_H

#include "o2top/engine/times.h"
#include "o2top/options/options.h"

/*
 * Opens the recording in one file, the one built in, or what --replay names: 0, negative errno, or
 * 1 where it is none of them. What is wrong was said (-EINVAL) or is a problem.
 */
int recording_open(const struct options *o, struct collector **out, const char **title,
		   struct problems *problems);
/* Goes to the first sample that is asked for. 0, or -EINVAL, which was said. */
int recording_go_to(const struct options *o, struct collector *c, const char *title,
		    struct times *times);
/* Puts a recorder around the collector, where one is asked for. */
int recording_begin(const struct options *o, struct collector **c, struct problems *problems);

#endif
