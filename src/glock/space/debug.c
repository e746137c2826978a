/* SPDX-License-Identifier: MIT */
/*
 * debug.c - cleans the messages for the log of the program, and writes them where GLOCK_DEBUG says.
 *
 * Each message is one write, so that processes can share a file.
 */
#include "open.h"

#include "base/clean.h"
#include "base/way.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void debug_write(int fd, const char *message)
{
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
	wrote = write(fd, line, (size_t)len);
	(void)wrote; /* there is no place to which the error could be told */
}

static void debug_log(void *arg, const char *message)
{
	const struct glock__debug *d = arg;
	char *text = strdup(message);

	if (text)
		glock__clean(text, strlen(text)); /* other users choose names that it has */
	message = text ? text : "no memory for a message";
	if (d->fd >= 0)
		debug_write(d->fd, message);
	if (d->log)
		d->log(d->log_arg, message);
	free(text);
}

/* Opens or makes a file in its folder. Returns a descriptor, or -1 and stores the reason. */
static int open_to_append(const char *path, const char **why)
{
	char name[NAME_MAX + 1];
	int folder = glock__way_open(path, 0, name), fd;

	if (folder < 0) {
		*why = folder == -ELOOP ? "another user made a symbolic link on the way"
					: strerror(-folder);
		return -1;
	}
	fd = openat(folder, name,
		    O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK,
		    0600);
	*why = fd >= 0          ? NULL
	       : errno == ELOOP ? "it is a symbolic link"
	       : errno == ENXIO ? "it is a FIFO or socket that no process reads"
				: strerror(errno);
	close(folder);
	return fd;
}

/*
 * Opens a file that the user named. Each folder of the path may belong to another user, who puts a
 * link, a FIFO or a second name of some file there. Stores the reason if such a thing is refused.
 */
static int open_file(const char *path, const char **why)
{
	int fd = open_to_append(path, why);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st))
		*why = strerror(errno);
	else if (!S_ISCHR(st.st_mode) && st.st_uid != geteuid())
		*why = "it belongs to another user";
	else if (S_ISREG(st.st_mode) && st.st_nlink != 1)
		*why = "it has more than one name";
	if (!*why)
		return fd;
	close(fd);
	return -1;
}

struct glock__debug *glock__debug_open(struct glock_space_options *o)
{
	const char *to = secure_getenv("GLOCK_DEBUG");
	const char *why = NULL;
	char message[512];
	struct glock__debug *d;

	if (to && !*to)
		to = NULL;
	if (!to && !o->log)
		return NULL;
	d = malloc(sizeof(*d));
	if (!d)
		return NULL;
	*d = (struct glock__debug){.fd = -1, .log = o->log, .log_arg = o->log_arg};
	o->log = debug_log;
	o->log_arg = d;
	if (to)
		d->fd = !strcmp(to, "stderr") ? STDERR_FILENO : open_file(to, &why);
	if (why) {
		snprintf(message, sizeof(message),
			 "GLOCK_DEBUG=%s: %s; name a file that can be written, or stderr", to, why);
		debug_log(d, message);
	}
	return d;
}

void glock__debug_free(struct glock__debug *d)
{
	if (d && d->fd >= 0 && d->fd != STDERR_FILENO)
		close(d->fd);
	free(d);
}
