/* SPDX-License-Identifier: MIT */
/* inside.h - what is in a space's file, read while others may be at it. */
#ifndef TESTS_LOCAL_INSIDE_H
#define TESTS_LOCAL_INSIDE_H

#include "lockman/local/local_impl.h"

struct inside {
	unsigned int nodes; /* slots that are not free */
	unsigned int locks;
	unsigned int resources;
	unsigned int cut_off;   /* tables whose lock was a dead process's */
	unsigned int put_right; /* and where it had been about something */
	const char *wrong;      /* the first table with anything wrong in it */
};

/* Of the space of that name in GLOCK_DIR. */
void inside_look(const char *space, struct inside *in);
/*
 * Stops that child with the lock of a table, wherever it is in there. False: it would not be, as often
 * as it was tried, and goes on. It must be at work: a SIGSTOP is lost where a process that has several
 * threads executes another program, and a forked one has them at once with ThreadSanitizer.
 */
bool inside_stop(const char *space, pid_t pid, unsigned int tries);
/* As somebody who has something for that process in that table. False: it is no node. */
bool inside_ring(const char *space, pid_t pid, unsigned int shard);
/* The file's path. */
const char *inside_path(const char *space);

#endif
