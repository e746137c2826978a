/* SPDX-License-Identifier: MIT */
/*
 * node_file.c - the files of nodes: what they publish, and the alive file that heirs inherit.
 *
 * Nodes of lock manager local have them beside the space's file. A slot names its alive file by
 * inode. So a file that an earlier node left in this place keeps no later node alive. node_file.h
 * tells of the nodes of other lock managers.
 */
#include "node_file.h"
#include "local_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- beside a space's file ---- */

void glock__local_own_name(char out[GLOCK__LOCAL_NODE_FILE_MAX], const char *file,
			   unsigned int node)
{
	snprintf(out, GLOCK__LOCAL_NODE_FILE_MAX, "%s,%u", file, node);
}

void glock__local_alive_name(char out[GLOCK__LOCAL_NODE_FILE_MAX], const char *file,
			     unsigned int node)
{
	snprintf(out, GLOCK__LOCAL_NODE_FILE_MAX, "%s,%u,alive", file, node);
}

bool glock__local_has_heir(int dir, const char *file, unsigned int node, uint64_t heirs)
{
	char alive[GLOCK__LOCAL_NODE_FILE_MAX];
	struct stat st;
	bool has;
	int fd;

	glock__local_alive_name(alive, file, node);
	fd = openat(dir, alive, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno != ENOENT; /* out of reach counts as alive */
	has = !fstat(fd, &st) && (!heirs || st.st_ino == heirs) &&
	      glock__local_bytes_locked(fd, 0, 1) != 0;
	close(fd);
	return has;
}

bool glock__local_any_heir(int dir, const char *file)
{
	for (unsigned int i = 0; i < NODES; i++)
		if (glock__local_has_heir(dir, file, i, 0))
			return true;
	return false;
}

/*
 * Makes the file `name` anew. Its group and mode are those of the space's file, as far as `mode`
 * has them, so that a user of the space may read the file. Stores what is there.
 */
static int make_beside(struct local *l, int dir, const char *name, int flags, mode_t mode,
		       struct stat *st)
{
	struct stat space;
	int fd, err = 0;

	unlinkat(dir, name, 0); /* of an earlier node in this slot */
	fd = openat(dir, name, flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode & 0600);
	if (fd < 0)
		return -errno;
	if (flags == O_RDONLY)
		err = glock__local_byte_lock(fd, F_RDLCK, 0);
	if (!err && (fstat(glock__local_fd(l), &space) ||
		     (space.st_mode & 0070 && fchown(fd, (uid_t)-1, space.st_gid)) ||
		     fchmod(fd, space.st_mode & mode) || fstat(fd, st)))
		err = -errno;
	if (!err)
		return fd;
	unlinkat(dir, name, 0);
	close(fd);
	return err;
}

int glock__local_own_file(struct glock__lockman *lm)
{
	struct local *l = (struct local *)lm;
	int dir = glock__local_dir(l), fd;
	char name[GLOCK__LOCAL_NODE_FILE_MAX];
	struct stat st;

	if (dir < 0)
		return dir;
	glock__local_own_name(name, l->file, l->me);
	fd = make_beside(l, dir, name, O_RDWR, 0660, &st);
	if (fd >= 0)
		l->own = st.st_ino;
	return fd;
}

/*
 * Byte 0 is locked. Members of the space may read the file, to ask for the lock. No other user may
 * open it, and a user who inherits the descriptor cannot write through it.
 */
int glock__local_keep_alive(struct glock__lockman *lm)
{
	struct local *l = (struct local *)lm;
	char name[GLOCK__LOCAL_NODE_FILE_MAX];
	struct stat st;
	int dir, fd;

	if (l->alive >= 0)
		return l->alive;
	/* If the file was replaced, the node's files are beside another space's now. */
	if (glock__local_still_there(l))
		return -ESTALE;
	dir = glock__local_dir(l);
	if (dir < 0)
		return dir;
	glock__local_alive_name(name, l->file, l->me);
	fd = make_beside(l, dir, name, O_RDONLY, 0440, &st);
	if (fd < 0)
		return fd;
	atom_store64(&l->slot->heirs, st.st_ino);
	return l->alive = fd;
}

/* Removes the file, if it belongs to a node of this space: any, or the one with that inode. */
static void remove_file(const struct local *l, int dir, const char *name, bool any, ino_t inode)
{
	struct stat st;

	if (any || (inode && !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && st.st_dev == l->dev &&
		    st.st_ino == inode))
		unlinkat(dir, name, 0);
}

void glock__local_remove_own_file(struct local *l, unsigned int node)
{
	/* If the space's file was replaced, remove only this node's: others are of the new one. */
	const bool any = !glock__local_still_there(l), mine = node == l->me;
	const int dir = glock__local_dir(l);
	char name[GLOCK__LOCAL_NODE_FILE_MAX];

	if (dir < 0)
		return;
	glock__local_alive_name(name, l->file, node);
	remove_file(l, dir, name, any, mine ? atom_load64(&l->slot->heirs) : 0);
	glock__local_own_name(name, l->file, node);
	remove_file(l, dir, name, any, mine ? l->own : 0);
}

/* ---- of nodes whose lock manager has no space file ---- */

bool glock__node_file_of(int dir, const char *dir_path, const char *file,
			 struct glock__node_file *node)
{
	const char *by = strchr(file, ','), *number = by ? strchr(by + 1, ',') : NULL;
	char name[GLOCK__LOCAL_FILE_MAX];
	char *end;
	long pid;
	int fd;

	if (!number || (size_t)(by - file) >= sizeof(name) ||
	    (size_t)(number - by) > sizeof(node->lockman))
		return false;
	/* Any user may have chosen the name. */
	if (by + 1 + strspn(by + 1, "abcdefghijklmnopqrstuvwxyz") != number || number[1] < '1' ||
	    number[1] > '9')
		return false;
	pid = strtol(number + 1, &end, 10);
	if (*end || pid <= 0)
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)(by - file), file);
	*node = (struct glock__node_file){.pid = (pid_t)pid, .dir = dir};
	snprintf(node->lockman, sizeof(node->lockman), "%.*s", (int)(number - by - 1), by + 1);
	snprintf(node->path, sizeof(node->path), "%s/%s", dir_path, file);
	if (glock__local_unescape(name, node->space))
		return false;
	fd = openat(dir, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return false;
	node->alive = glock__local_bytes_locked(fd, 0, 1) != 0;
	if (fstat(fd, &node->st) || !S_ISREG(node->st.st_mode) || fstat(dir, &node->dir_st)) {
		close(fd);
		return false;
	}
	close(fd);
	return true;
}

