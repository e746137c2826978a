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

#include <sys/types.h>

enum { FRAMES_FORMAT = 1 };

enum frame_kind {
	FRAME_KEY = 1, /* a sample that needs no other */
	FRAME_DELTA,   /* one that needs all before it, from the last key on */
	FRAME_KINDS
};

/* ---- writing ------------------------------------------------------------------------------- */

/*
 * Opens a file to append to, made where there is none. A last frame that was cut off is cut away.
 * 0, or negative errno: -EBADMSG what is there is no recording, -EPROTO it is of another format.
 */
int frames_create(int *fd, const char *path);
/* Appends a frame with one write(2). Negative errno: the file is as it was before, if it can be. */
ssize_t frames_append(int fd, enum frame_kind kind, int64_t time_us, const struct pack *payload);

/* ---- reading ------------------------------------------------------------------------------- */

struct frame_place {
	uint64_t offset; /* of the payload */
	uint32_t length;
	uint32_t kind;
	int64_t time_us;
	bool broken; /* something is missing before it */
};

struct frames {
	int fd;
	const unsigned char *memory; /* in place of a file */
	size_t memory_size;
	struct frame_place *list; /* whole heads, in order; kinds that are known */
	size_t n, room;
	uint64_t end; /* of the last whole frame */
};

/* Looks for all frames; what is damaged is in problems. 0 or negative errno as above. */
int frames_open(struct frames *f, const char *path, struct problems *problems);
/* The same of bytes that stay where they are. */
int frames_open_memory(struct frames *f, const void *bytes, size_t size, const char *label,
		       struct problems *problems);
/* A frame's payload, to be freed. 0, -EBADMSG where it is damaged, or other negative errno. */
int frames_read(const struct frames *f, size_t i, unsigned char **payload, size_t *size);
void frames_close(struct frames *f);

#endif
