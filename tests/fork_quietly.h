/* SPDX-License-Identifier: MIT */
/*
 * fork_quietly.h - fork of a process with threads, whose child does more than _exit.
 *
 * AddressSanitizer's allocator (before LLVM 17) has no handlers for fork. If another thread is
 * inside the allocator during a fork, the child inherits the allocator's lock, but not that thread.
 * The child then hangs at its next malloc and at exit. Threads of libglock are inside for a moment
 * when they start.
 *
 * With that sanitizer, the fork therefore waits until all other threads sleep. One of them may
 * still wake up at that moment. A test that hung in every 60th run did not hang in 1,200 runs.
 *
 * Without that sanitizer, libc handles this. The fork does not wait, so it meets the library's own
 * locks in any state.
 */
#ifndef TESTS_FORK_QUIETLY_H
#define TESTS_FORK_QUIETLY_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { FORK_PATIENCE_MS = 20000 };

/* Whether thread `tid` runs, or waits for something that is no other thread's to give. */
static inline bool thread_is_awake(const char *tid)
{
	char path[64], line[512] = "";
	const char *state;
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/self/task/%.20s/stat", tid);
	stat = fopen(path, "re");
	if (!stat)
		return false; /* it has ended */
	if (!fgets(line, sizeof(line), stat))
		line[0] = '\0';
	fclose(stat);
	state = strrchr(line, ')');
	return state && strncmp(state, ") S", 3) != 0;
}

static inline bool all_others_sleep(void)
{
	const long self = syscall(SYS_gettid);
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *task;
	bool sleep = tasks != NULL;

	while (sleep && (task = readdir(tasks)))
		sleep = task->d_name[0] == '.' || atol(task->d_name) == self ||
			!thread_is_awake(task->d_name);
	if (tasks)
		closedir(tasks);
	return sleep;
}

static inline pid_t fork_quietly(void)
{
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FORK_WAITS 1
#endif
#endif
#if defined(FORK_WAITS) || defined(__SANITIZE_ADDRESS__)
	for (int ms = 0; !all_others_sleep(); ms++) {
		if (ms == FORK_PATIENCE_MS) {
			fputs("# a thread never sleeps: not forked\n", stderr);
			return -1;
		}
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
#else
	(void)all_others_sleep;
#endif
	return fork();
}

#endif
