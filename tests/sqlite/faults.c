/* SPDX-License-Identifier: MIT */
/* faults.c - see faults.h. */
#include "faults.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

const char *const fault_names[FAULTS] = {
    [FAULT_WRITE] = "write",   [FAULT_FULL] = "full",        [FAULT_SYNC] = "sync",
    [FAULT_READ] = "read",     [FAULT_SHORT] = "short read", [FAULT_TRUNCATE] = "truncate",
    [FAULT_SIZE] = "size",     [FAULT_OPEN] = "open",        [FAULT_DELETE] = "delete",
    [FAULT_ACCESS] = "access", [FAULT_BYTES] = "byte lock",  [FAULT_SEEN] = "byte lock seen",
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* the VFS has a thread of its own */
static struct {
	enum fault fault;
	unsigned int left; /* calls until the first one that fails; 0: none fails */
	bool always, hit;
	unsigned int writes_left;
	void (*before_write)(void);
} plan;

void faults_arm(enum fault f, unsigned int n, bool always)
{
	pthread_mutex_lock(&mutex);
	plan.fault = f;
	plan.left = n;
	plan.always = always;
	plan.hit = false;
	pthread_mutex_unlock(&mutex);
}

bool faults_hit(void)
{
	bool hit;

	pthread_mutex_lock(&mutex);
	hit = plan.hit;
	pthread_mutex_unlock(&mutex);
	return hit;
}

void faults_before_write(unsigned int n, void (*f)(void))
{
	plan.writes_left = n;
	plan.before_write = f;
}

static bool fails(enum fault f)
{
	bool now;

	pthread_mutex_lock(&mutex);
	now = plan.fault == f && plan.left == 1;
	if (plan.fault == f && plan.left && (!now || !plan.always))
		plan.left--;
	plan.hit |= now;
	pthread_mutex_unlock(&mutex);
	return now;
}

/* ---- byte locks ---- */

static int fcntl_call(int fd, int command, void *arg)
{
	if (command == F_OFD_SETLK && ((struct flock *)arg)->l_type != F_UNLCK &&
	    fails(FAULT_BYTES)) {
		errno = ENOLCK;
		return -1;
	}
	if (command == F_OFD_GETLK && fails(FAULT_SEEN)) {
		((struct flock *)arg)->l_type = F_RDLCK;
		((struct flock *)arg)->l_pid = 1;
		return 0;
	}
	return (int)syscall(SYS_fcntl, fd, command, arg);
}

/*
 * The program exports both, so the extension calls them instead of those of libc. The header calls
 * fcntl64() by the name fcntl().
 */
int fcntl(int fd, int command, ...)
{
	va_list list;
	void *arg;

	va_start(list, command);
	arg = va_arg(list, void *);
	va_end(list);
	return fcntl_call(fd, command, arg);
}

static long file_system;

void faults_file_system(long type)
{
	file_system = type;
}

/* As fcntl(): the header calls statfs64() and fstatfs64() by these names. */
int statfs(const char *path, struct statfs *fs)
{
	int err = (int)syscall(SYS_statfs, path, fs);

	if (!err && file_system)
		fs->f_type = file_system;
	return err;
}

int fstatfs(int fd, struct statfs *fs)
{
	int err = (int)syscall(SYS_fstatfs, fd, fs);
	struct stat st;

	/* a folder may be that of the lock spaces, which may not be on NFS, either */
	if (!err && file_system && !fstat(fd, &st) && S_ISREG(st.st_mode))
		fs->f_type = file_system;
	return err;
}

#ifdef __GLIBC__
int fcntl_of_32_bits(int fd, int command, ...) __asm__("fcntl") __attribute__((alias("fcntl64")));
#endif

/* ---- files ---- */

struct fault_file {
	sqlite3_file file;
	sqlite3_file *real; /* behind this struct */
};

static sqlite3_vfs *below;

static sqlite3_file *real_of(sqlite3_file *file)
{
	return ((struct fault_file *)file)->real;
}

static int fault_close(sqlite3_file *file)
{
	return real_of(file)->pMethods->xClose(real_of(file));
}

static int fault_read(sqlite3_file *file, void *to, int n, sqlite3_int64 at)
{
	int rc;

	if (fails(FAULT_READ))
		return SQLITE_IOERR_READ;
	rc = real_of(file)->pMethods->xRead(real_of(file), to, n, at);
	if (rc || !fails(FAULT_SHORT))
		return rc;
	memset((char *)to + n / 2, 0, (size_t)(n - n / 2));
	return SQLITE_IOERR_SHORT_READ;
}

static int fault_write(sqlite3_file *file, const void *from, int n, sqlite3_int64 at)
{
	if (plan.before_write && plan.writes_left && !--plan.writes_left)
		plan.before_write();
	if (fails(FAULT_WRITE))
		return SQLITE_IOERR_WRITE;
	if (fails(FAULT_FULL))
		return SQLITE_FULL;
	return real_of(file)->pMethods->xWrite(real_of(file), from, n, at);
}

static int fault_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	return fails(FAULT_TRUNCATE) ? SQLITE_IOERR_TRUNCATE
				     : real_of(file)->pMethods->xTruncate(real_of(file), size);
}

