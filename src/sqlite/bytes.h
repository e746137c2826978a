/* SPDX-License-Identifier: MIT */
/*
 * bytes.h - the byte locks by which SQLite's unix VFS locks a database.
 *
 * They are locks of an open file (F_OFD_SETLK) on a descriptor of our own. Locks of a process would
 * go when the process closes any other descriptor of the file. Both kinds conflict with each other,
 * also within one process. For a lock of a process the kernel gives the number of the process, or 0
 * if this pid namespace does not have the process. For a lock of an open file it gives -1. So -1 is
 * a process that uses this VFS, too.
 *
 * A lock of an open file lives as long as a child that inherited the descriptor. fork() therefore
 * closes the descriptors in the child (database.c), and exec closes them by itself.
 */
#ifndef GLOCK_SQLITE_BYTES_H
#define GLOCK_SQLITE_BYTES_H

#include "sqlite_api.h"

#include <stdbool.h>
#include <stdint.h>

/* SQLite's bytes (os.h, PENDING_BYTE), and a range that only this VFS uses. */
enum { BYTE_PENDING = 0x40000000, BYTE_RESERVED, BYTE_SHARED, BYTES_SHARED = 510 };

/* A byte that only this VFS uses: a transaction goes on, and another process waits for its end. */
static const int64_t BYTE_USED = INT64_C(1) << 61;

enum byte_lock { BYTES_FREE, BYTES_READ, BYTES_WRITE };

/* Returns 0, -EAGAIN if another lock is in the way, or another negative errno. */
int bytes_lock(int fd, int64_t from, int64_t n, enum byte_lock lock);

/*
 * Returns 1 if a lock is in the way of a write lock, 0 if none is, or a negative errno. pid is the
 * process that has the lock, or 0, or -1: a process that uses this VFS. pid may be NULL.
 */
int bytes_in_the_way(int fd, int64_t from, int64_t n, int64_t *pid);

/*
 * Marks the file as used through the space with that identity; alone: by a process that takes no
 * byte locks for other programs. Returns -EBUSY if another space is used for it, and -EADDRINUSE if
 * a process with byte locks alone uses it.
 */
int bytes_mark_space(int fd, uint32_t identity, bool alone);
/* Takes the mark of a space that is gone from the file. */
void bytes_unmark_space(int fd);
/*
 * Marks the file as used with byte locks alone. Returns -EBUSY, without a mark, if a process takes
 * none, or another negative errno.
 */
int bytes_mark_degraded(int fd);

/*
 * A file of SQLite's own VFS, opened for its descriptor. Any close of the file drops the POSIX
 * locks of the process. SQLite's VFS knows its locks, so its xClose waits for their end.
 *
 * The path stays as it is until bytes_close(). Returns an SQLite result.
 */
int bytes_open(const char *path, bool read_only, sqlite3_file **file, int *fd);
void bytes_close(sqlite3_file *file);

#endif
