/* SPDX-License-Identifier: MIT */
/*
 * walk.h - the files of a folder, of an archive, or of one packed file, in memory.
 *
 * libarchive unpacks tar and cpio in gzip, bzip2, xz or zstd, and single packed files. Nothing is
 * written to disk. An archive is not trusted: its names, sizes and number of files have limits.
 */
#ifndef O2TOP_WALK_H
#define O2TOP_WALK_H

#include "o2top/base/problems.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct walk_file {
	const char *path; /* clean, relative to the folder or archive, without its name */
	bool alone;       /* it was given by itself, packed or not */
	/*
	 * Reads on as read(2) does, with a negative errno. A file that is not read costs nothing.
	 */
	ssize_t (*read)(struct walk_file *f, void *buf, size_t size);
	void *of;
	int fd;
};

struct walk {
	/* Returns 0 to go on, or a negative errno, which ends the walk. */
	int (*each)(void *arg, struct walk_file *f);
	void *arg;
	struct problems *problems;
	size_t files; /* that were seen */
	unsigned depth;
};

/* Calls each() for the regular files below `path`. Returns 0 or a negative errno. */
int walk_path(struct walk *w, const char *path);

#endif
