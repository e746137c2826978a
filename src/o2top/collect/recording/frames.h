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

#include "o2top/base/problems.h"
#include "o2top/collect/pack.h"
#include "parts.h"

#include <sys/types.h>

enum { FRAMES_FORMAT = 1 };

enum frame_kind {
	FRAME_KEY = 1, /* a sample that needs no other */
	FRAME_DELTA,   /* a sample that needs all samples from the last key on */
	FRAME_KINDS
};

/* ---- writing ------------------------------------------------------------------------------- */

/*
 * Opens a file for appending, and makes it if there is none. Locks it, because two writers would
 * mix their deltas. A last frame that was cut off is removed. Returns 0 or a negative
 * errno: -EBADMSG if the file is no recording, -EPROTO if it has another format. -EWOULDBLOCK means
 * that another process writes it.
 */
int frames_create(int *fd, const char *path);
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

#endif
