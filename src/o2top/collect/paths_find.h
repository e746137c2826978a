/* SPDX-License-Identifier: MIT */
/*
 * Inodes to paths on the machine that has them in its cache. It may ask the file system, which may
 * hang: so it is done by a process of its own that starts another one for each request, and kills it
 * when that takes too long. That one alone keeps the capability that handles need.
 *
 * Safest first: files that are open (/proc/PID/fd, no file system is asked), handles of inodes that are
 * cached (no lock is taken for those), and one look into the parent directory where it is known.
 */
#ifndef O2TOP_PATHS_FIND_H
#define O2TOP_PATHS_FIND_H

#include "lines.h"

#include <stdbool.h>
#include <sys/types.h>

struct paths_finder {
	pid_t pid;
	int to, from;
	bool gone;
};

/* Starts it, before capabilities are given up. Where that fails nothing is found. */
void paths_start(struct paths_finder *f);
void paths_stop(struct paths_finder *f);
/*
 * `request` is "SPACE INODE:GENERATION:PARENT:PARENTS,... MOUNT_POINT"; adds lines "SPACE INODE
 * GENERATION PATH" to out. False where it took too long and was given up.
 */
bool paths_find(struct paths_finder *f, const char *request, struct buffer *out);

#endif
