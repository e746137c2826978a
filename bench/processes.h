/* SPDX-License-Identifier: MIT */
/*
 * processes.h - helps benchmarks of locks among several processes.
 *
 * The processes start together and share memory. The helpers measure a cached pair and a hand-over
 * of a glock. In a hand-over, two processes want one lock in EX all the time, without work under
 * it. Each queues its next request before its release, so the lock always has a waiter.
 */
#ifndef BENCH_PROCESSES_H
#define BENCH_PROCESSES_H

#include "glock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PAIRS = 200000 };
extern uint32_t hand_overs; /* of each process; 10000 */

struct word {
	_Alignas(64) uint32_t value;
};

/* Shared by the processes of one measurement, all zero at the start. */
struct together {
	struct word ready, stop, last, changes;
	double took; /* ns, of the measured part; process 0 or the last one stores it */
};
extern struct together *together;

/* Ends the program if not ok. */
void must(bool ok, const char *what);
double now(void); /* ns */
/* Returns memory that children share. */
void *shared(size_t size);
uint32_t get(struct word *w);
void set(struct word *w, uint32_t value);
double median(double *v, int n);

/*
 * Runs fn(i, n) in n processes, process i on CPU cpu[i] (NULL: anywhere). Returns the CPU time of
 * all, in ns.
 */
typedef void process_fn(uint32_t i, uint32_t n);
double run(uint32_t n, const int *cpu, process_fn *fn);
/* Waits in each process until all are there. */
void wait_for_all(uint32_t n);
/* Notes that process i has the lock. Returns how often the lock changed its process. */
uint32_t has_it(uint32_t i);

/* ---- n glocks, numbered from the first one, without a hold time ---- */

extern struct glock *gl[4];
void open_glocks(unsigned int first, unsigned int n);
void close_glocks(unsigned int n);

/* Of the first glock, in EX: queues the next request before the granted one is released. */
struct ahead {
	struct glock_holder gh[2];
	int at;
};
void ahead_begin(struct ahead *a); /* the first request */
void ahead_wait(struct ahead *a);  /* until it is granted */
void ahead_ask(struct ahead *a);   /* the next one */
void ahead_let_go(struct ahead *a);
void ahead_end(struct ahead *a); /* cancels the request that is left */

void pairs_of_glock(uint32_t i, uint32_t n);  /* each process has its own glock */
void hand_over_glock(uint32_t i, uint32_t n); /* between two processes */

#endif
