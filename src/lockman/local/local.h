/* SPDX-License-Identifier: MIT */
/*
 * local.h - the lock manager of one machine's processes: a lock space is a file in memory.
 *
 * Nothing has to be installed, configured or started: the first process that opens a space makes
 * its file, and whoever comes looks after those who died. What protects what, and who wakes
 * whom: local_impl.h.
 */
#ifndef GLOCK__LOCAL_H
#define GLOCK__LOCAL_H

#include "lockman/lockman.h"

#include <sys/types.h>

#define GLOCK__LOCAL_NODES 1024
#define GLOCK__LOCAL_NAME_MAX 64
#define GLOCK__LOCAL_FILE_MAX (3 * GLOCK__LOCAL_NAME_MAX + 1)
#define GLOCK__LOCAL_PATH_MAX 4096

/* A process, as others know it. */
struct glock__local_peer {
	unsigned int slot;
	uint32_t generation;
	pid_t pid;
	uid_t uid;
	uint64_t start; /* in clock ticks since boot, as in /proc/PID/stat */
	char comm[16];
};

struct glock__local_options {
	const char *name;  /* 1 to 64 bytes, any but 0 */
	const char *group; /* shared by its members; NULL: this user's programs */
	const char *dir;   /* where, whoever it belongs to; NULL: what GLOCK_DIR says, or ours */
	void (*log)(void *arg, const char *message);
	void *log_arg;
	bool recovers; /* wants the event of that name, in a thread of its own */
};

/*
 * Opens the space, or makes it. On errors the log says what is wrong and what helps.
 *   -EINVAL        name, or the directory is given twice    -ENAMETOOLONG  the name
 *   -EPERM, -EACCES  whose it is, or read-only               -EUSERS   1,024 nodes are there
 *   -EPROTO        another version, or damaged, and in use   -ENOSPC   memory is full
 *   -EMEDIUMTYPE   a file of something else, or on a file system that other machines share
 *   -EBUSY         somebody opens it, and does not get on
 */
int glock__local_new(const struct glock__local_options *o, struct glock__lockman **lm);

#endif
