/* SPDX-License-Identifier: MIT */
/* hash.h - the hash of Fowler, Noll and Vo of bytes, FNV-1a with 64 bits. */
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

#endif
