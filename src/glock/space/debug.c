/* SPDX-License-Identifier: MIT */
/*
 * debug.c - the log of GLOCK_DEBUG. Each message is one write, so that processes can share a file.
 */
#include "debug.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct glock__debug {
	int fd;
	void (*log)(void *arg, const char *message); /* of the program */
	void *log_arg;
};

static void debug_log(void *arg, const char *message)
{
	const struct glock__debug *d = arg;
	char line[700];
	struct timespec ts;
	struct tm tm;
	ssize_t wrote;
	int len;

	clock_gettime(CLOCK_REALTIME, &ts);
	localtime_r(&ts.tv_sec, &tm);
	len = snprintf(line, sizeof(line), "glock[%d] %02d:%02d:%02d.%03ld %s\n", (int)getpid(),
		       tm.tm_hour, tm.tm_min, tm.tm_sec, ts.tv_nsec / 1000000, message);
	if (len >= (int)sizeof(line)) {
		len = sizeof(line) - 1;
		line[len - 1] = '\n';
	}
	wrote = write(d->fd, line, (size_t)len);
	(void)wrote; /* there is no place to which the error could be told */
	if (d->log)
		d->log(d->log_arg, message);
}

/* Opens a file that the user named; the program may run with another working directory later. */
static int open_file(const char *path)
{
	return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
}

struct glock__debug *glock__debug_open(struct glock_space_options *o)
{
	const char *to = secure_getenv("GLOCK_DEBUG");
	char message[256];
	struct glock__debug *d;

	if (!to || !*to)
		return NULL;
	d = malloc(sizeof(*d));
	if (!d)
		return NULL;
	*d = (struct glock__debug){.log = o->log, .log_arg = o->log_arg};
	d->fd = !strcmp(to, "stderr") ? STDERR_FILENO : open_file(to);
	if (d->fd < 0) {
		snprintf(message, sizeof(message),
			 "GLOCK_DEBUG=%s: %s; name a file that can be written, or stderr", to,
			 strerror(errno));
		if (o->log)
			o->log(o->log_arg, message);
		free(d);
		return NULL;
	}
	o->log = debug_log;
	o->log_arg = d;
	return d;
}

void glock__debug_free(struct glock__debug *d)
{
	if (d && d->fd != STDERR_FILENO)
		close(d->fd);
	free(d);
}
