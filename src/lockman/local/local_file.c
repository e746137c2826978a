/* SPDX-License-Identifier: MIT */
/*
 * local_file.c - makes a lock space's file, and finds it again.
 *
 * The nodes' own files are made and removed here, too. local_join.c opens the space's file.
 *
 * A file is complete before it has a name (O_TMPFILE, linkat). Therefore no process ever sees half
 * of a file.
 */
#include "local_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* ---- making a file ---- */

int glock__local_reserve(int fd, size_t at, size_t size)
{
	while (fallocate(fd, 0, (off_t)at, (off_t)size))
		if (errno != EINTR)
			return errno == EDQUOT ? -ENOSPC : -errno;
	return 0;
}

uint64_t glock__local_token_seed(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Fills in the head. The rest of a new file is zero. */
static void init_content(struct head *head)
{
	head->layout = LOCAL_LAYOUT;
	head->nodes = NODES;
	head->shards = SHARDS;
	head->buckets = BUCKETS;
	head->shards_at = HEAD_SIZE;
	head->shard_stride = SHARD_STRIDE;
	head->token = glock__local_token_seed();
	head->magic = LOCAL_MAGIC;
}

/*
 * Sets the size of the file and takes its memory. Checks the limit first, because a size above the
 * limit raises a signal.
 */
static int size_file(const struct local *l, int fd)
{
	struct rlimit limit;
	int err = 0;

	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < FILE_SIZE) {
		glock__local_say(
		    &l->o, "space %s: the limit of file sizes is too low; try ulimit -f unlimited",
		    l->name);
		return -EFBIG;
	}
	if (ftruncate(fd, FILE_SIZE))
		err = -errno;
	if (!err)
		err = glock__local_reserve(fd, 0, HEAD_SIZE);
	if (err)
		glock__local_say(&l->o,
				 "space %s: no room for file %s: %s; free memory, or name another "
				 "directory in GLOCK_DIR",
				 l->name, l->path, strerror(-err));
	return err;
}

static int fill_file(const struct local *l, int fd)
{
	struct head *head;
	int err = size_file(l, fd);

	if (err)
		return err;
	if ((l->o.group && fchown(fd, (uid_t)-1, l->gid)) || fchmod(fd, l->o.group ? 0660 : 0600))
		return -errno;
	head = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (head == MAP_FAILED)
		return -errno;
	init_content(head);
	munmap(head, FILE_SIZE);
	return 0;
}

/* Gives the file its name. -EEXIST: another process was faster. */
static int name_file(const struct local *l, int fd)
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (!linkat(AT_FDCWD, self, l->dir, l->file, AT_SYMLINK_FOLLOW))
		return 0;
	if (errno == ENOENT && !linkat(fd, "", l->dir, l->file, AT_EMPTY_PATH))
		return 0;
	return -errno;
}

int glock__local_make_file(const struct local *l)
{
	int fd = openat(l->dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	int err = fd < 0 ? -errno : fill_file(l, fd);

	if (!err)
		err = name_file(l, fd);
	if (fd >= 0)
		close(fd);
	if (err == -EEXIST)
		return 0;
	if (err && err != -ENOSPC && err != -EFBIG)
		glock__local_say(&l->o, "space %s: cannot make %s: %s%s", l->name, l->path,
				 strerror(-err),
				 err == -EOPNOTSUPP || err == -EISDIR
				     ? " (no O_TMPFILE); choose a directory in memory"
				     : "");
	return err;
}

/* ---- later ---- */

static bool is_ours(const struct local *l, int fd)
{
	struct stat st;

	return fd >= 0 && !fstat(fd, &st) && st.st_dev == l->dev && st.st_ino == l->ino;
}

/*
 * The program may have closed l->fd, and opened something else in its place. This function holds
 * no lock of the library. Two threads may both find that, and then one descriptor is kept.
 */
int glock__local_fd(struct local *l)
{
	int fd = __atomic_load_n(&l->fd, __ATOMIC_ACQUIRE), again;

	if (is_ours(l, fd))
		return fd;
	again = open(l->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (!is_ours(l, again)) {
		if (again >= 0)
			close(again);
		return -ESTALE;
	}
	if (__atomic_compare_exchange_n(&l->fd, &fd, again, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return again;
	close(again);
	return fd;
}

int glock__local_still_there(const struct local *l)
{
	struct stat st;

	if (stat(l->path, &st))
		return errno == ENOENT ? -ESTALE : 0; /* out of reach counts as there */
	return st.st_dev == l->dev && st.st_ino == l->ino ? 0 : -ESTALE;
}

/* ---- the nodes' own files ---- */

static void own_path(const struct local *l, unsigned int node, char path[GLOCK__LOCAL_PATH_MAX])
{
	/* No space's file has a comma in its name. */
	snprintf(path, GLOCK__LOCAL_PATH_MAX, "%.*s,%u", GLOCK__LOCAL_PATH_MAX - 16, l->path, node);
}

int glock__local_own_file(struct glock__lockman *lm)
{
	struct local *l = (struct local *)lm;
	char path[GLOCK__LOCAL_PATH_MAX];
	struct stat st;
	int fd, err = 0;

	own_path(l, l->me, path);
	unlink(path); /* of an earlier node in this slot */
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	/* With the space's group and mode: a user who may use the space may read this file. */
	l->own = fstat(fd, &st) ? 0 : st.st_ino;
	if (fstat(l->fd, &st) || (st.st_mode & 0070 && fchown(fd, (uid_t)-1, st.st_gid)) ||
	    fchmod(fd, st.st_mode & 0660))
		err = -errno;
	if (err) {
		unlink(path);
		close(fd);
	}
	return err ? err : fd;
}

/* Removes the file, if it belongs to a node of this space: any, or the one with that inode. */
static void remove_file(const struct local *l, const char *path, bool any, ino_t inode)
{
	struct stat st;

	if (any || (inode && !stat(path, &st) && st.st_dev == l->dev && st.st_ino == inode))
		unlink(path);
}

void glock__local_remove_own_file(const struct local *l, unsigned int node)
{
	/* If the space's file was replaced, remove only this node's: others are of the new one. */
	const bool any = !glock__local_still_there(l), mine = node == l->me;
	char path[GLOCK__LOCAL_PATH_MAX];

	glock__local_alive_path(l->path, node, path);
	remove_file(l, path, any, mine ? atom_load64(&l->slot->heirs) : 0);
	own_path(l, node, path);
	remove_file(l, path, any, mine ? l->own : 0);
}
