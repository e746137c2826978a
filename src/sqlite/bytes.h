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
 * Marks the file as used through the space with that identity. Returns -EBUSY if another space is
 * used for it.
 */
int bytes_mark_space(int fd, uint32_t identity);

/* Returns whether this process may have locks of SQLite's unix VFS on the file. */
bool bytes_own_posix(int fd);

#endif
