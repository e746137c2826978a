/* SPDX-License-Identifier: MIT */
/*
 * mutant.h - mutants behind a switch: one copy of the sources has all of them.
 *
 * switched.py writes the copy and the list of mutants. MUTANT(N) stands in the copy alone, and is
 * true if mutant N is chosen. Each file of the copy begins with this header.
 */
#ifndef TESTS_MUTANT_H
#define TESTS_MUTANT_H

#include <stdbool.h>

extern int glock__mutant; /* the chosen one; 0: none */
#define MUTANT(n) (__builtin_expect(glock__mutant == (n), 0))

struct mutant {
	const char *name, *what;
	const char *finder;
	unsigned long from; /* where the finder begins */
};

extern const struct mutant mutants[]; /* from 1 on */
extern const int mutants_end;

/* Returns the number of the mutant with that name, or 0. */
int mutant_named(const char *name);

/*
 * Runs look(m) for each mutant of the finder, in a process of its own, with the mutant chosen. The
 * mutant is found if look() returns true, or if the process crashes. look(&mutants[0]) runs first,
 * without a mutant, and must find nothing. Prints TAP. Returns the status of the program.
 *
 * With an argument the program looks for this mutant alone and keeps the output.
 */
int mutants_main(int argc, char **argv, const char *finder, bool (*look)(const struct mutant *m));

/* From now on the process may take so many seconds of CPU. A mutant that takes more is found. */
void mutant_limit(int seconds);
/* Returns the CPU time of this process, in seconds. */
double mutant_seconds(void);

#endif
