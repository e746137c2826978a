/* SPDX-License-Identifier: MIT */
/* bytes.c - see bytes.h. */
#include "bytes.h"
#include "database.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* The space's mark is a read lock on one byte of this range. No file is so long. */
static const int64_t marks_from = INT64_C(1) << 62, marks = INT64_C(1) << 32;
/* After the range: a process uses byte locks alone; a process takes none for other programs. */
static const int64_t byte_degraded = (INT64_C(1) << 62) + (INT64_C(1) << 32);
static const int64_t byte_alone = (INT64_C(1) << 62) + (INT64_C(1) << 32) + 1;

/*
 * SQLite's tests let system calls fail by this table. The errors that count as a lock in the way
 * are those of SQLite's VFS, but for a full table of locks.
 */
static int bytes_call(int fd, int command, struct flock *l)
{
	int (*call)(int, int, ...) =
	    (int (*)(int, int, ...))(void *)vfs_base->xGetSystemCall(vfs_base, "fcntl");

	if (!call(fd, command, l))
		return 0;
	switch (errno) {
	case EACCES:
	case EBUSY:
	case EINTR:
	case ETIMEDOUT:
		return -EAGAIN;
	case EIO: /* not the error of a space that is withdrawn, or of a full memory */
	case ENOMEM:
		return -ENOLCK;
	default:
		return -errno;
	}
}

static struct flock bytes_range(int64_t from, int64_t n, short type)
{
	return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = from, .l_len = n};
}

int bytes_lock(int fd, int64_t from, int64_t n, enum byte_lock lock)
{
	static const short types[] = {
	    [BYTES_FREE] = F_UNLCK, [BYTES_READ] = F_RDLCK, [BYTES_WRITE] = F_WRLCK};
	struct flock l = bytes_range(from, n, types[lock]);

	return bytes_call(fd, F_OFD_SETLK, &l);
}

int bytes_in_the_way(int fd, int64_t from, int64_t n, int64_t *pid)
{
	struct flock l = bytes_range(from, n, F_WRLCK);
	int err = bytes_call(fd, F_OFD_GETLK, &l);

	if (err || l.l_type == F_UNLCK)
		return err;
	if (pid)
		*pid = l.l_pid;
	return 1;
}

/* Undoes a mark that found another one. */
static int unmark(int fd, int64_t from, int64_t n, int err)
{
	bytes_lock(fd, from, n, BYTES_FREE);
	return err;
}

int bytes_mark_space(int fd, uint32_t identity, bool alone)
{
	int64_t mine = marks_from + identity, after = marks - identity - 1;
	int err = bytes_lock(fd, mine, 1, BYTES_READ);

	if (!err && alone)
		err = bytes_lock(fd, byte_alone, 1, BYTES_READ);
	if (!err && identity)
		err = bytes_in_the_way(fd, marks_from, identity, NULL);
	if (!err && after)
		err = bytes_in_the_way(fd, mine + 1, after, NULL);
	if (err > 0)
		err = -EBUSY;
	if (!err && alone)
		err = bytes_in_the_way(fd, byte_degraded, 1, NULL) ? -EADDRINUSE : 0;
	return err ? unmark(fd, marks_from, marks + 2, err) : 0;
}

void bytes_unmark_space(int fd)
{
	bytes_lock(fd, marks_from, marks, BYTES_FREE);
}

int bytes_mark_degraded(int fd)
{
	int err = bytes_lock(fd, byte_degraded, 1, BYTES_READ);

	if (!err)
		err = bytes_in_the_way(fd, byte_alone, 1, NULL);
	return err ? unmark(fd, byte_degraded, 1, err > 0 ? -EBUSY : err) : 0;
}

/* ---- the descriptor ---- */

static _Thread_local int fstat_of;
static int (*fstat_below)(int fd, void *st);

static int note_fstat(int fd, void *st)
{
	fstat_of = fd;
	return fstat_below(fd, st);
}

/*
 * SQLite's VFS tells no descriptor. It calls fstat() for each file that it opens or opens again, by
 * its table of system calls. The caller has the registry's mutex. Other threads may pass by here.
 */
static int open_and_note(const char *path, sqlite3_file *file, int *flags, int *fd)
{
	int rc;

	fstat_below = (int (*)(int, void *))(void *)vfs_base->xGetSystemCall(vfs_base, "fstat");
	vfs_base->xSetSystemCall(vfs_base, "fstat", (sqlite3_syscall_ptr)(void *)note_fstat);
	fstat_of = -1;
	rc = vfs_base->xOpen(vfs_base, path, file, *flags, flags);
	vfs_base->xSetSystemCall(vfs_base, "fstat", (sqlite3_syscall_ptr)(void *)fstat_below);
	*fd = fstat_of;
	return rc;
}

int bytes_open(const char *path, bool read_only, sqlite3_file **out, int *fd)
{
	sqlite3_file *file = calloc(1, (size_t)vfs_base->szOsFile);
	int flags =
	    SQLITE_OPEN_MAIN_DB | (read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE);
	int rc = file ? open_and_note(path, file, &flags, fd) : SQLITE_NOMEM;

	if (!rc && *fd < 0)
		rc = SQLITE_IOERR_FSTAT;
	if (!rc && flags & SQLITE_OPEN_READONLY && !read_only)
		rc = SQLITE_CANTOPEN; /* after a failure SQLite's VFS opens the file for reading */
	if (rc)
		bytes_close(file);
	else
		*out = file;
	return rc;
}

void bytes_close(sqlite3_file *file)
{
	if (file && file->pMethods)
		file->pMethods->xClose(file);
	free(file);
}
