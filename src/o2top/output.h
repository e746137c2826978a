/* SPDX-License-Identifier: MIT */
/*
 * output.h - destinations of frames that do not go to a terminal's screen.
 *
 * Standard output gets one kind of text, or none. A log and a file for monitoring may get the frame
 * as well.
 */
#ifndef O2TOP_OUTPUT_H
#define O2TOP_OUTPUT_H

#include "o2top/options/options.h"

struct output {
	const struct options *o;
	FILE *log;
	unsigned frames; /* written to standard output */
	bool failed;     /* a frame could not be written, which was said */
	bool stale;      /* nor could the last one to the monitoring file, which was said, too */
	enum check_status check;
};

/* Opens the log, where there is to be one. 0 or negative errno, which was said. */
int output_begin(struct output *out, const struct options *o);
void output_end(struct output *out);
/* 0 or negative errno, which was said; a monitoring file that cannot be written is tried again. */
int output_frame(struct output *out, const struct frame *frame);

#endif
