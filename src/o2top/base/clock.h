/* SPDX-License-Identifier: MIT */
/*
 * clock.h - readings of this machine's clocks, in seconds and in microseconds.
 */
#ifndef O2TOP_CLOCK_H
#define O2TOP_CLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* ---- lengths of time as seconds in a double. */

/*
 * Returns microseconds as seconds. Stamps of one sample may lie ahead of its clock a little, but no
 * age is negative.
 */
static inline double seconds(int64_t us)
{
	return us > 0 ? 1e-6 * (double)us : 0;
}

static inline double min_s(double a, double b)
{
	return a < b ? a : b;
}

static inline double max_s(double a, double b)
{
	return a > b ? a : b;
}

/* ---- sample_time.c: the time of a sample, by the clocks of its nodes. */

/* A sample of several nodes is taken in this time. Clocks that are further apart are wrong. */
#define ONE_SAMPLE_S 10.0

/*
 * Returns the newest of n clocks, in microseconds, but not one that is far ahead of most clocks.
 * INT64_MIN without clocks. Sorts the list.
 */
int64_t sample_time(int64_t *clocks, size_t n);

/* ---- readings of this machine's clocks, in seconds and in microseconds. */

/* Returns the seconds of CLOCK_MONOTONIC, which is never set. */
static inline double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static inline int64_t now_us(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

#endif
