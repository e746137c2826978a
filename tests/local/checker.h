/* SPDX-License-Identifier: MIT */
/*
 * checker.h - whether locks exclude, seen from outside: who holds what is written down in memory that
 * the library does not know, which all processes of a test share.
 *
 * Each thread of each worker has a place there. It writes down what it was granted, and looks
 * whether anybody else has written down what must not stand beside it; before it lets go it wipes
 * it out. A worker that is killed leaves what it had written: whoever kills marks its places first.
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
	_Atomic uint64_t value[GLOCKS]; /* what the value block should say */
	_Atomic uint64_t token[GLOCKS]; /* the highest seen */
	_Atomic uint32_t
	    grave[GLOCKS]; /* somebody died who had it in EX, and that is all there is */
	_Atomic uint32_t wrong;
	_Atomic uint32_t stop; /* workers: end */
	_Atomic uint64_t told_of_deaths;
	char what[256];
};

#define CLAIM(glock, mode) (1u << 31 | (uint32_t)(glock) << 8 | (uint32_t)(mode))

/* The memory of that file, made or mapped. */
struct checker *checker_map(const char *path, bool make);

void checker_fail(struct checker *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* What place was granted; and before it is let go. */
void checker_granted(struct checker *c, unsigned int place, struct glock_holder *gh);
void checker_letting_go(struct checker *c, unsigned int place);

/* A worker's whole life: takes locks until it is told to stop. place: the first one of its. */
int worker(const char *space, const char *checker_path, unsigned int place, uint64_t seed);

#endif
