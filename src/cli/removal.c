/* SPDX-License-Identifier: MIT */
/*
 * removal.c - waits for the end of a process, and hears at once that a space's file is removed.
 *
 * logind removes a user's files in /dev/shm when the user logs out (RemoveIPC), also while a job of
 * this user runs. A later process makes a new file, in which the lock is free.
 */
#include "cli.h"

#include <errno.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROOM = 4096 };

int pid_open(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Watches the file, and then looks whether it was removed before. Returns the path, or NULL. */
static const char *watch_file(int watch, const char *path, changed_fn *changed, void *arg)
{
	const char *now = path;

	do {
		path = now;
		if (watch < 0 || !path)
			return NULL;
		inotify_add_watch(watch, path, IN_ATTRIB | IN_MOVE_SELF);
		now = changed(arg);
	} while (now != path);
	return path;
}

void wait_for_process(int pidfd, const char *path, changed_fn *changed, void *arg)
{
	int watch = path ? inotify_init1(IN_CLOEXEC | IN_NONBLOCK) : -1;
	struct pollfd fds[] = {{.fd = pidfd, .events = POLLIN}, {.fd = watch, .events = POLLIN}};
	char events[ROOM];

	path = watch_file(watch, path, changed, arg);
	while (!fds[0].revents) {
		fds[1].fd = path ? watch : -1;
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		if (fds[1].revents && read(watch, events, sizeof(events)) > 0)
			path = watch_file(watch, path, changed, arg);
		fds[1].revents = 0;
	}
	if (watch >= 0)
		close(watch);
}
