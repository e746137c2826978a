/* SPDX-License-Identifier: MIT */
/*
 * open.c - finds files, keeps them open, and destroys unlinked ones.
 *
 * An unlinked file gets the name UNLINKED and its inode number. A process that closes a file works
 * in these steps:
 *
 * 1. It gives its iopen lock back to the cluster.
 * 2. If the file has such a name, the process tries to get the lock in EX.
 * 3. If the lock is granted, no process has the file open, and this one destroys it.
 * 4. If the try is refused, another process has the file open and will do the same.
 *
 * Several processes may be the last ones at the same time. At least one of them gets EX, because
 * each gives back before it tries.
 */
#include "sharedfile_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define UNLINKED ".unlinked-"

/* ns. The hold time lets a process do some work before the file moves on. */
enum { HOLD = 10000000 };

/* ---- the directory ---- */

int sf_space_open(const char *dir, void (*log)(void *arg, const char *message),
		  struct sf_space **ret)
{
	const struct glock_type_options types[] = {
	    {.size = sizeof(types[0]), .type = GLOCK_INODE, .ops = &sf_inode_ops, .hold = HOLD},
	    {.size = sizeof(types[0]), .type = GLOCK_IOPEN, .hold = GLOCK_HOLD_NONE},
	};
	const struct glock_space_options options = {
	    .size = sizeof(options), .types = types, .n_types = 2, .log = log};
	struct sf_space *space = calloc(1, sizeof(*space));
	char name[64];
	struct stat st;
	int err;

	if (!space)
		return -ENOMEM;
	snprintf(space->path, sizeof(space->path), "%s", dir);
	space->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (space->dir < 0 || fstat(space->dir, &st)) {
		err = -errno;
		goto failed;
	}
	/* Inode numbers belong to one device. */
	snprintf(name, sizeof(name), "files.%u.%u", major(st.st_dev), minor(st.st_dev));
	err = glock_space_open(name, &options, &space->locks);
	if (err)
		goto failed;
	pthread_mutex_init(&space->mutex, NULL);
	*ret = space;
	return 0;
failed:
	if (space->dir >= 0)
		close(space->dir);
	free(space);
	return err;
}

int sf_space_close(struct sf_space *space)
{
	int err = space->files ? -EBUSY : glock_space_close(space->locks);

	if (err)
		return err;
	close(space->dir);
	pthread_mutex_destroy(&space->mutex);
	free(space);
	return 0;
}

/* ---- open ---- */

static struct sf_file *find(struct sf_space *space, ino_t ino)
{
	struct sf_file *f = space->files;

	while (f && glock_number(f->inode) != ino)
		f = f->next;
	return f;
}

/* Takes the locks of the file, which is held open from now on. */
static int take_locks(struct sf_file *f, ino_t ino)
{
	int err = glock_get(f->space->locks, GLOCK_INODE, ino, &f->inode);

	if (err)
		return err;
	err = glock_get(f->space->locks, GLOCK_IOPEN, ino, &f->iopen);
	if (!err) {
		/* NOPID: of the process, not of this thread; NOCACHE: given back when closed */
		glock_holder_init(&f->open, f->iopen, GLOCK_SH,
				  GLOCK_EXACT | GLOCK_NOPID | GLOCK_NOCACHE);
		err = glock_nq(&f->open);
		if (err)
			glock_put(f->iopen);
	}
	if (err)
		glock_put(f->inode);
	return err;
}

static void let_locks_go(struct sf_file *f)
{
	glock_dq_wait(&f->open);
	glock_put(f->iopen);
	glock_put(f->inode);
}

static int make(struct sf_space *space, const char *name, int fd, ino_t ino, struct sf_file **ret)
{
	struct sf_file *f = calloc(1, sizeof(*f));
	struct stat st;
	int err;

	if (!f)
		return -ENOMEM;
	f->space = space;
	f->refs = 1;
	f->fd = fd;
	snprintf(f->name, sizeof(f->name), "%s", name);
	err = sf_cache_init(f);
	if (err)
		goto no_cache;
	err = take_locks(f, ino);
	if (err)
		goto no_locks;
	/* A process may have destroyed it before this one held it open. */
	err = fstat(fd, &st) ? -errno : st.st_nlink ? 0 : -ESTALE;
	if (err)
		goto gone;
	glock_set_object(f->inode, f);
	f->next = space->files;
	space->files = f;
	*ret = f;
	return 0;
gone:
	let_locks_go(f);
no_locks:
	sf_cache_free(f);
no_cache:
	free(f);
	return err;
}

