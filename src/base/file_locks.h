/* SPDX-License-Identifier: MIT */
/*
 * file_locks.h - the locks of files that the kernel lists in /proc/locks, and their descriptors.
 *
 * Each function only reads /proc. Another user's process may hide its descriptors: -EACCES.
 */
#ifndef GLOCK__FILE_LOCKS_H
#define GLOCK__FILE_LOCKS_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A file as the kernel numbers it. On some file systems stat(2) tells another device. */
struct glock__file_id {
	unsigned int major, minor;
	uint64_t inode;
};

enum glock__file_lock_kind {
	GLOCK__LOCK_FLOCK,
	GLOCK__LOCK_POSIX,
	GLOCK__LOCK_OFD, /* of an open file: F_OFD_SETLK */
	GLOCK__LOCK_LEASE,
	GLOCK__LOCK_DELEGATION,
};

struct glock__file_lock {
	uint64_t id; /* in this listing; a waiter has the id of the lock in its way */
	enum glock__file_lock_kind kind;
	bool waits, write;
	bool breaking; /* of a lease: another process waits for its end */
	bool has_file; /* a process that waits for the end of a lease has none */
	pid_t pid;     /* which took the lock, and may have ended; -1: the kernel does not tell */
	struct glock__file_id file;
	uint64_t first, last; /* bytes; last UINT64_MAX: to the end of the file */
};

/* Parses a line of /proc/locks. Returns false if the line is no lock of a file. */
bool glock__file_lock_parse(struct glock__file_lock *lock, const char *line);

/* Calls fn for each lock of this pid namespace. Returns 0, or a negative errno. */
int glock__file_locks(void (*fn)(void *arg, const struct glock__file_lock *lock), void *arg);

/* Returns the next number among the names of a folder of /proc, or -1. */
int glock__next_number(DIR *dir);
/* Calls fn for each process that /proc lists. */
void glock__each_process(void (*fn)(void *arg, pid_t pid), void *arg);

/*
 * Calls fn for each lock that a descriptor of the process has. Processes that inherited the
 * descriptor have the lock, too. Returns 0, or a negative errno.
 */
int glock__process_locks(pid_t pid,
			 void (*fn)(void *arg, pid_t pid, int fd,
				    const struct glock__file_lock *lock),
			 void *arg);

/* Stores which file the descriptor of a process (0: this one) has. Returns 0 or negative errno. */
int glock__file_id_of(struct glock__file_id *id, pid_t pid, int fd);

static inline bool glock__same_file(const struct glock__file_id *a, const struct glock__file_id *b)
{
	return a->inode == b->inode && a->major == b->major && a->minor == b->minor;
}

#endif
