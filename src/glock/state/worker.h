/* SPDX-License-Identifier: MIT */
/*
 * worker.h - the threads of the library that run the work of a space.
 */
#ifndef GLOCK__WORKER_H
#define GLOCK__WORKER_H

#include "glock/core/internal.h"

/* Starts the first thread of at most `most`. run_due() runs the work. -EAGAIN, -ENOMEM. */
int glock__workers_start(struct glock_space *space, unsigned int most,
			 int (*run_due)(struct glock_space *space));
/* Ends all threads, and waits for them. */
void glock__workers_stop(struct glock_space *space);

/*
 * Called before and after an operation that may block, in any thread. Without a lock. Before the
 * operation of a worker begins, another worker takes over the work that is due.
 */
void glock__worker_op_begins(struct glock_space *space);
void glock__worker_op_ends(struct glock_space *space);

#endif
