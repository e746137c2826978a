/* SPDX-License-Identifier: MIT */
/* test_mutants.c - seeds find each mutant whose finder is `etcd`; see mutant.h. */
#include "mutant.h"
#include "sim.h"

#include <stdio.h>

enum { SEEDS = 600, CLEAN = 3, ENDLESS = 60 };

static bool some_seed_fails(const struct mutant *m)
{
	mutant_limit(ENDLESS);
	for (uint64_t i = 1; i <= (m->name ? SEEDS : CLEAN); i++) {
		sim_seed(m->from + i, false);
		if (*sim.trouble) {
			printf("# seed %lu: %s\n", (unsigned long)(m->from + i), sim.trouble);
			return true;
		}
	}
	return false;
}

int main(int argc, char **argv)
{
	return mutants_main(argc, argv, "etcd", some_seed_fails);
}
