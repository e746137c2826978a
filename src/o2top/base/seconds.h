/* SPDX-License-Identifier: MIT */
/*
 * seconds.h - lengths of time as seconds in a double.
 */
#ifndef O2TOP_SECONDS_H
#define O2TOP_SECONDS_H

#include <stdint.h>

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

#endif
