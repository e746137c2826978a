/* SPDX-License-Identifier: MIT */
/*
 * peek_ask.c - writes requests into the segment of a node. No other file does. The node reads its
 * segment when its bell is rung; control.c is that side.
 */
#include "peek.h"

#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

/* Opens the file for writing, if it is a segment. */
static int open_segment(int dir, const char *file)
{
	int fd = openat(dir, file, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	uint64_t magic;
	uint32_t version;

	if (fd < 0)
		return -errno;
	if (pread(fd, &magic, sizeof(magic), offsetof(struct glock__segment_head, magic)) ==
		sizeof(magic) &&
	    pread(fd, &version, sizeof(version), offsetof(struct glock__segment_head, version)) ==
		sizeof(version) &&
	    magic == GLOCK__SEGMENT_MAGIC && version == GLOCK__SEGMENT_VERSION)
		return fd;
	close(fd);
	return -EPROTO;
}

static int write_at(int fd, const void *data, size_t size, size_t at)
{
	ssize_t n = pwrite(fd, data, size, (off_t)at);

	return n == (ssize_t)size ? 0 : n < 0 ? -errno : -EIO;
}

/* Turns a time of this process into one of the process that writes the segment. */
static int64_t time_there(int fd, int64_t t)
{
	struct glock__proc_ns ns;
	int64_t ahead;

	if (!t || pread(fd, &ahead, sizeof(ahead),
			offsetof(struct glock__segment_head, clock_ahead)) != sizeof(ahead))
		return t;
	glock__proc_namespaces(&ns);
	return (int64_t)((uint64_t)t + (uint64_t)ahead - (uint64_t)ns.clock);
}

int glock__peek_trace_until(int dir, const char *file, int64_t until)
{
	int fd = open_segment(dir, file), err;

	if (fd < 0)
		return fd;
	until = time_there(fd, until);
	err =
	    write_at(fd, &until, sizeof(until), offsetof(struct glock__segment_head, trace_until));
	close(fd);
	return err;
}

#define AT(member) offsetof(struct glock__segment_head, demote.member)

int glock__peek_demote(int dir, const char *file, unsigned int type, uint64_t number,
		       enum glock_mode to, struct glock__peek_asked *asked)
{
	const struct glock__segment_demote d = {.number = number, .type = type, .to = (uint32_t)to};
	uint32_t n = 0;
	int err = 0;

	asked->fd = open_segment(dir, file);
	if (asked->fd < 0)
		return asked->fd;
	if (flock(asked->fd, LOCK_EX | LOCK_NB))
		err = -errno;
	else if (pread(asked->fd, &n, sizeof(n), AT(asked)) != sizeof(n))
		err = -EIO;
	else
		err = write_at(asked->fd, &d, AT(asked) - AT(number), AT(number));
	asked->number = n + 1;
	if (!err)
		err = write_at(asked->fd, &asked->number, sizeof(n), AT(asked));
	if (err)
		close(asked->fd);
	return err;
}

bool glock__peek_answered(struct glock__peek_asked *asked, int *error)
{
	uint32_t n;
	int32_t e;

	if (pread(asked->fd, &n, sizeof(n), AT(answered)) != sizeof(n) || n != asked->number ||
	    pread(asked->fd, &e, sizeof(e), AT(error)) != sizeof(e))
		return false;
	*error = e < 0 && e > -4096 ? e : 0;
	return true;
}

void glock__peek_ask_end(struct glock__peek_asked *asked)
{
	close(asked->fd); /* also drops the lock of flock(2) */
}
