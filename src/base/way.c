/* SPDX-License-Identifier: MIT */
/*
 * way.c - goes to the folder of a path without the links of other users.
 */
#include "way.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MOST = 40 };

/* A path that is being followed: the folder so far, and the parts that are left. */
struct way {
	int fd, how;
	unsigned links;
	char *name; /* the last part, once the folder is reached */
	char left[2 * PATH_MAX];
	char target[PATH_MAX];
};

/* Sets the folder in which a path begins. */
static int way_begin(struct way *w, const char *path)
{
	int fd = open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (w->fd >= 0)
		close(w->fd);
	w->fd = fd;
	return 0;
}

/* Puts the target of a link before the parts that are left, which begin with a slash. */
static int way_follow(struct way *w, int link, const struct stat *st)
{
	ssize_t n = readlinkat(link, "", w->target, sizeof(w->target) - 1);
	size_t left = strlen(w->left);

	if (n < 0)
		return -errno;
	w->target[n] = '\0';
	if ((st->st_uid && st->st_uid != geteuid()) || ++w->links > LINKS_MOST)
		return -ELOOP;
	if ((size_t)n + left >= sizeof(w->left))
		return -ENAMETOOLONG;
	memmove(w->left + n, w->left, left + 1);
	memcpy(w->left, w->target, (size_t)n);
	return *w->target == '/' ? way_begin(w, w->target) : 0;
}

/* Moves the next part of the path to w->name. Returns 1, 0 if it is the last part, or an error. */
static int way_next_part(struct way *w)
{
	char *from = w->left + strspn(w->left, "/");
	size_t n = strcspn(from, "/");

	if (n > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(w->name, from, n);
	w->name[n] = '\0';
	from += n;
	memmove(w->left, from, strlen(from) + 1);
	if (*w->left)
		return 1;
	return !n || strcmp(w->name, ".") == 0 || strcmp(w->name, "..") == 0 ? -EISDIR : 0;
}

static int way_open_part(const struct way *w, bool last)
{
	int fd = openat(w->fd, w->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 || errno != ENOENT || last || !(w->how & GLOCK__WAY_MAKE_FOLDERS))
		return fd;
	if (mkdirat(w->fd, w->name, 0755) < 0 && errno != EEXIST)
		return -1;
	return openat(w->fd, w->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

/* Goes into the next part. Returns 1, 0 if the folder is reached, or a negative errno. */
static int way_step(struct way *w)
{
	int more = way_next_part(w), fd, err = 0;
	struct stat st;

	if (more < 0 || (!more && !(w->how & GLOCK__WAY_TO_TARGET)))
		return more;
	fd = way_open_part(w, !more);
	if (fd < 0)
		return !more && errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st) < 0)
		err = -errno;
	else if (S_ISLNK(st.st_mode))
		err = way_follow(w, fd, &st);
	else if (more && !S_ISDIR(st.st_mode))
		err = -ENOTDIR;
	if (err || !more || S_ISLNK(st.st_mode)) {
		close(fd);
		return err ? err : S_ISLNK(st.st_mode) ? 1 : more;
	}
	close(w->fd);
	w->fd = fd;
	return 1;
}

/* Walks along a path and another part. Returns a descriptor of the folder, or a negative errno. */
static int way_walk(const char *path, const char *last, int how, char *name)
{
	struct way *w; /* too much for the stack of a program's thread */
	int err, fd;

	if (!*path)
		return -ENOENT;
	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	w = malloc(sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->fd = -1;
	w->how = how;
	w->links = 0;
	w->name = name;
	snprintf(w->left, sizeof(w->left), "%s%s", path, last);
	err = way_begin(w, path);
	if (!err)
		do
			err = way_step(w);
		while (err > 0);
	fd = w->fd;
	free(w);
	if (!err)
		return fd;
	if (fd >= 0)
		close(fd);
	return err;
}

int glock__way_open(const char *path, int how, char name[NAME_MAX + 1])
{
	return way_walk(path, "", how, name);
}

int glock__way_open_folder(const char *path)
{
	char name[NAME_MAX + 1];
	int way = way_walk(path, "/any", 0, name), fd;

	if (way < 0)
		return way;
	fd = openat(way, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	close(way);
	return fd;
}

bool glock__way_is_only_name(int fd)
{
	static const char deleted[] = " (deleted)";
	char self[64], path[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) || st.st_nlink != 1)
		return false;
	/* A removed name is marked for good. So a name that is there now was there before, too. */
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	n = readlink(self, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	return n < (ssize_t)sizeof(deleted) ||
	       strcmp(path + n - (sizeof(deleted) - 1), deleted) != 0;
}
