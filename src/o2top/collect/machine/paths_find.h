/* SPDX-License-Identifier: MIT */
/*
 * paths_find.h - paths of inodes, found on the machine that has the inodes in its cache.
 *
 * The search may ask the file system, and the file system may hang. So a process of its own
 * (paths_helper.c) starts another process for each request. It kills that process when the request
 * takes too long. Only these processes keep the capability that handles need.
 *
 * The steps are, the safest first:
 * 1. Files that are open (/proc/PID/fd) need no question to a file system.
 * 2. Handles of cached inodes take no lock.
 * 3. The parent directory is read once, if it is known.
 *
 * If a request says so, the whole file system is searched (paths_walk.c). The finders also report
 * which tasks sleep in lock code. That needs the same right to see other users' tasks.
 *
 * A request is "SPACE ITEM,ITEM... MOUNT_POINT", an item "INODE:GENERATION:PARENT:FLAGS". Items of
 * one inode may name several parents. An item without a flag is a directory on the way up. An
 * answer is lines "SPACE INODE GENERATION PATH", one for each name that is found.
 */
#ifndef O2TOP_PATHS_FIND_H
#define O2TOP_PATHS_FIND_H

#include "o2top/collect/lines.h"

#include <stdbool.h>
#include <sys/types.h>

enum paths_flag {
	PATHS_ASKED = 1,
	PATHS_LINKS = 2, /* the inode has several names: find all that can be found */
	PATHS_FULL = 4,  /* look through the whole file system for the inode */
};

struct paths_finder {
	pid_t pid;
	int to, from;
	unsigned due; /* answers to come */
	struct buffer in;
	bool gone;
};

extern const struct paths_finder paths_none;
/*
 * Starts the path finder, before the process gives up its capabilities. If that fails, no path is
 * found.
 */
void paths_start(struct paths_finder *f);
void paths_stop(struct paths_finder *f);
/* Sends a request. Returns false if no path finder is there, or if it does not read. */
bool paths_send(struct paths_finder *f, const char *request);
/*
 * Adds an answer to `out` and returns 1. Returns 0 if no answer is complete within `ms`
 * milliseconds. Returns a negative errno if no answer will come any more.
 */
int paths_receive(struct paths_finder *f, int ms, struct buffer *out);

/* A request for the sleeping tasks instead of paths, as machine_tasks() prints them. */
#define PATHS_TASKS "tasks"

/* A request may take this long. Then the process that does it is killed. */
enum { PATHS_FIND_MS = 3000 };

#endif
