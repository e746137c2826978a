/* SPDX-License-Identifier: MIT */
/*
 * own_file.c - opens and replaces the files that o2top writes, where other users may write as well.
 */
#include "own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES_TRIED = 100 };

const char *own_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int own_folder(const char *path)
{
	char name[NAME_MAX + 1];

	return glock__way_open(path, 0, name);
}

/* Returns 0 if this user may write the file that was looked at, or a negative errno. */
static int own_check(const struct stat *st)
{
	if (S_ISLNK(st->st_mode))
		return -ELOOP;
	if (!S_ISREG(st->st_mode))
		return -EMEDIUMTYPE;
	if (st->st_uid != geteuid())
		return -EPERM;
	return st->st_nlink > 1 ? -EMLINK : 0;
}

int own_open(int folder, const char *name, mode_t mode)
{
	/* O_NONBLOCK: a FIFO without a reader must not hold this process up. */
	int err, fd = openat(folder, name,
			     O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY |
				 O_NONBLOCK,
			     mode);
	struct stat st;

	if (fd < 0)
		return -errno;
	err = fstat(fd, &st) < 0 ? -errno : own_check(&st);
	if (!err && !glock__way_is_only_name(fd))
		err = -EMLINK;
	if (!err)
		return fd;
	close(fd);
	return err;
}

int own_open_path(const char *path, mode_t mode)
{
	int folder = own_folder(path), fd;

	if (folder < 0)
		return folder;
	fd = own_open(folder, own_name(path), mode);
	close(folder);
	return fd;
}

int own_read(const char *path)
{
	char name[NAME_MAX + 1];
	struct stat st;
	int fd, err, folder = glock__way_open(path, GLOCK__WAY_TO_TARGET, name);

	if (folder < 0)
		return folder;
	fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	err = fd < 0 || fstat(fd, &st) < 0 ? -errno : 0;
	close(folder);
	if (!err && S_ISREG(st.st_mode))
		return fd;
	if (fd >= 0)
		close(fd);
	return err ? err : -EINVAL;
}

/* ---- replacing a file ---------------------------------------------------------------------- */

static int make_beside(struct own_new *n)
{
	for (int i = 0; i < NAMES_TRIED; i++) {
		unsigned number;

		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return -EIO;
		if (asprintf(&n->beside, "%s.%08x", n->name, number) < 0) {
			n->beside = NULL;
			return -ENOMEM;
		}
		n->fd = openat(n->folder, n->beside,
			       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (n->fd >= 0)
			return 0;
		free(n->beside);
		n->beside = NULL;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

int own_begin(struct own_new *n, const char *path, int how)
{
	struct stat st;
	int err;

	*n = (struct own_new){.fd = -1, .old = -1};
	n->folder = glock__way_open(path, how, n->name);
	if (n->folder < 0)
		return n->folder;
	if (fstatat(n->folder, n->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? make_beside(n) : -errno;
	err = own_check(&st);
	if (err)
		return err;
	n->old = openat(n->folder, n->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	return n->old < 0 ? -errno : make_beside(n);
}

int own_replace(struct own_new *n, int err)
{
	if (n->fd >= 0)
		close(n->fd);
	if (!err && renameat(n->folder, n->beside, n->folder, n->name) < 0)
		err = -errno;
	if (err && n->beside)
		unlinkat(n->folder, n->beside, 0);
	if (n->old >= 0)
		close(n->old);
	if (n->folder >= 0)
		close(n->folder);
	free(n->beside);
	*n = (struct own_new){.folder = -1, .fd = -1, .old = -1};
	return err;
}

const char *own_why(int err)
{
	switch (err) {
	case -ELOOP:
		return "a link stands in place of the file, or another user made a link on the "
		       "way: give the file's own path";
	case -EMEDIUMTYPE:
		return "no regular file: give another name";
	case -EPERM:
		return "another user owns the file, or the file is immutable: give another name";
	case -EMLINK:
		return "the file has a second name (hard link), or has just been removed: give "
		       "another name";
	default:
		return strerror(-err);
	}
}
