/* SPDX-License-Identifier: MIT */
/*
 * test_sim.c - seeds of the simulated etcd; see sim.h.
 *
 * Usage: test_sim SECONDS (of CPU time), or test_sim seed N, which prints all that happens.
 */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double cpu_seconds(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

int main(int argc, char **argv)
{
	double limit = argc > 1 ? atof(argv[1]) : 5;
	uint64_t seed = 0;

	if (argc > 2) {
		sim_seed(strtoull(argv[2], NULL, 10), !strcmp(argv[1], "seed"));
		printf("%s\n", sim.trouble);
		return *sim.trouble != 0;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	do
		sim_seed(++seed, false);
	while (!*sim.trouble && cpu_seconds() < limit);
	if (*sim.trouble)
		printf("# %s\n# repeat: %s seed %lu\n", sim.trouble, argv[0], (unsigned long)seed);
	printf("%sok 1 - %lu seeds\n1..1\n", *sim.trouble ? "not " : "", (unsigned long)seed);
	return *sim.trouble != 0;
}
