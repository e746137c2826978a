/* SPDX-License-Identifier: MIT */
/*
 * fiber.h - functions that can stop in the middle and be gone on with later, in one thread.
 *
 * Whoever calls fiber_run() is outside; fiber_leave() goes back there. A fiber that is given up
 * in the middle just never goes on: what it had on its stack is forgotten.
 */
#ifndef TESTS_SIM_FIBER_H
#define TESTS_SIM_FIBER_H

#include <stdbool.h>

struct fiber;

struct fiber *fiber_new(void (*fn)(void *arg), void *arg);
/* Until it leaves or is over. False: it is over. */
bool fiber_run(struct fiber *f);
/* From inside: back to whoever runs it. */
void fiber_leave(void);
/* Whether the caller is inside of one. */
bool fiber_inside(void);
/* Its stack is kept for another. */
void fiber_free(struct fiber *f);

#endif
