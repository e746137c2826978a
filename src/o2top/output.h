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
#include "o2top/views/counters.h"
#include "o2top/views/summary.h"

struct output {
	const struct options *o;
	FILE *log;
	unsigned frames; /* written to standard output */
	bool failed;     /* a frame could not be written; the error was printed */
	bool stale;      /* the monitoring file lacks the last frame; the error was printed */
	enum check_status check;
	struct summary summary; /* with --summary: all frames so far */
	struct counters counters; /* of the monitoring file */
};

/* Opens the log, if the user wants one. Returns 0, or negative errno after printing the error. */
int output_begin(struct output *out, const struct options *o);
void output_end(struct output *out);
/*
 * Writes a frame. Returns 0, or negative errno after printing the error. A monitoring file that
 * cannot be written is tried again with the next frame.
 */
int output_frame(struct output *out, const struct frame *frame);
/* Writes the summary of all frames. Returns as output_frame(). */
int output_summary(struct output *out, const struct model *m, const struct names *names,
		   const char *title);

#endif
