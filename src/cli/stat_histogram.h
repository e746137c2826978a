/* SPDX-License-Identifier: MIT */
/*
 * stat_histogram.h - glock stat --histogram: times by powers of two, of types and of busy glocks.
 */
#ifndef GLOCK_STAT_HISTOGRAM_H
#define GLOCK_STAT_HISTOGRAM_H

#include "peek/peek.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Prints the histograms of one node on standard output. `now` is the time of the reader. Returns 0
 * or the negative errno of reading. Sets *ok to false if the output cannot be written.
 */
int histogram_node(struct glock__peek *peek, const char *node, int64_t now, bool json, bool *ok,
		   struct glock__peek_counts *counts);

#endif
