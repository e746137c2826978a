/* SPDX-License-Identifier: MIT */
/*
 * node_file.c - makes, checks and removes the files of nodes without a space file; see node_file.h.
 */
#include "node_file.h"
#include "local_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct flock first_byte(void)
{
	return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
}

bool glock__node_file_of(const char *dir, const char *file, struct glock__node_file *node)
{
	const char *by = strchr(file, ','), *number = by ? strchr(by + 1, ',') : NULL;
	char name[GLOCK__LOCAL_FILE_MAX];
	struct flock fl = first_byte();
	struct stat st;
	char *end;
	long pid;
	int fd;

	if (!number || (size_t)(by - file) >= sizeof(name) ||
	    (size_t)(number - by) > sizeof(node->lockman))
		return false;
	pid = strtol(number + 1, &end, 10);
	if (*end || end == number + 1 || pid <= 0)
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)(by - file), file);
	*node = (struct glock__node_file){.pid = (pid_t)pid};
	snprintf(node->lockman, sizeof(node->lockman), "%.*s", (int)(number - by - 1), by + 1);
	snprintf(node->path, sizeof(node->path), "%s/%s", dir, file);
	if (glock__local_unescape(name, node->space))
		return false;
	fd = open(node->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return false;
	/* F_OFD_GETLK for a write lock writes nothing, so O_RDONLY is enough. */
	node->alive = fcntl(fd, F_OFD_GETLK, &fl) || fl.l_type != F_UNLCK;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return false;
	}
	node->uid = st.st_uid;
	node->gid = st.st_gid;
	close(fd);
	return true;
}

/* Removes the files that dead nodes of this space left. */
static void remove_dead_files(const char *dir, const char *lockman, const char *space)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	struct glock__node_file node;

	while (d && (entry = readdir(d)))
		if (glock__node_file_of(dir, entry->d_name, &node) && !node.alive &&
		    !strcmp(node.lockman, lockman) && !strcmp(node.space, space))
			unlink(node.path);
	if (d)
		closedir(d);
}

/* Locks the file before it has a name, so that no process takes it for a dead node's. */
static int make_locked(const char *dir, const char *path)
{
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), err = 0;
	struct flock fl = first_byte();
	char self[64];

	if (fd < 0)
		return -errno;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (fcntl(fd, F_OFD_SETLK, &fl) ||
	    linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW))
		err = -errno;
	if (err)
		close(fd);
	return err ? err : fd;
}

int glock__node_file_new(const char *lockman, const char *space, char path[GLOCK__LOCAL_PATH_MAX])
{
	struct local *where = calloc(1, sizeof(*where));
	char *slash;
	int err;

	if (!where)
		return -ENOMEM;
	where->o.name = space;
	err = glock__local_find(where);
	if (where->dir > 0)
		close(where->dir);
	if (!err) {
		slash = strrchr(where->path, '/');
		*slash = '\0';
		remove_dead_files(where->path, lockman, space);
		if (snprintf(path, GLOCK__LOCAL_PATH_MAX, "%s/%s,%s,%ld", where->path, slash + 1,
			     lockman, (long)getpid()) >= GLOCK__LOCAL_PATH_MAX)
			err = -ENAMETOOLONG;
	}
	if (!err)
		err = make_locked(where->path, path);
	free(where);
	return err;
}
