/* SPDX-License-Identifier: MIT */
/*
 * first_answer.c - prints on the terminal which machines o2top waits for, until one answers.
 */
#include "output.h"

#include "o2top/base/ending.h"

#include <poll.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { NAMES = 3 };

static bool came(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

/* Prints a line that the next one replaces. */
static void first_answer_say(char *const *names, size_t n, int seconds)
{
	fprintf(stderr, "\r\033[K");
	for (size_t i = 0; i < n && i < NAMES; i++)
		fprintf(stderr, "%s%.20s", i ? ", " : "", names[i]);
	if (n > NAMES)
		fprintf(stderr, " and %zu others", n - NAMES);
	fprintf(stderr, ": no answer for %d s; Ctrl-C ends o2top", seconds);
}

bool first_answer_wait(int fd, char *const *names, size_t n)
{
	struct timespec until;
	bool goes_on = true;
	int seconds = 0;

	if (!isatty(STDERR_FILENO))
		return ending_wait(fd, NULL);
	clock_gettime(CLOCK_MONOTONIC, &until);
	while (goes_on && !came(fd)) {
		if (seconds)
			first_answer_say(names, n, seconds);
		until.tv_sec++;
		seconds++;
		goes_on = ending_wait(fd, &until);
	}
	if (seconds > 1)
		fprintf(stderr, "\r\033[K");
	return goes_on;
}
