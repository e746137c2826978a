/* SPDX-License-Identifier: MIT */
/*
 * clock.h - readings of this machine's clocks, in seconds and in microseconds.
 */
#ifndef O2TOP_CLOCK_H
#define O2TOP_CLOCK_H

#include <stdint.h>
#include <time.h>

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
