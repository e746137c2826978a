/* SPDX-License-Identifier: MIT */
/*
 * bench_publish.c - measures the cost to a process of being observed.
 *
 * The cost is the CPU time in which the process takes a cached lock and lets it go. It is measured
 * in turns, while another process reads all published data without a pause, and while none reads.
 * The program also measures the reader's time.
 *
 *	bench_publish GLOCKS GLOCK	GLOCK is the program glock
 *
 * It prints lines of a name and a number: medians.
 */
#include "glock/core/internal.h"
#include "peek/find_spaces.h"

#include "glock.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 41, PAIRS = 200000, LONG_TURNS = 15, LONG_PAIRS = 2000000, USED = 1000, STATS = 5 };

static struct glock_space *space;
static struct glock *used[USED];
/* Shared: the reader's orders. */
static volatile uint32_t *reading;
enum { NOTHING, ALWAYS, ONCE };

static double seconds(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), ascending);
	return v[n / 2];
}

static void fail(const char *what, int err)
{
	fprintf(stderr, "bench_publish: %s: %s\n", what, strerror(-err));
	exit(1);
}

static bool count(void *arg, const struct glock__peek_glock *gl)
{
	(void)gl;
	++*(size_t *)arg;
	return true;
}

/* Runs in another process. Reads all published data while the orders say so. */
static void reader(void)
{
	for (;;) {
		struct glock__find_spaces s;
		size_t n = 0;

		if (*reading == NOTHING) {
			usleep(1000);
			continue;
		}
		if (*reading == ONCE)
			*reading = NOTHING;
		glock__find_spaces(&s, "bench");
		for (size_t i = 0; s.n && i < s.spaces[0].n_nodes; i++) {
			struct glock__peek *peek;

			if (glock__found_open(&s, &s.spaces[0], &s.spaces[0].nodes[i], &peek))
				continue;
			glock__peek_read(peek, count, &n, NULL);
			glock__peek_close(peek);
		}
		glock__found_free(&s);
	}
}

static void fill(uint64_t glocks)
{
	for (uint64_t i = 0; i < glocks; i++) {
		struct glock_holder gh;
		struct glock *gl;
		int err = glock_get(space, GLOCK_META, i, &gl);

		if (err)
			fail("glock_get", err);
		glock_holder_init(&gh, gl, GLOCK_SH, 0);
		err = glock_nq(&gh);
		if (err)
			fail("glock_nq", err);
		glock_dq(&gh);
		if (i < USED)
			used[i] = gl;
		else
			glock_put(gl);
	}
}

/* Returns the CPU time of a pair, in ns. */
static double turn(int pairs)
{
	double start = seconds(CLOCK_THREAD_CPUTIME_ID);

	for (int i = 0; i < pairs; i++) {
		struct glock_holder gh;

		glock_holder_init(&gh, used[i % USED], GLOCK_SH, 0);
		if (glock_nq(&gh))
			fail("glock_nq", -1);
		glock_dq(&gh);
	}
	return 1e9 * (seconds(CLOCK_THREAD_CPUTIME_ID) - start) / pairs;
}

/* Measures with such a reader and without, in turns. */
static void measure_cost(const char *name, uint32_t how, int turns, int pairs)
{
	double alone[TURNS], read[TURNS], ratio[TURNS];

	turn(pairs / 10);
	for (int i = 0; i < turns; i++) {
		for (int j = 0; j < 2; j++) {
			bool with = j == i % 2; /* the order of the two changes, too */

			*reading = with ? how : NOTHING;
			(with ? read : alone)[i] = turn(pairs);
			*reading = NOTHING;
			usleep(200000); /* time for the reader to stop */
		}
		ratio[i] = read[i] / alone[i];
	}
	printf("%s_alone_ns %.1f\n", name, median(alone, (size_t)turns));
	printf("%s_read_ns %.1f\n", name, median(read, (size_t)turns));
	printf("%s_ratio %.4f\n", name, median(ratio, (size_t)turns));
}

/* Runs the command and discards its output. Returns its time in s. */
static double run_stat(const char *program, const char *file)
{
	double start = seconds(CLOCK_MONOTONIC);
	pid_t pid = fork();
	int status;

	if (pid < 0)
		fail("fork", -1);
	if (!pid) {
		if (!freopen("/dev/null", "w", stdout))
			_exit(1);
		execl(program, program, "stat", "bench", file, NULL);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		fail(program, -1);
	return seconds(CLOCK_MONOTONIC) - start;
}

static void nothing(void *to, const char *text, size_t len)
{
	(void)text;
	*(size_t *)to += len;
}

static void measure_stat(const char *program)
{
	double ours[STATS], stats[STATS], own[STATS];
	size_t bytes;

	for (int i = 0; i < STATS; i++) {
		double start;

		ours[i] = run_stat(program, "glocks");
		stats[i] = run_stat(program, "glstats");
		start = seconds(CLOCK_MONOTONIC);
		bytes = 0;
		glock_dump(space, GLOCK_FILE_GLOCKS, GLOCK_FORMAT_LINUX_6_1, nothing, &bytes);
		own[i] = seconds(CLOCK_MONOTONIC) - start;
	}
	printf("stat_glocks_s %.3f\n", median(ours, STATS));
	printf("stat_glstats_s %.3f\n", median(stats, STATS));
	printf("own_dump_s %.3f\n", median(own, STATS));
	printf("text_bytes %zu\n", bytes);
}

int main(int argc, char **argv)
{
	struct glock_space_options o = {.size = sizeof(o), .lockman = "local"};
	pid_t child;
	int err;

	if (argc != 3)
		return 2;
	reading = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (reading == MAP_FAILED)
		return 1;
	child = fork();
	if (!child)
		reader();
	err = glock_space_open("bench", &o, &space);
	if (err)
		fail("glock_space_open", err);
	fill(strtoull(argv[1], NULL, 10));
	measure_stat(argv[2]);
	measure_cost("once", ONCE, LONG_TURNS, LONG_PAIRS);
	measure_cost("always", ALWAYS, TURNS, PAIRS);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	for (int i = 0; i < USED; i++)
		glock_put(used[i]);
	return glock_space_close(space) ? 1 : 0;
}
