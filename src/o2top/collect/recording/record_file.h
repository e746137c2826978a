/* SPDX-License-Identifier: MIT */
/*
 * record_file.h - the file to which a recorder appends: its size, its rotation, opening it again.
 */
#ifndef O2TOP_RECORD_FILE_H
#define O2TOP_RECORD_FILE_H

#include "frames.h"
#include "record.h"

struct record_file {
	char *path;
	uint64_t limit, size; /* in bytes; limit 0: none */
	unsigned keep;        /* files */
	int fd;               /* -1: not open */
	bool again;           /* close the file and open it again before the next frame */
};

/* Opens the file. Returns 0, or a negative errno and a problem. Close it in both cases. */
int record_file_open(struct record_file *f, const struct record_options *o,
		     struct problems *problems);
/*
 * Makes the file ready for a frame: rotates a full file, and opens the file if needed. Returns 1 if
 * the frame must be a key, because the file does not hold the samples before it. Returns 0 if the
 * frame may be a delta, or a negative errno and a problem.
 */
int record_file_ready(struct record_file *f, struct problems *problems);
/* Appends a frame, as frames_append(). */
ssize_t record_file_append(struct record_file *f, enum frame_kind kind, int64_t time_us,
			   const struct pack *payload);
void record_file_close(struct record_file *f);

#endif
