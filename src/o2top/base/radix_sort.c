/* SPDX-License-Identifier: MIT */
/*
 * radix_sort.c - a radix sort of keys, the lowest digit first.
 *
 * A digit that is equal in all keys costs nothing. Inode numbers therefore take two or three passes
 * of at most six.
 */
#include "radix_sort.h"

#include <errno.h>

enum { DIGIT_BITS = 11, DIGITS = (64 + DIGIT_BITS - 1) / DIGIT_BITS, VALUES = 1 << DIGIT_BITS };

/* With fewer items, comparing is faster than counting. */
enum { FEW = 512 };

enum { AHEAD = 8 }; /* items */

static int by_key(const void *a, const void *b)
{
	const struct radix_item *x = a, *y = b;
	int c = (x->key > y->key) - (x->key < y->key);

	return c ? c : (x->index > y->index) - (x->index < y->index);
}

static unsigned digit(uint64_t key, unsigned nth)
{
	return (unsigned)(key >> nth * DIGIT_BITS) & (VALUES - 1);
}

/*
 * Moves all items from one list to the other, in the order of a digit. Returns false if the digit
 * is the same for all.
 */
static bool turn(struct radix_item *to, const struct radix_item *from, size_t n, unsigned nth,
		 uint32_t counts[VALUES])
{
	uint32_t at = 0;

	if (counts[digit(from[0].key, nth)] == n)
		return false;
	for (unsigned i = 0; i < VALUES; i++) {
		uint32_t count = counts[i];

		counts[i] = at;
		at += count;
	}
	for (size_t i = 0; i < n; i++)
		to[counts[digit(from[i].key, nth)]++] = from[i];
	return true;
}

int radix_sort(struct radix_item *list, size_t n)
{
	struct radix_item *other, *from = list, *to;
	uint32_t(*counts)[VALUES];

	if (n < FEW) {
		qsort(list, n, sizeof(*list), by_key);
		return 0;
	}
	other = to = malloc(n * sizeof(*other));
	counts = calloc(DIGITS, sizeof(*counts));
	if (!other || !counts) {
		free(other);
		free(counts);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		for (unsigned j = 0; j < DIGITS; j++)
			counts[j][digit(list[i].key, j)]++;
	for (unsigned i = 0; i < DIGITS; i++)
		if (turn(to, from, n, i, counts[i])) {
			struct radix_item *was = from;

			from = to;
			to = was;
		}
	if (from != list)
		memcpy(list, from, n * sizeof(*list));
	free(other);
	free(counts);
	return 0;
}

int radix_sort_by(struct radix_item *list, size_t n,
		  int (*compare)(const void *a, const void *b, void *arg), void *arg)
{
	int err = radix_sort(list, n);

	for (size_t i = 0, same; i < n && !err; i += same) {
		for (same = 1; i + same < n && list[i + same].key == list[i].key;)
			same++;
		if (same > 1)
			qsort_r(list + i, same, sizeof(*list), compare, arg);
	}
	return err;
}

/* Asks for the memory of an item early enough. */
static void fetch(const unsigned char *item, size_t size)
{
	for (size_t i = 0; i < size; i += 64)
		__builtin_prefetch(item + i);
}

void *radix_arrange(const struct radix_item *list, size_t n, void *items, size_t size)
{
	const unsigned char *from = items;
	unsigned char *to;
	size_t same = 0;

	while (same < n && list[same].index == same)
		same++;
	if (same == n)
		return items;
	to = malloc(n * size);
	if (!to)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		if (i + AHEAD < n)
			fetch(from + list[i + AHEAD].index * size, size);
		memcpy(to + i * size, from + list[i].index * size, size);
	}
	free(items);
	return to;
}
