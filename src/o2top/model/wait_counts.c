/* SPDX-License-Identifier: MIT */
/*
 * wait_counts.c - counts ended waits by their length.
 */
#include "model.h"

/* From the cost of a message to the end of a hang. */
const double wait_bounds_s[WAIT_BOUNDS] = {0.0001, 0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 300};

/* A call that took less did not wait; see CACHED_S in rank/gather.c. */
#define WAIT_LEAST_S 5e-6

void wait_counts_add(struct wait_counts *w, double s)
{
	int i = 0;

	if (!(s >= WAIT_LEAST_S))
		return;
	while (i < WAIT_BOUNDS && s > wait_bounds_s[i])
		i++;
	w->n[i]++;
	w->sum_s += s;
}

void wait_counts_sum(struct wait_counts *w, const struct wait_counts *from)
{
	for (int i = 0; i <= WAIT_BOUNDS; i++)
		w->n[i] += from->n[i];
	w->sum_s += from->sum_s;
}
