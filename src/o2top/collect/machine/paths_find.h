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

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
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
 * found. `mountinfo` names the mounts of this machine. A whole file system is searched only if
 * `whole` is set.
 */
void paths_start(struct paths_finder *f, const char *mountinfo, bool whole);
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

/* ---- shared declarations of the path finders: requests, answers, two ways of looking. */

enum { ITEMS_MAX = 256, NAMES_MOST = 8, MOUNT_IDS_MOST = 64, PATHS_REQUEST_MAX = 4096 };

struct item {
	uint64_t inode, generation, parent;
	unsigned flags;
	unsigned found;
	uint64_t told[NAMES_MOST]; /* hashes of the names that were told */
};

/* The end of a search, for the next one, in memory that the processes share. */
struct finding_left {
	int scanned; /* the last process whose open files were looked at; 0 all were */
};

struct finding {
	char space[NAME_MAX + 1], mount[PATH_MAX];
	bool gfs2;
	struct item items[ITEMS_MAX];
	size_t n;
	const char *proc, *mountinfo;
	uint32_t ids[MOUNT_IDS_MOST]; /* the mounts of the file system */
	size_t n_ids;
	struct finding_left *left; /* or NULL */
	bool open_files_only;      /* the file system hangs */
	int out;
	int mount_fd;
	uint64_t root; /* the inode of the mount point; 0: the kernel does not say */
};

bool finding_parse(struct finding *f, const char *request);
/*
 * Returns whether this machine has an OCFS2 or GFS2 at the mount point, and notes its mounts. A
 * request may name any directory, and the search may read directories that its sender may not.
 */
bool finding_is_mounted(struct finding *f);
/* Opens the mount point. Returns false if that mount is none of those that were noted. */
bool finding_open_mount(struct finding *f);
/* Writes a name that was found. Each name is written once. */
void finding_tell(struct finding *f, struct item *item, const char *path);
/* Returns the first item of an inode, which counts the inode's names; NULL if there is none. */
struct item *finding_item(struct finding *f, uint64_t inode);

/* Takes the steps from the safest on, in this process. */
void paths_ladder(struct finding *f);
/*
 * Searches the whole file system slowly. The search ends when all inodes with PATHS_FULL are found,
 * or when it has seen everything.
 *
 * Every second it writes a line "walk SPACE DIRECTORIES FOUND", and at the end a line "walked".
 */
void paths_walk(struct finding *f);

#endif
