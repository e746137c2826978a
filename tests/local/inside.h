/* SPDX-License-Identifier: MIT */
/* inside.h - the contents of a space's file, read while nodes may change them. */
#ifndef TESTS_LOCAL_INSIDE_H
#define TESTS_LOCAL_INSIDE_H

#include "lockman/local/local_nodes.h"
#include "lockman/local/local_shard.h"

struct inside {
	unsigned int nodes; /* slots that are not free */
	unsigned int locks;
	unsigned int resources;
	unsigned int cut_off;   /* tables whose lock a dead process had */
	unsigned int put_right; /* of these, tables in the middle of a change */
	unsigned int stolen;    /* tables that were stolen from a stopped process */
	const char *wrong;      /* the first faulty table */
};

/* Reads the space of that name in GLOCK_DIR. */
void inside_look(const char *space, struct inside *in);
/* Tells whether a thread of that process has the lock of a table now. */
bool inside_has_table(const char *space, pid_t pid);
/*
 * Stops that child while it has the lock of a table, at any point inside. Returns false if none of
 * the tries found it there; the child then goes on. The child must be at work. If a process with
 * several threads executes another program, a SIGSTOP is lost. With ThreadSanitizer, a forked child
 * has several threads immediately.
 */
bool inside_stop(const char *space, pid_t pid, unsigned int tries);
/*
 * Rings that process, as a node does that has an event for it in that table. Returns false if the
 * process is no node.
 */
bool inside_ring(const char *space, pid_t pid, unsigned int shard);
/*
 * Makes the recoverer of a death one of an older generation, whose slot another node has now.
 * Returns false if no node recovers.
 */
bool inside_age_recoverer(const char *space);
/* Returns the path of the space's file. */
const char *inside_path(const char *space);

#endif
