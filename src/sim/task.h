/* SPDX-License-Identifier: MIT */
/*
 * task.h - simulated threads: they sleep in virtual time, and are switched at the library's
 * atomics.
 *
 * A task is a fiber on a node. The simulation runs one task after the other. A task runs until one
 * of these events:
 *
 * 1. It sleeps.
 * 2. It waits for a word of memory.
 * 3. It is interrupted at an atomic operation.
 * 4. It is over.
 *
 * A light store (base/atom.h) is delayed, as in a store buffer. It passes a light load, and becomes
 * visible with the next operation of the same task, or with a heavy fence.
 *
 * The simulator supplies all chance, so each run can be repeated.
 *
 * A library that is built with GLOCK_ATOM_HOOKS calls this code. A task may stop at every operation
 * of atom.h. It sleeps with atom_wait and wakes others with atom_wake. Code outside of tasks is
 * never interrupted and cannot wait.
 */
#ifndef GLOCK__TASK_H
#define GLOCK__TASK_H

#include "glock/base/tls.h"
#include "lockman/sim/sim.h"

enum { TASKS_MAX = 256 };

struct task {
	struct fiber *fiber; /* NULL: free */
	void (*fn)(void *arg);
	void *arg;
	unsigned int node;
	unsigned int cpu;
	bool daemon;       /* may wait for ever */
	int64_t at;        /* when it goes on; INT64_MAX: at a wake-up */
	uint32_t *word;    /* the word for which it waits */
	int result;        /* of the wait */
	uint32_t *delayed; /* its last light store, if no other task sees that yet; or NULL */
	uint32_t delayed_value;
	struct glock__tls tls; /* the library's data about this thread */
};

struct tasks {
	struct glock__sim *sim;
	/*
	 * On average, one of that many atomics interrupts; 0: none. One of that many interruptions
	 * is long.
	 */
	unsigned int interrupt, oversleep;
	unsigned int cpus;
	unsigned int used; /* no task from here on */
	struct task task[TASKS_MAX];
	struct glock__tls dead[TASKS_MAX];
	unsigned int n_dead;
	uint32_t budget; /* atomics until the next interruption */
	int32_t numbers; /* given out as thread ids */
	unsigned long switches, waits, wakes;
	const char *trouble; /* an impossible event that happened; NULL: none */
};

/* Makes these the tasks from now on. */
void tasks_open(struct tasks *ts, struct glock__sim *sim);
void tasks_close(struct tasks *ts);

struct task *task_start(unsigned int node, void (*fn)(void *arg), void *arg);
/* Runs the task until it stops. */
void task_run(struct task *t);
/* Returns the time when the task can go on, unless its node is paused. INT64_MAX: at a wake-up. */
int64_t task_at(const struct task *t);
/*
 * Ends a node's tasks for ever. If the node's space is gone, the library's data about them goes,
 * too.
 */
void tasks_kill(unsigned int node);
void tasks_reap(void);
/* Counts a node's tasks, without those that may wait for ever. */
unsigned int tasks_alive(unsigned int node);

/* Makes a sleeping task go on now. */
void task_wake(struct task *t);
/* Waits until that task is over. */
void task_join(const struct task *t);

/* Returns the calling task, or NULL. */
struct task *task_self(void);
/* Sleeps until that time. Outside of tasks it returns immediately. */
void task_sleep(int64_t until);
/*
 * No interruption occurs between task_hold() and task_go(), unless the task has to wait. Returns
 * false if it had to wait.
 */
void task_hold(void);
bool task_go(void);

#endif
