/* SPDX-License-Identifier: MIT */
/*
 * file.c - the file of a lock by path: opens, locks and closes it.
 *
 * flock(2) excludes programs that know nothing of glock. Such a program may rename another file
 * over the path, or unlink the path, while it has the lock. Therefore a lock counts only if the
 * path leads to the locked file afterwards.
 *
 * A child after fork would keep the lock of its parent. Therefore a handler closes all descriptors
 * in the child, before the child runs any other code. The handler waits for open(2) of another
 * thread, because the child must not inherit a descriptor that is not in the list yet.
 */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MAX = 40, EXCHANGES_MAX = 100 };

/* ---- the path ---- */

/* Stores FOLDER/NAME for a path whose file does not exist. */
static int resolve_missing(const char *path, char **real)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char *folder = slash == path ? strdup("/")
		       : slash       ? strndup(path, (size_t)(slash - path))
				     : strdup(".");
	char *dir = folder ? realpath(folder, NULL) : NULL;
	int err = dir ? 0 : -errno;

	if (!err && asprintf(real, "%s/%s", strcmp(dir, "/") ? dir : "", name) < 0)
		err = -ENOMEM;
	free(folder);
	free(dir);
	return err;
}

/*
 * Follows a link that leads to no file. Returns 1 with the next path, or 0 if there is no link:
 * another process may have made the file meanwhile.
 */
static int follow(const char *real, char **next)
{
	char *link = calloc(1, PATH_MAX);
	const char *name = strrchr(real, '/') + 1;
	ssize_t n = link ? readlink(real, link, PATH_MAX - 1) : -1;
	int err = n >= 0 ? 1 : link && (errno == ENOENT || errno == EINVAL) ? 0 : -errno;

	if (n >= 0 &&
	    asprintf(next, "%.*s%s", *link == '/' ? 0 : (int)(name - real), real, link) < 0)
		err = -ENOMEM;
	free(link);
	return err;
}

int glock__path_resolve(const char *path, char **real)
{
	char *at = strdup(path), *next = NULL;
	int err = at ? 1 : -ENOMEM;

	for (int links = 0; err == 1; links++) {
		*real = realpath(at, NULL);
		if (*real) {
			err = 0;
			break;
		}
		err = errno != ENOENT || !*at ? -errno : resolve_missing(at, real);
		if (err)
			break;
		err = links < LINKS_MAX ? follow(*real, &next) : -ELOOP;
		if (!err)
			break;
		free(*real);
		if (err == 1) {
			free(at);
			at = next;
		}
	}
	free(at);
	return err;
}

/* ---- descriptors, and children ---- */

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t open_once = PTHREAD_ONCE_INIT;
static struct glock__list open_files = {&open_files, &open_files};
static rlim_t n_open; /* both under open_lock */

static void fork_begins(void)
{
	pthread_mutex_lock(&open_lock);
}

static void fork_in_parent(void)
{
	pthread_mutex_unlock(&open_lock);
}

static void forget(struct glock__path_file *f)
{
	glock__list_del(&f->open);
	n_open--;
	f->fd = -1;
	f->locked = false;
}

static void fork_in_child(void)
{
	while (!glock__list_empty(&open_files)) {
		struct glock__path_file *f =
		    glock__entry(open_files.next, struct glock__path_file, open);

		if (glock__path_is_open(f))
			close(f->fd);
		forget(f);
	}
	pthread_mutex_unlock(&open_lock);
}

static void watch_forks(void)
{
	(void)pthread_atfork(fork_begins, fork_in_parent, fork_in_child);
}

/*
 * The position of a regular file is a mark, because a program that closed the descriptor may have
 * opened the same file under the same number since then.
 */
bool glock__path_is_open(const struct glock__path_file *f)
{
	struct stat st;

	if (f->fd >= 0 && f->mark)
		return lseek(f->fd, 0, SEEK_CUR) == f->mark;
	return f->fd >= 0 && !fstat(f->fd, &st) && st.st_dev == f->dev && st.st_ino == f->ino;
}

/* A quarter of the descriptors of the process is for files without a holder. */
static bool may_keep(void)
{
	struct rlimit most;

	return !getrlimit(RLIMIT_NOFILE, &most) && n_open < most.rlim_cur / 4;
}

/* A program that closed its standard output would print into the file. */
static int move_up(int fd)
{
	int up = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), err = errno;

	close(fd);
	errno = err;
	return up;
}

/*
 * fs.protected_regular forbids O_CREAT for a file of another user in a folder with the sticky bit.
 * Opening a device has effects, so the first look does not open the file.
 */
