/* SPDX-License-Identifier: MIT */
/*
 * radix_sort.h - sorts many items by a number each.
 *
 * Each number lies beside its item's index. The sort reads nothing else, because the items
 * themselves are far apart in memory.
 */
#ifndef O2TOP_RADIX_SORT_H
#define O2TOP_RADIX_SORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct radix_item {
	uint64_t key;
	uint32_t index;
};

/*
 * Sorts a list by ascending keys. The list is in the order of its indices before, and equal keys
 * stay in this order. Returns 0, or -ENOMEM if nothing was moved.
 */
int radix_sort(struct radix_item *list, size_t n);

/* Does the same, and orders equal keys by compare(), which takes two struct radix_item. */
int radix_sort_by(struct radix_item *list, size_t n,
		  int (*compare)(const void *a, const void *b, void *arg), void *arg);

/*
 * Returns the items, of `size` bytes each, in the order of the list. The list's indices name them.
 * The items are in other memory and the old memory is freed, unless they were in order. Returns
 * NULL without memory; then nothing was moved.
 */
void *radix_arrange(const struct radix_item *list, size_t n, void *items, size_t size);

/* Returns a key by which the greatest number comes first. The number is not NAN. */
static inline uint64_t radix_greatest_first(double v)
{
	uint64_t bits;

	/*
	 * Positive doubles are in the order of their bits. Negative doubles are in the reverse
	 * order.
	 */
	memcpy(&bits, &v, sizeof(bits));
	bits = bits >> 63 ? ~bits : bits | 1ull << 63;
	return ~bits;
}

#endif
