/* SPDX-License-Identifier: MIT */
/*
 * sample_time.h - the time of a sample, by the clocks of its nodes.
 */
#ifndef O2TOP_SAMPLE_TIME_H
#define O2TOP_SAMPLE_TIME_H

#include <stddef.h>
#include <stdint.h>

/* A sample of several nodes is taken in this time. Clocks that are further apart are wrong. */
#define ONE_SAMPLE_S 10.0

/*
 * Returns the newest of n clocks, in microseconds, but not one that is far ahead of most clocks.
 * INT64_MIN without clocks. Sorts the list.
 */
int64_t sample_time(int64_t *clocks, size_t n);

#endif
