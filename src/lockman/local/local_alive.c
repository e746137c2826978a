/* SPDX-License-Identifier: MIT */
/*
 * local_alive.c - which nodes live: locks on bytes of the space's file, and alive files of nodes.
 *
 * local_impl.h says what they mean. A slot names its alive file by inode. So a file that an earlier
 * node left in this place keeps no later node alive.
 */
#include "local_impl.h"

#include <errno.h>
#include <fcntl.h>

/* ---- locks of bytes ---- */

int glock__local_byte_lock(int fd, int type, off_t at)
{
	struct flock fl = {.l_type = (short)type, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};

	while (fcntl(fd, F_OFD_SETLK, &fl))
		if (errno != EINTR)
			return errno == EACCES ? -EAGAIN : -errno;
	return 0;
}

int glock__local_bytes_locked(int fd, off_t at, off_t n)
{
	struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = n};

	/* This asks for a write lock without taking one, so a descriptor to read is enough. */
	if (fcntl(fd, F_OFD_GETLK, &fl))
		return -errno;
	return fl.l_type != F_UNLCK;
}

/* ---- the living ---- */

bool glock__local_process_lives(struct local *l, unsigned int node)
{
	int fd = glock__local_fd(l);

	/* If the kernel gives no answer, the node counts as alive, which is the safe side. */
	return fd < 0 || glock__local_bytes_locked(fd, node, 1) != 0;
}

bool glock__local_has_heir(const char *path, unsigned int node, uint64_t heirs)
{
	char alive[GLOCK__LOCAL_PATH_MAX];
	struct stat st;
	bool has;
	int fd;

	glock__local_alive_path(path, node, alive);
	fd = open(alive, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno != ENOENT; /* out of reach counts as alive */
	has = !fstat(fd, &st) && (!heirs || st.st_ino == heirs) &&
	      glock__local_bytes_locked(fd, 0, 1) != 0;
	close(fd);
	return has;
}

bool glock__local_any_heir(const char *path)
{
	for (unsigned int i = 0; i < NODES; i++)
		if (glock__local_has_heir(path, i, 0))
			return true;
	return false;
}

bool glock__local_alive(struct local *l, unsigned int node)
{
	uint64_t heirs;

	if (glock__local_process_lives(l, node))
		return true;
	/* Read afterwards, because a process that has ended makes no alive file any more. */
	heirs = atom_load64(&l->head->slot[node].heirs);
	return heirs && glock__local_has_heir(l->path, node, heirs);
}

/* ---- the alive file of this node ---- */

/*
 * Makes the file and locks byte 0. Members of the space may read the file, to ask for the lock. No
 * other user may open it, and a user who inherits the descriptor cannot write through it.
 */
static int make_alive_file(struct local *l, const char *path, struct stat *st)
{
	struct stat space;
	int fd, err;

	unlink(path); /* of an earlier node in this slot */
	fd = open(path, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
	if (fd < 0)
		return -errno;
	err = glock__local_byte_lock(fd, F_RDLCK, 0);
	if (!err && (fstat(glock__local_fd(l), &space) ||
		     (space.st_mode & 0070 && fchown(fd, (uid_t)-1, space.st_gid)) ||
		     fchmod(fd, space.st_mode & 0440) || fstat(fd, st)))
		err = -errno;
	if (!err)
		return fd;
	unlink(path);
	close(fd);
	return err;
}

int glock__local_keep_alive(struct glock__lockman *lm)
{
	struct local *l = (struct local *)lm;
	char path[GLOCK__LOCAL_PATH_MAX];
	struct stat st;
	int fd;

	if (l->alive >= 0)
		return l->alive;
	/* If the file was replaced, the node's files are beside another space's now. */
	if (glock__local_still_there(l))
		return -ESTALE;
	glock__local_alive_path(l->path, l->me, path);
	fd = make_alive_file(l, path, &st);
	if (fd < 0)
		return fd;
	atom_store64(&l->slot->heirs, st.st_ino);
	return l->alive = fd;
}
