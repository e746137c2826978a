/* SPDX-License-Identifier: MIT */
/*
 * test_mutants.c - the random schedules find each mutant of the library whose finder is `sim`; see
 * mutant.h.
 */
#include "mutant.h"
#include "world.h"

/* Schedules of a search, and without a mutant; seconds of CPU for one, and for a whole search. */
enum { SCHEDULES = 12000, CLEAN = 1000, ENDLESS = 20, SECONDS = 100 };

static bool seed_fails(uint64_t seed)
{
	static struct world w;

	mutant_limit(ENDLESS);
	world_open_seed(&w, seed / 2, seed % 2);
	if (world_run(&w, seed % 2 ? 1500 : 300))
		world_settle(&w);
	world_close(&w);
	if (*w.trouble)
		printf("# seed %lu: %s\n", (unsigned long)seed, w.trouble);
	return *w.trouble;
}

/* A mutant that shows rarely has a seed near its find. If it moved, the search begins anew. */
static bool some_seed_fails(const struct mutant *m)
{
	const uint64_t n = m->name ? SCHEDULES : CLEAN;

	for (uint64_t i = 1; i <= n; i++)
		if (seed_fails(m->from + i))
			return true;
	for (uint64_t i = 1; m->from && mutant_seconds() < SECONDS; i++)
		if (seed_fails(i <= m->from ? i : i + n))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	return mutants_main(argc, argv, "sim", some_seed_fails);
}
