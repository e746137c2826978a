/* SPDX-License-Identifier: MIT */
/*
 * measure.c - runs a program and prints the time and memory that it took.
 *
 *   wall_s user_s sys_s peak_kib line_s ...
 *
 * line_s are the times from one line of its output to the next. If a program writes a line for each
 * frame and reads no input in between, this measures it frame by frame. The output itself is
 * discarded.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LINES_MAX = 64 };

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double timeval_s(struct timeval t)
{
	return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

/* Stores the times at which lines ended. */
static int read_lines(int fd, double *at)
{
	static char buf[1 << 16];
	int lines = 0;
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		for (const char *p = buf;
		     lines < LINES_MAX && (p = memchr(p, '\n', (size_t)(buf + n - p))); p++)
			at[lines++] = now_s();
	return lines;
}

int main(int argc, char **argv)
{
	double begin, end, at[LINES_MAX];
	struct rusage used;
	int out[2], status, lines;
	pid_t child;

	if (argc < 2 || pipe(out)) {
		fprintf(stderr, "usage: measure PROGRAM [ARGUMENT]...\n");
		return 2;
	}
	begin = now_s();
	child = fork();
	if (child == 0) {
		dup2(out[1], STDOUT_FILENO);
		close(out[0]);
		close(out[1]);
		execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}
	close(out[1]);
	lines = read_lines(out[0], at);
	if (child < 0 || wait4(child, &status, 0, &used) < 0) {
		perror(argv[1]);
		return 1;
	}
	end = now_s();
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return 1;
	printf("%.6f %.6f %.6f %ld", end - begin, timeval_s(used.ru_utime),
	       timeval_s(used.ru_stime), used.ru_maxrss);
	for (int i = 1; i < lines; i++)
		printf(" %.6f", at[i] - at[i - 1]);
	putchar('\n');
	return 0;
}
