/* SPDX-License-Identifier: MIT */
/*
 * append.c - writes messages to a file that the user named in the environment.
 */
#include "append.h"

#include "clean.h"
#include "way.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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

int glock__append_open(const char *to, const char **why)
{
	int fd = strcmp(to, "stderr") == 0 ? STDERR_FILENO : open_to_append(to, why);
	struct stat st;

	if (fd < 0 || fd == STDERR_FILENO)
		return fd;
	if (fstat(fd, &st))
		*why = strerror(errno);
	else if (!S_ISCHR(st.st_mode) && st.st_uid != geteuid())
		*why = "it belongs to another user";
	else if (S_ISREG(st.st_mode) && !glock__way_is_only_name(fd))
		*why = "it has more than one name, or has just been removed";
	if (!*why)
		return fd;
	close(fd);
	return -1;
}

void glock__append(int fd, const char *message)
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
	glock__clean(line, (size_t)len - 1); /* other users choose names that a message has */
	wrote = write(fd, line, (size_t)len);
	(void)wrote; /* there is no place to which the error could be told */
}

void glock__append_close(int fd)
{
	if (fd >= 0 && fd != STDERR_FILENO)
		close(fd);
}
