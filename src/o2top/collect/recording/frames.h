/* SPDX-License-Identifier: MIT */
/*
 * frames.h - the file of a recording: frames in a row, each whole by itself on the disk.
 *
 *	file    "o2top recording\n", format (u32), 0 (u32)
 *	frame   "o2tF", kind (u32), length (u32), checksum of head (u32), time (u64, us), payload
 *
 * All numbers have their lowest byte first. A payload is zstd's, with zstd's checksum. A reader
 * finds the next frame by its length, or, behind damage, by its first four bytes. A reader skips a
 * frame of an unknown kind.
 */
#ifndef O2TOP_FRAMES_H
#define O2TOP_FRAMES_H

#include "delta.h"
#include "o2top/base/problems.h"
#include "o2top/collect/collect.h"
#include "o2top/collect/parcel.h"
#include "record.h"

#include <sys/types.h>

/* ---- streams.c: the known texts of all files of a recording, for the recorder and for replay. */

/* The known text of each file of each node, by its name. */
struct stream;
struct streams {
	struct stream **list;
	size_t n;
};
struct known;
/* NULL: no memory. */
struct known *stream_known(struct streams *s, const char *node, enum fs_kind fs, const char *space,
			   const char *kind);
/* Adds how many units are known of the ith, and how many of them are absent. */
void stream_size(const struct streams *s, size_t i, size_t *units, size_t *absent);
/* Nothing is known any more. */
void streams_forget(struct streams *s);
void streams_free(struct streams *s);

/* ---- frames.c. */

enum { FRAMES_FORMAT = 1 };

enum frame_kind {
	FRAME_KEY = 1, /* a sample that needs no other */
	FRAME_DELTA,   /* a sample that needs all samples from the last key on */
	FRAME_KINDS
};

/* ---- writing ------------------------------------------------------------------------------- */

/*
 * Prepares an open file of this user for frames: begins an empty file, and removes a last frame
 * that was cut off. Locks it, because two writers would mix their deltas. Returns 0 and the size,
 * or a negative errno: -EBADMSG if the file is no recording, -EPROTO if it has another format.
 * -EWOULDBLOCK means that another process writes it.
 */
int frames_prepare(int fd, uint64_t *size);
/*
 * Appends a frame with one write(2). Returns the frame's size or a negative errno. After an error
 * the file is as it was before, if possible.
 */
ssize_t frames_append(int fd, enum frame_kind kind, int64_t time_us, const struct pack *payload);

/* ---- reading ------------------------------------------------------------------------------- */

struct frame_place {
	uint64_t offset; /* of the payload */
	uint32_t length;
	uint32_t kind;
	int64_t time_us;
	uint32_t part;
	bool broken; /* something is missing before it */
};

struct frames {
	int fds[PARTS_MOST]; /* the files, in the order of their samples */
	size_t n_fds;
	const unsigned char *memory; /* in place of a file */
	size_t memory_size;
	struct frame_place *list; /* frames with a whole head and of a known kind, in order */
	size_t n, room;
	uint64_t end; /* of the last whole frame in the last file */
};

/* Finds all frames. Damage is in problems. Returns 0 or a negative errno as above. */
int frames_open(struct frames *f, const char *path, struct problems *problems);
/*
 * Does the same with all files of a set, the oldest first: FILE.2, FILE.1, FILE. A file of the set
 * that is no recording is a problem, if there are others.
 */
int frames_open_set(struct frames *f, const char *path, struct problems *problems);
/* Does the same with bytes that stay where they are. */
int frames_open_memory(struct frames *f, const void *bytes, size_t size, const char *label,
		       struct problems *problems);
/*
 * Reads a frame's payload, which the caller frees. Returns 0, -EBADMSG if the payload is damaged,
 * or another negative errno.
 */
int frames_read(const struct frames *f, size_t i, unsigned char **payload, size_t *size);
void frames_close(struct frames *f);

/* ---- record_file.c: the file to which a recorder appends: its size, its rotation, opening it
 * again. */

struct record_file {
	char *path;
	int folder;           /* the descriptor of its folder; -1: not open */
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