/* Removes the files that dead nodes of this space left. */
static void remove_dead_files(const struct local *where, const char *lockman)
{
	int fd = openat(where->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	struct glock__node_file node;

	while (d && (entry = readdir(d)))
		if (glock__node_file_of(fd, "", entry->d_name, &node) && !node.alive &&
		    !strcmp(node.lockman, lockman) && !strcmp(node.space, where->name))
			unlinkat(fd, entry->d_name, 0);
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
}

/* Locks the file before it has a name, so that no process takes it for a dead node's. */
static int make_locked(int dir, const char *name)
{
	int fd = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), err;
	char self[64];

	if (fd < 0)
		return -errno;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	err = glock__local_byte_lock(fd, F_WRLCK, 0);
	if (!err && linkat(AT_FDCWD, self, dir, name, AT_SYMLINK_FOLLOW))
		err = -errno;
	if (err)
		close(fd);
	return err ? err : fd;
}

int glock__node_file_new(const char *lockman, const char *space, struct glock__own_file *own)
{
	struct local *where = calloc(1, sizeof(*where));
	int err;

	*own = (struct glock__own_file){.dir = -1};
	if (!where)
		return -ENOMEM;
	where->dir = -1;
	where->o.name = space;
	err = glock__local_find(where);
	if (!err) {
		remove_dead_files(where, lockman);
		snprintf(own->name, sizeof(own->name), "%s,%s,%ld", where->file, lockman,
			 (long)getpid());
		err = make_locked(where->dir, own->name);
	}
	if (err < 0 && where->dir >= 0) {
		close(where->dir);
	} else {
		own->dir = where->dir;
		own->dir_ino = where->dir_st.st_ino;
	}
	free(where);
	return err;
}

void glock__node_file_remove(struct glock__own_file *own)
{
	struct stat st;

	/* The program may have closed the descriptor. The next node then removes the file. */
	if (own->dir < 0 || fstat(own->dir, &st) || st.st_ino != own->dir_ino)
		return;
	unlinkat(own->dir, own->name, 0);
	close(own->dir);
	own->dir = -1;
}
