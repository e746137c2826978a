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
 * A list that is in the order of its indices, in ascending order of its keys; equal ones stay in
 * that of their indices. 0 or -ENOMEM: nothing was moved.
 */
int radix_sort(struct radix_item *list, size_t n);

/* The same, and whoever is equal by key in the order that compare() says of two struct radix_item.
 */
int radix_sort_by(struct radix_item *list, size_t n,
		  int (*compare)(const void *a, const void *b, void *arg), void *arg);

/*
 * What the list's indices tell of, items of that size, in the list's order: in other memory, and
 * the old is freed, unless they are in order. NULL: no memory, nothing was moved.
 */
void *radix_arrange(const struct radix_item *list, size_t n, void *items, size_t size);

/* A key by which the greatest number comes first; no number is NAN. */
static inline uint64_t radix_greatest_first(double v)
{
	uint64_t bits;

	/* of one sign doubles are in the order of their bits, of negative ones the other way round
	 */
	memcpy(&bits, &v, sizeof(bits));
	bits = bits >> 63 ? ~bits : bits | 1ull << 63;
	return ~bits;
}

#endif
