/* SPDX-License-Identifier: MIT */
/* bytes.c - see bytes.h. */
#include "bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* The space's mark is a read lock on one byte of this range. No file is so long. */
static const int64_t marks_from = INT64_C(1) << 62, marks = INT64_C(1) << 32;

static int bytes_call(int fd, int command, struct flock *l)
{
	int err;

	do
		err = fcntl(fd, command, l) ? -errno : 0;
	while (err == -EINTR);
	return err == -EACCES ? -EAGAIN : err;
}

static struct flock bytes_range(int64_t from, int64_t n, short type)
{
	return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = from, .l_len = n};
}

int bytes_lock(int fd, int64_t from, int64_t n, enum byte_lock lock)
{
	static const short types[] = {
	    [BYTES_FREE] = F_UNLCK, [BYTES_READ] = F_RDLCK, [BYTES_WRITE] = F_WRLCK};
	struct flock l = bytes_range(from, n, types[lock]);

	return bytes_call(fd, F_OFD_SETLK, &l);
}

int bytes_in_the_way(int fd, int64_t from, int64_t n, int64_t *pid)
{
	struct flock l = bytes_range(from, n, F_WRLCK);
	int err = bytes_call(fd, F_OFD_GETLK, &l);

	if (err || l.l_type == F_UNLCK)
		return err;
	if (pid)
		*pid = l.l_pid;
	return 1;
}

int bytes_mark_space(int fd, uint32_t identity)
{
	int64_t mine = marks_from + identity, after = marks - identity - 1;
	int err = bytes_lock(fd, mine, 1, BYTES_READ);

	if (!err && identity)
		err = bytes_in_the_way(fd, marks_from, identity, NULL);
	if (!err && after)
		err = bytes_in_the_way(fd, mine + 1, after, NULL);
	if (!err)
		return 0;
	bytes_lock(fd, mine, 1, BYTES_FREE);
	return err > 0 ? -EBUSY : err;
}

bool bytes_own_posix(int fd)
{
	/* the locks of another process may hide ours */
	return bytes_in_the_way(fd, BYTE_PENDING, BYTES_SHARED + 2, NULL) != 0;
}
