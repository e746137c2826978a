/* SPDX-License-Identifier: MIT */
/*
 * load.h - a load on one glock of a simulated cluster: the library itself, in virtual time.
 *
 * Each node has some threads. A thread asks for the glock, uses it, lets it go, and does other work
 * for a while. The library runs unchanged on the lock manager sim. Each thread is a fiber, which
 * sleeps in virtual time.
 */
#ifndef BENCH_HOLD_LOAD_H
#define BENCH_HOLD_LOAD_H

#include <stdbool.h>
#include <stdint.h>

/* How the gaps between two uses follow each other. */
enum arrivals {
	EXPONENTIAL, /* gaps and uses are exponential */
	CONSTANT,
	BURSTS, /* 8 uses with an eighth of the gap, then a long gap; the mean is the same */
	PHASES, /* the gap of a node alternates every second, exponential */
	ARRIVALS,
	TENS = ARRIVALS, /* 10 uses without a gap, then an exponential gap */
	POLLED,      /* a queue: even nodes put, odd nodes take, each after an exponential gap */
	POLLED_SAID, /* the same, and the program says that a look was in vain */
	ARRIVALS_ALL,
};

struct cell {
	unsigned int nodes, threads; /* threads of each node */
	int64_t gap, use;            /* ns, means */
	int64_t other_gap;           /* of each other second; of a queue after a look in vain */
	int64_t hand_over;           /* ns: from the end of a use to one on another node */
	double sh;                   /* the share of uses in SH; the others are in EX */
	double io;                   /* the share of hand_over in xmote_th and instantiate */
	enum arrivals arrivals;
	uint64_t seed;
};

enum policy {
	FIXED, /* the hold time is `hold` */
	OURS,  /* the default of the library */
	GFS2,  /* the profile linux-6.1 */
	POLICIES,
};

struct run {
	enum policy policy;
	int64_t hold;
	int64_t warm;      /* ns of virtual time that do not count */
	int64_t until;     /* ns after that; or */
	uint64_t uses_max; /* so many uses */
	int64_t bound;     /* hold_max of the type; 0: the default */
};

struct outcome {
	double per_s;   /* uses a second */
	double p99;     /* ns: waits of requests that waited for the lock manager */
	double longest; /* ns */
	double least;   /* uses of the unluckiest node, by the mean of all nodes */
	uint64_t uses, waits;
};

struct outcome load_run(const struct cell *cell, const struct run *run);

#endif
