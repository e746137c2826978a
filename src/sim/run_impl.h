/* SPDX-License-Identifier: MIT */
/*
 * run_impl.h - a run of the simulator for programs, from the inside.
 *
 *   run.c       nodes, steps, and the functions of glock-sim.h
 *   recovery.c  the function recover of a program, after deaths
 */
#ifndef GLOCK__SIM_RUN_H
#define GLOCK__SIM_RUN_H

#include "glock-sim.h"
#include "lockman/sim/sim.h"

#include "task.h"

#define MS 1000000ll

enum { WORKERS = 4 };

struct node {
	unsigned int index;
	struct glock_space *space;    /* NULL: not open */
	struct task *worker[WORKERS]; /* threads of the library */
	unsigned int n_workers;
	bool opening;          /* the lock manager has the node, the library not yet */
	bool receiving;        /* a task delivers a message */
	bool runs;             /* its program has not returned */
	unsigned int recovers; /* so many deaths, on tasks of their own */
	int64_t start;         /* when it starts again; INT64_MAX: it runs, or has ended */
};

struct run {
	struct glock_sim_options o;
	struct glock__sim *sim;
	struct tasks tasks;
	struct node node[GLOCK_SIM_NODES];
	uint64_t steps;
	unsigned int deaths;
	struct recovery *recoveries; /* deaths that the program has not recovered */
	size_t picked;               /* the message that comes next */
	char trouble[256];
};

/* Tells whether a node is not ready yet for the news that another one died. */
static inline bool run_any_opening(const struct run *run)
{
	bool any = false;

	for (unsigned int i = 0; i < run->o.nodes; i++)
		any |= run->node[i].opening;
	return any;
}

/* ---- recovery.c ---- */

/* Lets a node recover that death, or lets grants go on. The watcher is the run. */
bool recovery_begin(void *watcher, const struct glock__lm_node *dead);
/* A node has opened the space. A node can now recover the deaths for which no node lived. */
void recovery_opened(struct run *run);
/* A node dies. Another node recovers in its place, once the others know of that death. */
void recovery_killed(struct run *run, const struct node *nd);
/* The run is over. */
void recovery_forget(struct run *run);

#endif
