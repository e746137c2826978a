/* SPDX-License-Identifier: MIT */
/* hash.c - the number that makes this process's hashes differ from those of any other process. */
#include "hash.h"

#include <sys/random.h>
#include <unistd.h>

uint64_t hash_seed;

__attribute__((constructor)) static void hash_begin(void)
{
	if (getrandom(&hash_seed, sizeof(hash_seed), GRND_NONBLOCK) != sizeof(hash_seed))
		hash_seed = (uint64_t)getpid();
}
