/* SPDX-License-Identifier: MIT */
/*
 * task.h - simulated threads: they sleep in virtual time, and are switched at the library's atomics.
 *
 * A task is a fiber on a node. Whoever owns the simulation runs one after the other, until it
 * sleeps, waits for a word of memory, is interrupted at an atomic operation, or is over. Chance is
 * the simulator's, so that a run can be had again.
 *
 * This is where a library built with GLOCK_ATOM_HOOKS ends up: every operation of atom.h may be
 * where a task stops, and atom_wait and atom_wake are how it sleeps and wakes others. What runs
 * outside of tasks is never interrupted and cannot wait.
 */
#ifndef TESTS_SIM_TASK_H
#define TESTS_SIM_TASK_H

#include "glock/base/tls.h"
#include "lockman/sim/sim.h"

enum { TASKS_MAX = 192 };

struct task {
	struct fiber *fiber; /* NULL: free */
	void (*fn)(void *arg);
	void *arg;
	unsigned int node;
	unsigned int cpu;
	bool daemon;             /* may wait for ever */
	int64_t at;              /* when it goes on; INT64_MAX: when it is woken */
	uint32_t *word;          /* what it waits for */
	int result;              /* of waiting */
	struct glock__tls tls; /* what the library knows of it */
};

struct tasks {
	struct glock__sim *sim;
	/* One atomic of so many, in the mean, interrupts; 0: none. One interruption of so many
	 * is long. */
	unsigned int interrupt, oversleep;
	unsigned int cpus;
	unsigned int used; /* no task from here on */
	struct task task[TASKS_MAX];
	struct glock__tls dead[TASKS_MAX];
	unsigned int n_dead;
	uint32_t budget; /* atomics until the next interruption */
	int32_t numbers; /* given out as thread ids */
	unsigned long switches, waits, wakes;
	const char *trouble; /* what went wrong that cannot be; NULL: nothing */
};

/* From now on these are the ones. */
void tasks_open(struct tasks *ts, struct glock__sim *sim);
void tasks_close(struct tasks *ts);

struct task *task_start(unsigned int node, void (*fn)(void *arg), void *arg);
/* Until it stops. */
void task_run(struct task *t);
/* When it can go on, but for its node's being paused; INT64_MAX: when somebody wakes it. */
int64_t task_at(const struct task *t);
/* A node's tasks never go on; and, when its space is gone, what the library knew of them goes. */
void tasks_kill(unsigned int node);
void tasks_reap(void);
/* Of a node; but for those that may wait for ever. */
unsigned int tasks_alive(unsigned int node);

/* One that sleeps goes on now. */
void task_wake(struct task *t);
/* Until that task is over. */
void task_join(const struct task *t);

/* The caller, or NULL. */
struct task *task_self(void);
/* It sleeps; outside of tasks it does not. */
void task_sleep(int64_t until);
/* What is between the two is not interrupted, unless it has to wait. False: it had to. */
void task_hold(void);
bool task_go(void);

#endif
