/* SPDX-License-Identifier: MIT */
/*
 * fiber.h - functions that can stop in the middle and go on later, in one thread.
 *
 * The caller of fiber_run() is outside, and fiber_leave() returns there. A fiber that is given up
 * in the middle never goes on, and the contents of its stack are forgotten.
 */
#ifndef GLOCK__FIBER_H
#define GLOCK__FIBER_H

#include <stdbool.h>

struct fiber;

struct fiber *fiber_new(void (*fn)(void *arg), void *arg);
/* Runs the fiber until it leaves or is over. Returns false if it is over. */
bool fiber_run(struct fiber *f);
/* Returns from the inside to the caller of fiber_run(). */
void fiber_leave(void);
/* Tells whether the caller is inside a fiber. */
bool fiber_inside(void);
/* Gives up a fiber. Its stack is kept for another one. */
void fiber_free(struct fiber *f);

#endif
