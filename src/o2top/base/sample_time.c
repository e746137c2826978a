/* SPDX-License-Identifier: MIT */
/*
 * sample_time.c - the time of a sample: the newest of its clocks that is not far ahead.
 *
 * A node whose clock is 30 s ahead must not date the sample. The time would go back when that node
 * falls silent, and --from and --to would choose the wrong samples.
 */
#include "clock.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

int64_t sample_time(int64_t *clocks, size_t n)
{
	if (!n)
		return INT64_MIN;
	qsort(clocks, n, sizeof(*clocks), by_value);
	/* of two clocks, none is that of most nodes */
	for (size_t i = n; --i > n / 2;)
		if (1e-6 * ((double)clocks[i] - (double)clocks[n / 2]) <= ONE_SAMPLE_S)
			return clocks[i];
	return clocks[n / 2];
}
