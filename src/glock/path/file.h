/* SPDX-License-Identifier: MIT */
/*
 * file.h - the file of a lock by path: its descriptor, and the kernel's locks on it.
 */
#ifndef GLOCK__PATH_FILE_H
#define GLOCK__PATH_FILE_H

#include "glock/base/lock.h"

#include <stdbool.h>
#include <sys/types.h>

struct glock__path_file {
	struct glock__list open; /* all files of the process with a descriptor */
	char *path;              /* from the root, without links */
	dev_t dev;               /* of the open file */
	ino_t ino;
	off_t mark; /* the position of the open file; 0: dev and ino alone tell it from others */
	int fd;     /* -1: not open */
	bool fcntl; /* takes a lock of fcntl, too, and is open for writing */
	bool kept;  /* the descriptor stays while the lock is not held */
	bool locked;
};

/* Stores the path without links of a file that need not exist, in new memory. Negative errno. */
int glock__path_resolve(const char *path, char **real);

/* Opens the file, and makes it if it does not exist, as flock(1) does. 0 or a negative errno. */
int glock__path_open(struct glock__path_file *f);
/*
 * Locks the file that has the path now, in place of another one that had the path before. Waits for
 * no other lock. Returns 0, -EAGAIN if a lock of another program is in the way, or another errno.
 */
int glock__path_flock(struct glock__path_file *f, bool shared);
/* Unlocks the file. Returns false if the lock was lost, because the program closed it. */
bool glock__path_unlock(struct glock__path_file *f);
/* Makes the lock a shared one. No other lock comes in between. */
void glock__path_share(struct glock__path_file *f);
/* Closes the descriptor, but not one that the program opened in its place. */
void glock__path_close(struct glock__path_file *f);
/* Tells whether the descriptor still is this file. */
bool glock__path_is_open(const struct glock__path_file *f);

#endif
