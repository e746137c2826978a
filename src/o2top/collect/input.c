/* SPDX-License-Identifier: MIT */
/*
 * input.c - streams of bytes from a descriptor, a path or memory, and the loop over their lines.
 */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 256 * 1024 };

static ssize_t fd_read(struct input *in, void *buf, size_t size)
{
	ssize_t n;

	do
		n = read(in->fd, buf, size);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static void fd_close(struct input *in)
{
	close(in->fd);
	in->fd = -1;
}

void input_open_fd(struct input *in, int fd, const char *label)
{
	size_t len = strlen(label);

	*in = (struct input){.read = fd_read, .close = fd_close, .fd = fd};
	if (len >= INPUT_LABEL_MAX)
		label += len - INPUT_LABEL_MAX + 1;
	snprintf(in->label, sizeof(in->label), "%s", label);
}

int input_open_path(struct input *in, const char *path, const char *label)
{
	struct stat st;
	int fd;

	/*
	 * The open must not make a terminal the controlling one, and must not wait for a pipe. Only
	 * a regular file is an input.
	 */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return -EINVAL;
	}
	input_open_fd(in, fd, label);
	return 0;
}

static ssize_t memory_read(struct input *in, void *buf, size_t size)
{
	size_t n = in->left < size ? in->left : size;

	if (n)
		memcpy(buf, in->text, n);
	in->text += n;
	in->left -= n;
	return (ssize_t)n;
}

static void memory_close(struct input *in)
{
	in->left = 0;
}

void input_open_memory(struct input *in, const char *text, size_t len, const char *label)
{
	*in = (struct input){.read = memory_read,
			     .close = memory_close,
			     .fd = -1,
			     .text = text ? text : "",
			     .left = len};
	snprintf(in->label, sizeof(in->label), "%s", label);
}

static void owned_close(struct input *in)
{
	free(in->of);
	memory_close(in);
}

void input_open_owned(struct input *in, char *text, size_t len, const char *label)
{
	input_open_memory(in, text, len, label);
	in->of = text;
	in->close = owned_close;
}

struct reader {
	input_line_fn *each;
	void *arg;
	size_t number;
	bool crlf;     /* lines end with CR and LF */
	bool skipping; /* this is the rest of a line that was too long */
	bool stop;
};

/* Hands out one line, or as much of it as a line may have. */
static void hand_out(struct reader *r, const char *line, size_t len, bool complete)
{
	bool fits;

	if (r->crlf && complete && len && line[len - 1] == '\r')
		len--;
	fits = len <= INPUT_LINE_MAX;
	r->stop =
	    !r->each(r->arg, line, fits ? len : INPUT_LINE_MAX, ++r->number, complete && fits);
}

/* Hands out the whole lines in buf. Returns how many bytes are left over. */
static size_t whole_lines(struct reader *r, char *buf, size_t len)
{
	char *p = buf, *end = buf + len;

	while (!r->stop) {
		char *nl = memchr(p, '\n', (size_t)(end - p));

		if (!nl)
			break;
		if (!r->skipping)
			hand_out(r, p, (size_t)(nl - p), true);
		r->skipping = false;
		p = nl + 1;
	}
	len = (size_t)(end - p);
	if (len > INPUT_LINE_MAX && !r->stop) {
		if (!r->skipping)
			hand_out(r, p, len, false);
		r->skipping = true;
		return 0;
	}
	memmove(buf, p, len);
	return len;
}

int input_lines(struct input *in, input_line_fn *each, void *arg)
{
	struct reader r = {.each = each, .arg = arg, .crlf = in->crlf};
	size_t left = 0, want = in->first_read;
	char *buf = malloc(BUFFER);
	ssize_t n = -ENOMEM;

	while (buf) {
		if (!want || want > BUFFER - left)
			want = BUFFER - left;
		n = in->read(in, buf + left, want);
		if (n <= 0)
			break;
		want = 0;
		left = whole_lines(&r, buf, left + (size_t)n);
		if (r.stop)
			break;
	}
	if (n == 0 && left && !r.skipping && !r.stop)
		each(arg, buf, left, r.number + 1, false);
	free(buf);
	in->close(in);
	return n < 0 ? (int)n : 0;
}

ssize_t input_small(const char *path, char *buf, size_t size)
{
	struct input in;
	size_t at = 0;
	ssize_t n;
	int err = input_open_path(&in, path, path);

	if (err)
		return err;
	while ((n = in.read(&in, buf + at, size - 1 - at)) > 0) {
		at += (size_t)n;
		if (at == size - 1) {
			n = -EFBIG;
			break;
		}
	}
	in.close(&in);
	buf[n < 0 ? 0 : at] = '\0';
	return n < 0 ? n : (ssize_t)at;
}
