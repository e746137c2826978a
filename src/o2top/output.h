/* SPDX-License-Identifier: MIT */
/*
 * output.h - destinations of frames that do not go to a terminal's screen.
 *
 * Standard output gets one kind of text, or none. A log and a file for monitoring may get the frame
 * as well.
 */
#ifndef O2TOP_OUTPUT_H
#define O2TOP_OUTPUT_H

#include "o2top/engine/watch.h"
#include "o2top/options/options.h"
#include "o2top/views/summary.h"
#include "o2top/views/view.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- first_answer.c: the wait for the first machine that answers.
 *
 * The wait may be long if a machine is overloaded, or if it went down without closing connections.
 * If standard error is a terminal, o2top prints there the machines that it waits for.
 */

/*
 * Waits until fd can be read. Returns false if a signal asked the program to end. The names are fit
 * for a terminal.
 */
bool first_answer_wait(int fd, char *const *names, size_t n);

/* ---- recordings.c: the command line's recordings: one to show, its times, one to write. */

/*
 * Opens the recording in one file, the built-in recording, or the recording that --replay names.
 * Returns 0, negative errno, or 1 if the arguments name none of them. -EINVAL means that the error
 * was printed. Any other error becomes a problem.
 */
int recording_open(const struct options *o, struct collector **out, const char **title,
		   struct problems *problems);
/*
 * Opens the paths of the command line. If files may be of two nodes, the user is asked on a
 * terminal; -EXDEV if they are, or without a terminal.
 */
int recording_of_paths(const struct options *o, struct collector **out, struct problems *problems);
/* Goes to the first sample that the user wants. Returns 0, or -EINVAL after printing the error. */
int recording_go_to(const struct options *o, struct collector *c, const char *title,
		    struct times *times);
/* Puts a recorder around the collector, if the user wants a recording. */
int recording_begin(const struct options *o, struct collector **c, struct problems *problems);
/* Reads all files of a sample, so that a recorder keeps them. */
void collect_all(struct collector *c, const struct sample *sample);
/* Returns whether the recorder wrote each sample. If not, the error is printed. */
bool recording_is_whole(const struct options *o, const struct collector *c);

/* ---- output.c. */

struct output {
	const struct options *o;
	FILE *log;
	unsigned frames; /* written to standard output */
	bool failed;     /* a frame could not be written; the error was printed */
	bool stale;      /* the monitoring file lacks the last frame; the error was printed */
	enum check_status check;
	struct summary summary;   /* with --summary: all frames so far */
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
