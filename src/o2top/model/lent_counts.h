/* SPDX-License-Identifier: MIT */
/*
 * lent_counts.h - what libglock counts of its busy glocks: grants by mode, and times by powers of
 * two.
 */
#ifndef O2TOP_LENT_COUNTS_H
#define O2TOP_LENT_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Bucket i counts times from 2^i times 256 ns on, up to twice that. The first one also counts all
 * shorter times, the last one all longer times.
 */
enum { LENT_BUCKETS = 32 };
enum lent_times { LENT_WAITS, LENT_HOLDS, LENT_HANDOVERS, LENT_TIMES };

struct lent_counts {
	uint32_t lock;
	int64_t since_ns; /* when the process lent the record; another time: counts from 0 */
	uint64_t ex, shared; /* grants since then; DF counts as shared */
	uint32_t times[LENT_TIMES][LENT_BUCKETS];
	/* The part that belongs to this frame. */
	bool wrote, read;
	uint32_t frame[LENT_TIMES][LENT_BUCKETS];
};

/* Of one lock space on one node. Both lists are sorted by lock once the sample was read. */
struct lent_samples {
	struct lent_counts *now, *before;
	size_t n_now, n_before, room_now, room_before;
};

/* Returns the counts of a lock in a sorted list, or NULL. */
static inline const struct lent_counts *lent_find(const struct lent_counts *list, size_t n,
						  uint32_t lock)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (list[mid].lock < lock)
			low = mid + 1;
		else
			high = mid;
	}
	return low < n && list[low].lock == lock ? &list[low] : NULL;
}

#endif
