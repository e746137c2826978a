/* SPDX-License-Identifier: MIT */
/*
 * glock-sim.h - a cluster in one process, to test the lock operations of a program.
 *
 * A test links with libglock-sim instead of libglock:
 *
 *	cc test.c $(pkg-config --cflags --libs glock-sim) -o test
 *
 * The test gives a function that is the program of a node. The simulator runs that function on
 * each node, and calls a check of the test after each step. Inside, the program calls the functions
 * of glock.h as usual. glock_space_open() opens a space that all simulated nodes share, whatever
 * lock manager the options name. examples/simulate.c is such a test.
 *
 * All threads of all nodes run in the one thread that calls glock_sim_run(), one after the other.
 * A thread goes on until it waits in the library, sleeps in glock_sim_sleep(), or is interrupted.
 * An interruption happens only inside a function of the library. Times are ns of a clock that
 * stands still while a thread runs. glock_wait() takes its deadline from that clock. The seed
 * decides each interruption, each delay of a message and each death. So a run with the same seed
 * goes the same way. The program must use no other chance, time or address.
 *
 * A simulated program must not:
 *   - use more than 200 KiB of stack;
 *   - keep a mutex across a call of the library, because another thread would wait for ever;
 *   - open a space with GLOCK_SPACE_DISPATCH (-EOPNOTSUPP).
 * The simulator has no machines: glock_token() returns -EOPNOTSUPP.
 */
#ifndef GLOCK_SIM_H
#define GLOCK_SIM_H

#include <glock.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

#define GLOCK_SIM_NODES 8    /* at most */
#define GLOCK_SIM_THREADS 64 /* at most, of all nodes, at one time */

struct glock_sim_options {
	size_t size;        /* sizeof(struct glock_sim_options) */
	uint64_t seed;      /* any number */
	unsigned int nodes; /* 1 to GLOCK_SIM_NODES */
	/*
	 * The simulator kills nodes at random moments, at most so many times. The threads of the
	 * node stop for ever. Their stacks and the space of the node are gone. The other nodes
	 * notice the death later. One of them calls recover, if its space has that function. The
	 * dead node then starts anew, as another member.
	 */
	unsigned int deaths;
	uint64_t steps; /* the run ends with -ETIME after so many steps; 0: 1,000,000 */
	/*
	 * The program of a node, called once for each start of the node. It opens the space, uses
	 * locks, closes the space and returns 0. Any other result ends the run.
	 */
	int (*node)(void *arg, unsigned int node);
	/*
	 * Called after each step, under no lock, and outside of all nodes. Returns NULL, or what is
	 * wrong: that ends the run. It must not call functions of glock.h. NULL: no check.
	 */
	const char *(*check)(void *arg);
	/* Called when a node has died, before any other node runs. Frees what the node had. */
	void (*died)(void *arg, unsigned int node);
	/* Told what went wrong, with the seed, the step and the time. NULL: no messages. */
	void (*log)(void *arg, const char *message);
	void *arg;
};

/*
 * Runs the nodes until all of them have returned. Waits for nothing but its own work. One run at a
 * time in a process, on one thread.
 *   0         each node returned 0, and each check was right
 *   -EINVAL   options
 *   -EBUSY    called inside a simulation
 *   -EUCLEAN  check or glock_sim_fail() found something wrong, or a node returned an error
 *   -EDEADLK  nothing can happen any more: the threads that are left wait for each other
 *   -ETIME    too many steps
 */
int glock_sim_run(const struct glock_sim_options *options);

/* ---- inside a node ---- */

/* Return the node of the calling thread, and the time of the simulation. At once. */
unsigned int glock_sim_node(void);
int64_t glock_sim_now(void);

/* Returns a number below n that follows from the seed. At once. */
uint32_t glock_sim_random(uint32_t n);

/* Waits for that time of the simulation. Other threads run meanwhile. */
void glock_sim_sleep(int64_t ns);

/*
 * Starts another thread on the node of the caller. The run also waits for its end. At once.
 * -EAGAIN: there are too many threads.
 */
int glock_sim_thread(void (*fn)(void *arg), void *arg);

/* Ends the run with -EUCLEAN and this message, once the calling thread stops. At once. */
void glock_sim_fail(const char *message);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