/* Returns -ESTALE if the name belongs to another file by now. */
static int open_once(struct sf_space *space, const char *name, int create, struct sf_file **ret)
{
	int fd = openat(space->dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (create ? O_CREAT : 0),
			0666);
	struct stat st;
	int err = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EINVAL;
	pthread_mutex_lock(&space->mutex);
	*ret = err ? NULL : find(space, st.st_ino);
	if (*ret) {
		(*ret)->refs++;
		close(fd);
	} else if (!err) {
		err = make(space, name, fd, st.st_ino, ret);
	}
	pthread_mutex_unlock(&space->mutex);
	if (err)
		close(fd);
	return err;
}

int sf_open(struct sf_space *space, const char *name, int create, struct sf_file **file)
{
	int err;

	if (strchr(name, '/') || strlen(name) > NAME_MAX)
		return -EINVAL;
	do
		err = open_once(space, name, create, file);
	while (err == -ESTALE);
	return err;
}

/* ---- unlink, close ---- */

static void unlinked_name(char name[64], uint64_t ino)
{
	snprintf(name, 64, UNLINKED "%" PRIu64, ino);
}

/* Destroys the file if it is unlinked and no process has it open. */
static int destroy(struct sf_space *space, struct glock *iopen)
{
	struct glock_holder gh;
	char name[64];
	int err;

	unlinked_name(name, glock_number(iopen));
	if (faccessat(space->dir, name, F_OK, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -errno;
	glock_holder_init(&gh, iopen, GLOCK_EX, GLOCK_TRY_1CB | GLOCK_NOCACHE);
	err = glock_nq(&gh);
	if (err)
		return err == -EAGAIN ? 0 : err;
	if (unlinkat(space->dir, name, 0) && errno != ENOENT)
		err = -errno;
	glock_dq_wait(&gh);
	return err;
}

/* Hides the file from the library. While a holder exists, no operation runs that could use it. */
static void detach(struct sf_file *f)
{
	struct glock_holder gh;
	int err;

	err = glock_lock(f->inode, GLOCK_SH, &gh);
	glock_set_object(f->inode, NULL);
	if (!err)
		glock_dq(&gh);
}

int sf_close(struct sf_file *f)
{
	struct sf_space *space = f->space;
	struct sf_file **at = &space->files;
	int err = sf_sync(f), err2;

	pthread_mutex_lock(&space->mutex);
	if (--f->refs) {
		pthread_mutex_unlock(&space->mutex);
		return err;
	}
	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	detach(f);
	glock_dq_wait(&f->open);
	err2 = destroy(space, f->iopen);
	glock_put(f->iopen);
	glock_put(f->inode);
	pthread_mutex_unlock(&space->mutex);
	close(f->fd);
	sf_cache_free(f);
	free(f);
	return err ? err : err2;
}

/* Runs under the inode's lock in EX, so that only one of several processes does it. */
static int rename_away(struct sf_file *f, const char *name)
{
	struct glock_holder gh;
	char hidden[64];
	struct stat st;
	int err;

	err = glock_lock(f->inode, GLOCK_EX, &gh);
	if (err)
		return err;
	unlinked_name(hidden, glock_number(f->inode));
	if (fstatat(f->space->dir, name, &st, AT_SYMLINK_NOFOLLOW))
		err = -errno;
	else if (st.st_ino != glock_number(f->inode))
		err = -ENOENT; /* another file by now */
	else if (renameat(f->space->dir, name, f->space->dir, hidden))
		err = -errno;
	glock_dq(&gh);
	return err;
}

int sf_unlink(struct sf_space *space, const char *name)
{
	struct sf_file *f;
	int err = sf_open(space, name, 0, &f), err2;

	if (err)
		return err;
	err = rename_away(f, name);
	err2 = sf_close(f);
	return err ? err : err2;
}

int sf_clean(struct sf_space *space)
{
	int fd = openat(space->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	struct sf_file *f;

	if (!dir) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (!err && (e = readdir(dir))) {
		if (strncmp(e->d_name, UNLINKED, strlen(UNLINKED)))
			continue;
		err = sf_open(space, e->d_name, 0, &f);
		err = err == -ENOENT ? 0 : err ? err : sf_close(f);
	}
	closedir(dir);
	return err;
}
