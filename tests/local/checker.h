/* SPDX-License-Identifier: MIT */
/*
 * checker.h - checks from outside whether locks exclude. All processes of a test share a memory
 * with the claims of holders. The library does not know this memory.
 *
 * Each thread of each worker has a place there. The thread writes its grant as a claim into its
 * place and checks the other places for claims that conflict. Before it drops the lock, it clears
 * its claim. A killed worker leaves its claims, so the killer marks the worker's places as dying
 * first.
 */
#ifndef TESTS_LOCAL_CHECKER_H
#define TESTS_LOCAL_CHECKER_H

#include "glock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { WORKERS = 8, THREADS = 2, GLOCKS = 5, PLACES = 8 * WORKERS * THREADS };

struct place {
	_Atomic uint32_t claim; /* 0, or mode | glock << 8 | 1 << 31 */
	_Atomic uint32_t dying;
	_Atomic uint64_t grants;
	char pad[48];
};

struct checker {
	struct place place[PLACES];
	_Atomic uint64_t value[GLOCKS]; /* the expected contents of the value block */
	_Atomic uint64_t token[GLOCKS]; /* the highest token seen */
	_Atomic uint64_t disk[GLOCKS];  /* the number of changes that were written back */
	_Atomic uint32_t
	    /* the claim of a holder that died in EX, if nothing else of it is left */
	    grave[GLOCKS];
	_Atomic uint32_t wrong;
	_Atomic uint32_t stop; /* workers: end */
	_Atomic uint64_t told_of_deaths;
	char what[256];
};

#define CLAIM(glock, mode) (1u << 31 | (uint32_t)(glock) << 8 | (uint32_t)(mode))

/* Maps the memory of that file. With `make`, creates the file. */
struct checker *checker_map(const char *path, bool make);

void checker_fail(struct checker *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Writes the claim of a place after its grant. checker_letting_go() clears it before the dq. */
void checker_granted(struct checker *c, unsigned int place, struct glock_holder *gh);
void checker_letting_go(struct checker *c, unsigned int place);

/* Runs a worker: takes locks until the test stops it. `place` is the first place of the worker. */
int worker(const char *space, const char *checker_path, unsigned int place, uint64_t seed);

#endif