static int fault_sync(sqlite3_file *file, int flags)
{
	return fails(FAULT_SYNC) ? SQLITE_IOERR_FSYNC
				 : real_of(file)->pMethods->xSync(real_of(file), flags);
}

static int fault_size(sqlite3_file *file, sqlite3_int64 *size)
{
	return fails(FAULT_SIZE) ? SQLITE_IOERR_FSTAT
				 : real_of(file)->pMethods->xFileSize(real_of(file), size);
}

static int fault_lock(sqlite3_file *file, int level)
{
	return real_of(file)->pMethods->xLock(real_of(file), level);
}

static int fault_unlock(sqlite3_file *file, int level)
{
	return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int fault_reserved(sqlite3_file *file, int *out)
{
	return real_of(file)->pMethods->xCheckReservedLock(real_of(file), out);
}

static int fault_control(sqlite3_file *file, int op, void *arg)
{
	return real_of(file)->pMethods->xFileControl(real_of(file), op, arg);
}

static int fault_sector(sqlite3_file *file)
{
	return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int fault_characteristics(sqlite3_file *file)
{
	return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static const sqlite3_io_methods fault_methods = {
    .iVersion = 1,
    .xClose = fault_close,
    .xRead = fault_read,
    .xWrite = fault_write,
    .xTruncate = fault_truncate,
    .xSync = fault_sync,
    .xFileSize = fault_size,
    .xLock = fault_lock,
    .xUnlock = fault_unlock,
    .xCheckReservedLock = fault_reserved,
    .xFileControl = fault_control,
    .xSectorSize = fault_sector,
    .xDeviceCharacteristics = fault_characteristics,
};

/* ---- the VFS ---- */

static int fault_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *out)
{
	struct fault_file *f = (struct fault_file *)file;
	int rc;

	(void)vfs;
	memset(f, 0, sizeof(*f));
	f->real = (sqlite3_file *)(f + 1);
	if (fails(FAULT_OPEN))
		return SQLITE_CANTOPEN;
	rc = below->xOpen(below, path, f->real, flags, out);
	if (!rc)
		f->file.pMethods = &fault_methods;
	else if (f->real->pMethods)
		f->real->pMethods->xClose(f->real);
	return rc;
}

static int fault_delete(sqlite3_vfs *vfs, const char *path, int sync)
{
	(void)vfs;
	return fails(FAULT_DELETE) ? SQLITE_IOERR_DELETE : below->xDelete(below, path, sync);
}

static int fault_access(sqlite3_vfs *vfs, const char *path, int flags, int *out)
{
	(void)vfs;
	return fails(FAULT_ACCESS) ? SQLITE_IOERR_ACCESS : below->xAccess(below, path, flags, out);
}

/* The other methods take the VFS `unix`, too, and do not look at it. */
void faults_install(void)
{
	static sqlite3_vfs vfs;

	below = sqlite3_vfs_find("unix");
	vfs = *below;
	vfs.pNext = NULL;
	vfs.szOsFile = (int)sizeof(struct fault_file) + below->szOsFile;
	vfs.xOpen = fault_open;
	vfs.xDelete = fault_delete;
	vfs.xAccess = fault_access;
	if (sqlite3_vfs_register(&vfs, 1) || sqlite3_vfs_find("unix") != &vfs)
		abort();
}
