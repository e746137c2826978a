/* SPDX-License-Identifier: MIT */
/*
 * processes.h - what benchmarks of locks share that several processes take: processes that begin together,
 * what they share, a cached pair and a hand-over of a glock.
 *
 * A hand-over. Two processes want one lock in EX all the time, with nothing to do while they have
 * it: each asks for it once more before it lets go, so that there always is somebody to hand it to.
 */
#ifndef BENCH_PROCESSES_H
#define BENCH_PROCESSES_H

#include "glock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PAIRS = 200000, HAND_OVERS = 10000 };

struct word {
	_Alignas(64) uint32_t value;
};

/* What the processes of one measurement share; zeros when they begin. */
struct together {
	struct word ready, stop, last, changes;
	double took; /* ns, of what was measured; process 0 or the last one says it */
};
extern struct together *together;

/* Ends the program if not. */
void must(bool ok, const char *what);
double now(void); /* ns */
/* Memory that children share. */
void *shared(size_t size);
uint32_t get(struct word *w);
void set(struct word *w, uint32_t value);
double median(double *v, int n);

/* Runs fn(i, n) in n processes, process i on CPU cpu[i] (NULL: anywhere); the CPU time of all, ns. */
typedef void process_fn(uint32_t i, uint32_t n);
double run(uint32_t n, const int *cpu, process_fn *fn);
/* In each of them: until all are there. */
void wait_for_all(uint32_t n);
/* Process i has what they pass on; how often it changed hands. */
uint32_t has_it(uint32_t i);

/* ---- glocks, n of them from that number on, with no hold time ---- */

extern struct glock *gl[4];
void open_glocks(unsigned int first, unsigned int n);
void close_glocks(unsigned int n);

/* Of the first of them, EX: the next request is queued before the one that is granted is let go. */
struct ahead {
	struct glock_holder gh[2];
	int at;
};
void ahead_begin(struct ahead *a); /* the first request */
void ahead_wait(struct ahead *a);  /* until it is granted */
void ahead_ask(struct ahead *a);   /* the next one */
void ahead_let_go(struct ahead *a);
void ahead_end(struct ahead *a); /* takes back the request that is left */

void pairs_of_glock(uint32_t i, uint32_t n);  /* each has its own */
void hand_over_glock(uint32_t i, uint32_t n); /* of two */

#endif
