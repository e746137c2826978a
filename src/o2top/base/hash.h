/* SPDX-License-Identifier: MIT */
/* hash.h - hashes of bytes (FNV-1a with 64 bits) and of numbers. */
#ifndef O2TOP_HASH_H
#define O2TOP_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_FIRST UINT64_C(0xcbf29ce484222325)

/* Returns the hash of what `hash` has, or HASH_FIRST, and of these bytes behind it. */
static inline uint64_t hash_more(uint64_t hash, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/*
 * Another user or a hostile node chooses the numbers of locks and the texts of lines. With a hash
 * that is known, all of them could lead to one slot, and each search would take a step for each.
 * Therefore tables of such things use this random number.
 */
extern uint64_t hash_seed;

static inline uint64_t hash_number(uint64_t number)
{
	uint64_t h = (number ^ hash_seed) * UINT64_C(0x9e3779b97f4a7c15);

	h = (h ^ h >> 32) * (hash_seed | 1);
	return h ^ h >> 32;
}

#endif
