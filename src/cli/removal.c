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

/* An event may be a change of the file's mode. Therefore *path is looked at. */
static bool is_removed(int watch, const char *path)
{
	char events[ROOM];

	return read(watch, events, sizeof(events)) > 0 && access(path, F_OK) != 0;
}

void wait_for_process(int pidfd, const char *path, removed_fn *removed, void *arg)
{
	int watch = path ? inotify_init1(IN_CLOEXEC | IN_NONBLOCK) : -1;
	struct pollfd fds[] = {{.fd = pidfd, .events = POLLIN}, {.fd = watch, .events = POLLIN}};

	if (watch >= 0)
		inotify_add_watch(watch, path, IN_ATTRIB | IN_MOVE_SELF);
	while (!fds[0].revents) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		if (!fds[1].revents || !is_removed(watch, path))
			continue;
		path = removed(arg);
		if (path)
			inotify_add_watch(watch, path, IN_ATTRIB | IN_MOVE_SELF);
		else
			fds[1].fd = -1;
		fds[1].revents = 0;
	}
	if (watch >= 0)
		close(watch);
}
