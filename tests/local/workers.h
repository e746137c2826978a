/* SPDX-License-Identifier: MIT */
/*
 * workers.h - processes that work with the locks of one space while a test does harm to them. A
 * worker is the test itself with the arguments "worker", and those of worker() in checker.h.
 */
#ifndef TESTS_LOCAL_WORKERS_H
#define TESTS_LOCAL_WORKERS_H

#include "checker.h"

extern struct checker *c;
extern pid_t workers[WORKERS];

/* Starts all workers in the space of that name. */
void begin(const char *space);
/* Starts the worker with that index, in place of one that has ended. */
void spawn(unsigned int index);
/* Waits until that worker gets a lock, beyond `before` grants. */
void gets_one(unsigned int index, uint64_t before);
/* Waits until each living worker gets one more lock. */
void all_go_on(void);
/* Waits until that worker has a lock in EX, for a limited time. */
void has_one_in_ex(unsigned int index);
/* Marks the worker's places as dying, and kills the worker. */
void kill_worker(unsigned int index);
/* Fails if a worker found a mistake. */
void check(void);
void pause_us(unsigned int us);
/* Ends all workers. Nothing of them may be left in the space. */
void end(void);

#endif
