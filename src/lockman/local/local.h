/* SPDX-License-Identifier: MIT */
/*
 * local.h - the lock manager for processes of one machine. A lock space is a file in memory.
 *
 * Nothing has to be installed, configured or started. The first process that opens a space makes
 * its file. Each later process also takes care of nodes that died. local_layout.h says which lock
 * protects what, and which thread wakes which.
 */
#ifndef GLOCK__LOCAL_H
#define GLOCK__LOCAL_H

#include "lockman/lockman.h"

#include <sys/types.h>

#define GLOCK__LOCAL_NODES 1024
#define GLOCK__LOCAL_NAME_MAX 64
#define GLOCK__LOCAL_FILE_MAX (3 * GLOCK__LOCAL_NAME_MAX + 1)
#define GLOCK__LOCAL_NODE_FILE_MAX (GLOCK__LOCAL_FILE_MAX + 20) /* FILE,SLOT,alive */
/* Less than PATH_MAX, so that a function with a path on the stack stays below 4 KiB. */
#define GLOCK__LOCAL_PATH_MAX 3584

/* A process, as other processes know it. */
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
	const char *group; /* its members share the space; NULL: the programs of this user */
	const char *dir;   /* the directory, of any owner; NULL: from GLOCK_DIR, or the default */
	void (*log)(void *arg, const char *message);
	void *log_arg;
	bool recovers; /* wants the event `recover`, in a thread of its own */
};

/*
 * Opens the space, or makes it. On errors the log says what is wrong and what helps.
 *   -EINVAL          bad name, or two different directories were given
 *   -ENAMETOOLONG    the name is too long
 *   -EPERM, -EACCES  wrong owner, or read-only
 *   -EUSERS          1,024 nodes are there
 *   -EPROTO          another version, or damaged, and in use
 *   -ENOSPC          memory is full
 *   -EMEDIUMTYPE     a file of something else, or on a file system that other machines share
 *   -EBUSY           another process opens the space, and does not get on
 */
int glock__local_new(const struct glock__local_options *o, struct glock__lockman **lm);

#endif
