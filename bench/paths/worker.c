/* SPDX-License-Identifier: MIT */
/*
 * worker.c - takes turns under a lock by path, and prints the ns that each turn waited.
 *
 * Usage: worker glock|flock FILE TURN_US SECONDS
 */
#include "glock-path.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { WAITS_MAX = 1 << 20 };

static int64_t waits[WAITS_MAX];

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static int fd;
static struct glock *gl;
static struct glock_holder gh;

static int take(void)
{
	return gl ? glock_lock(gl, GLOCK_EX, &gh) : flock(fd, LOCK_EX);
}

static int leave(void)
{
	return gl ? glock_unlock(&gh) : flock(fd, LOCK_UN);
}

int main(int argc, char **argv)
{
	int64_t end, asked;
	int n = 0;

	if (argc != 5)
		return 2;
	if (!strcmp(argv[1], "flock"))
		fd = open(argv[2], O_RDONLY | O_CREAT | O_CLOEXEC, 0666);
	else if (glock_get_path(NULL, argv[2], NULL, &gl))
		return 1;
	end = now() + atoll(argv[4]) * 1000000000;
	while (n < WAITS_MAX && (asked = now()) < end) {
		if (take())
			return 1;
		waits[n++] = now() - asked;
		usleep((useconds_t)atoi(argv[3]));
		if (leave())
			return 1;
	}
	if (gl)
		glock_put(gl);
	for (int i = 0; i < n; i++)
		printf("%lld\n", (long long)waits[i]);
	return 0;
}
