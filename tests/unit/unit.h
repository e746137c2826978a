/* SPDX-License-Identifier: MIT */
/*
 * unit.h - shared by the unit tests: exact copies, changed numbers, random numbers.
 */
#ifndef O2TOP_UNIT_H
#define O2TOP_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Copies a text into memory of exactly its length, so that a sanitizer sees each read behind it. */
static inline char *exact(const char *text, size_t len)
{
	char *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, text, len);
	return copy;
}

/*
 * Replaces the nth number (from 0) of a text by `with`. Returns false if there is no such number.
 */
static inline bool replace_number(const char *text, unsigned n, const char *with, char *out,
				  size_t size)
{
	const char *p = text, *end;

	for (;; p = end) {
		while (*p && !(*p >= '0' && *p <= '9'))
			p++;
		if (!*p)
			return false;
		for (end = p; *end >= '0' && *end <= '9';)
			end++;
		if (!n--)
			break;
	}
	if ((size_t)(p - text) + strlen(with) + strlen(end) >= size)
		return false;
	memcpy(out, text, (size_t)(p - text));
	strcpy(out + (p - text), with);
	strcat(out, end);
	return true;
}

/* Returns the next number of a seeded stream (xorshift64*), the same in every run. */
static inline uint64_t random_u64(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * 0x2545f4914f6cdd1dull;
}

/* Returns a number of any size, not only a huge one: 0, small, the largest. */
static inline uint64_t random_sized(uint64_t *seed, unsigned bits)
{
	uint64_t all = bits == 64 ? UINT64_MAX : (1ull << bits) - 1, v = random_u64(seed);
	unsigned kind = (unsigned)(random_u64(seed) % 16);

	if (kind == 0)
		return 0;
	if (kind == 1)
		return all;
	return (v & all) >> random_u64(seed) % bits;
}

#endif
