/* SPDX-License-Identifier: MIT */
/*
 * wal.h - the locks of a database in WAL mode.
 *
 * SQLite locks eight bytes of the file -shm: WRITE, CKPT, RECOVER, and five marks of readers. Files
 * and locks are those of SQLite's own VFS, with one exception. A reader takes its mark by a glock.
 * The process then has the byte of the mark, and keeps the byte as long as the glock is cached. So
 * a cached read transaction makes no system call.
 *
 *   lock                    glock                      byte
 *   a mark, to read         SH, cached                 a read lock of the open file, cached
 *   marks, for itself       EX, so that others give    SQLite's VFS
 *                           their cached bytes back
 *   WRITE                   EX, only to wait           SQLite's VFS
 *   CKPT, RECOVER           -                          SQLite's VFS
 *
 * No lock is a glock alone: a process has the byte whenever SQLite believes to have the lock. So
 * programs without this VFS are kept out, a death frees everything, and a process without its space
 * goes on with SQLite's locks. The database file itself is locked by SQLite's VFS as well.
 *
 * The read lock is one of the open file that SQLite's VFS has, because any close of another
 * descriptor would drop the process's other locks on -shm.
 *
 * WRITE. A writer that finds the byte free takes it. If the byte is in use, and SQLite's busy
 * handler sleeps, the writer stands in a queue. The first one there looks at the byte each 0.2 ms,
 * and the other ones sleep. So a process that runs writes on until the first one finds the byte
 * free between two transactions. The lock never waits for a process that has no CPU.
 *
 * MARKS. After a commit the first reader moves its mark, for which it needs another one for itself.
 * SQLite does without if it has to. So readers of a process move marks each 10 ms on average, and
 * leave the one that other readers have. A checkpoint, and a writer that begins the file -wal anew,
 * ask for each mark that they need.
 *
 * OTHER PROGRAMS. They cannot tell that a cached byte is in their way. So a mark goes back
 * when the process does not use it for some ms. If a checkpoint came up to a mark of this process
 * and not further, readers use SQLite's locks for a while.
 *
 * FORK. The child must not use the parent's map of -shm: see wal_after_fork().
 */
#ifndef GLOCK_SQLITE_WAL_H
#define GLOCK_SQLITE_WAL_H

#include "sqlite_api.h"

#include <glock.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct connection;
struct database;

/* SQLite's numbers of locks, and where their bytes begin in the file -shm. */
enum { WAL_WRITE, WAL_CKPT, WAL_RECOVER, WAL_MARK, WAL_MARKS = 5, WAL_BYTES = 120 };

/* The file -shm of a database, as long as connections map it. */
struct wal_index {
	unsigned int users; /* under the registry's mutex */
	int fd;             /* of SQLite's VFS; only with glocks */
	/* Without glocks SQLite's VFS takes all locks. They change under the registry's mutex. */
	struct glock *write, *marks[WAL_MARKS];
	_Atomic bool bytes[WAL_MARKS]; /* this process has the read lock of the mark's byte */
	_Atomic bool write_ahead;      /* has WRITE for the first one in the queue */
	_Atomic uint32_t uses[WAL_MARKS];
	uint32_t seen[WAL_MARKS], idle[WAL_MARKS]; /* by the service thread */
	/* When a reader may move a mark, and a checkpoint may wait for marks or ask for them. */
	_Atomic int64_t moves_at, waits_at, asks_at, stuck_until;
	_Atomic int64_t yields_until;            /* readers use SQLite's locks */
	const volatile uint32_t *_Atomic header; /* the first region */
	void **regions;                          /* the map; under the registry's mutex */
	int n_regions;
};

/* ---- wal_index.c ---- */

/* SQLite's methods xShmMap and xShmUnmap. */
int wal_map(struct connection *c, int region, int size, int extend, void volatile **out);
int wal_unmap(struct connection *c, int delete);
/* Has the byte of a mark, whose glock the caller holds. */
bool wal_have_byte(struct database *db, unsigned int mark);
/* Gives the byte of a mark back. No connection of this process has the mark. */
void wal_leave_byte(struct database *db, unsigned int mark);
/* The operation of the marks' glocks: another process wants the mark, or the space is lost. */
void wal_byte_wanted(struct glock *gl, unsigned int what);
/* In the child: makes the parent's maps useless, and leaves the parent's locks. */
void wal_after_fork(void);

/* ---- wal_lock.c ---- */

/* SQLite's method xShmLock. */
int wal_lock(struct connection *c, int first, int n, int flags);
/* Gives back all locks of the connection that are glocks. */
void wal_leave(struct connection *c);
/* Takes WRITE for the open file once no process has it, or returns then. */
void wal_await_write(struct database *db, int64_t until);
/* Gives it back: for SQLite's lock, or because no connection claims it. */
void wal_leave_write(struct database *db);
/* Returns whether the process has bytes of marks, which the service thread has to look at. */
bool wal_has_bytes(const struct database *db);
/* Gives unused marks back, each 10 ms. The registry's mutex is held. */
void wal_look(struct database *db, int64_t now);

#endif