static int open_or_make(const char *path, int flags, struct stat *st)
{
	int fd = -1;

	flags |= O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	for (int i = 0; fd < 0 && i < EXCHANGES_MAX; i++) {
		if (!stat(path, st) && !S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
			return -EINVAL;
		fd = open(path, flags);
		if (fd < 0 && errno == ENOENT)
			fd = open(path, flags | O_CREAT | O_EXCL, 0666);
		if (fd < 0 && errno != EEXIST && errno != ENOENT)
			break;
	}
	if (fd >= 0 && fd <= STDERR_FILENO)
		fd = move_up(fd);
	if (fd < 0)
		return -errno;
	if (!fstat(fd, st) && (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode)))
		return fd;
	close(fd);
	return -EINVAL;
}

/* Returns a position that no program seeks to: each file system allows 2 GiB - 1. */
static off_t a_mark(const struct glock__path_file *f)
{
	const uint64_t n = ((uintptr_t)f ^ (uint64_t)getpid() << 20) * 0x9e3779b97f4a7c15;

	return (off_t)(n >> 33 | 1u << 30);
}

static int open_for(struct glock__path_file *f, int flags)
{
	struct stat st;
	int fd;

	pthread_once(&open_once, watch_forks);
	pthread_mutex_lock(&open_lock);
	fd = open_or_make(f->path, flags, &st);
	if (fd >= 0) {
		f->fd = fd;
		f->dev = st.st_dev;
		f->ino = st.st_ino;
		f->mark = S_ISREG(st.st_mode) ? a_mark(f) : 0;
		if (f->mark && lseek(fd, f->mark, SEEK_SET) != f->mark)
			f->mark = 0;
		f->kept = f->fcntl || may_keep();
		glock__list_add(&open_files, &f->open);
		n_open++;
	}
	pthread_mutex_unlock(&open_lock);
	return fd < 0 ? fd : 0;
}

int glock__path_open(struct glock__path_file *f)
{
	return open_for(f, f->fcntl ? O_RDWR : O_RDONLY);
}

void glock__path_close(struct glock__path_file *f)
{
	pthread_mutex_lock(&open_lock);
	if (glock__path_is_open(f))
		close(f->fd);
	if (f->fd >= 0)
		forget(f);
	pthread_mutex_unlock(&open_lock);
}

/* ---- the locks ---- */

static int fcntl_lock(const struct glock__path_file *f, short type)
{
	struct flock l = {.l_type = type, .l_whence = SEEK_SET};

	if (!f->fcntl || !fcntl(f->fd, F_OFD_SETLK, &l))
		return 0;
	return errno == EACCES ? -EAGAIN : -errno;
}

/* Locks the open file. NFS has EX only for a file that is open for writing. */
static int lock_open_file(struct glock__path_file *f, bool shared)
{
	int err = flock(f->fd, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) ? -errno : 0;

	if ((err == -EBADF || err == -EIO) && !shared && !f->fcntl) {
		glock__path_close(f);
		err = open_for(f, O_RDWR);
		if (!err && flock(f->fd, LOCK_EX | LOCK_NB))
			err = -errno;
	}
	if (err)
		return err;
	err = fcntl_lock(f, shared ? F_RDLCK : F_WRLCK);
	if (err)
		flock(f->fd, LOCK_UN);
	return err;
}

/* Tells whether the path leads to the open file. */
static bool has_path(const struct glock__path_file *f)
{
	struct stat st;

	return !stat(f->path, &st) && st.st_dev == f->dev && st.st_ino == f->ino;
}

int glock__path_flock(struct glock__path_file *f, bool shared)
{
	int err = -EAGAIN;

	for (int i = 0; i < EXCHANGES_MAX; i++) {
		if (!glock__path_is_open(f)) {
			glock__path_close(f);
			err = glock__path_open(f);
			if (err)
				return err;
		}
		err = lock_open_file(f, shared);
		if (err && err != -EAGAIN)
			return err;
		if (has_path(f))
			break;
		glock__path_close(f);
		err = -EAGAIN;
	}
	f->locked = !err;
	return err;
}

void glock__path_share(struct glock__path_file *f)
{
	if (!f->locked || !glock__path_is_open(f))
		return;
	(void)flock(f->fd, LOCK_SH | LOCK_NB);
	(void)fcntl_lock(f, F_RDLCK);
}

bool glock__path_unlock(struct glock__path_file *f)
{
	const bool there = glock__path_is_open(f);

	f->locked = false;
	if (there) {
		(void)fcntl_lock(f, F_UNLCK);
		(void)flock(f->fd, LOCK_UN);
	}
	if (!there || !f->kept)
		glock__path_close(f);
	return there;
}
