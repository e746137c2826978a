/* SPDX-License-Identifier: MIT */
/*
 * local_file.c - makes a lock space's file, and finds the file and its directory again.
 *
 * local_join.c opens the file. node_file.c makes and removes the files that nodes have beside it.
 *
 * A file is complete before it has a name (O_TMPFILE, linkat). Therefore no process ever sees half
 * of a file.
 */
#include "local_file.h"

#include "base/cancel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* ---- making a file ---- */

int glock__local_reserve(int fd, size_t at, size_t size)
{
	GLOCK__NO_CANCEL;
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
	madvise(head, FILE_SIZE, MADV_RANDOM);
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

/* ---- later ---- */

static bool is_of(int fd, dev_t dev, ino_t ino)
{
	struct stat st;

	return fd >= 0 && !fstat(fd, &st) && st.st_dev == dev && st.st_ino == ino;
}

/*
 * Keeps `again`, a new descriptor, in place of *at, which the program closed. Two threads may both
 * find that, and then one descriptor is kept. Returns -ESTALE if `again` is of another file.
 */
static int keep_again(int *at, int was, int again, dev_t dev, ino_t ino)
{
	if (!is_of(again, dev, ino)) {
		if (again >= 0)
			close(again);
		return -ESTALE;
	}
	if (__atomic_compare_exchange_n(at, &was, again, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return again;
	close(again);
	return was;
}

GLOCK__NOINLINE static int open_dir_again(const struct local *l)
{
	char dir[GLOCK__LOCAL_PATH_MAX];

	snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(l->path, '/') - l->path), l->path);
	return open(*dir ? dir : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/*
 * The program may have closed the descriptor, and opened something else in its place. These two
 * functions hold no lock of the library.
 */
int glock__local_dir(struct local *l)
{
	GLOCK__NO_CANCEL;
	const dev_t dev = l->dir_st.st_dev;
	const ino_t ino = l->dir_st.st_ino;
	int fd = __atomic_load_n(&l->dir, __ATOMIC_ACQUIRE);

	return is_of(fd, dev, ino) ? fd : keep_again(&l->dir, fd, open_dir_again(l), dev, ino);
}

int glock__local_fd(struct local *l)
{
	GLOCK__NO_CANCEL;
	int fd = __atomic_load_n(&l->fd, __ATOMIC_ACQUIRE), dir;

	if (is_of(fd, l->dev, l->ino))
		return fd;
	dir = glock__local_dir(l);
	return dir < 0
		   ? dir
		   : keep_again(&l->fd, fd, openat(dir, l->file, O_RDWR | O_NOFOLLOW | O_CLOEXEC),
				l->dev, l->ino);
}

void glock__local_close_files(struct local *l)
{
	if (is_of(l->fd, l->dev, l->ino))
		close(l->fd);
	if (is_of(l->dir, l->dir_st.st_dev, l->dir_st.st_ino))
		close(l->dir);
}

int glock__local_still_there(const struct local *l)
{
	struct stat st;

	if (stat(l->path, &st))
		return errno == ENOENT ? -ESTALE : 0; /* out of reach counts as there */
	return st.st_dev == l->dev && st.st_ino == l->ino ? 0 : -ESTALE;
}
