/* SPDX-License-Identifier: MIT */
/* watched.h - a space whose operations note that they ran, for tests of sentences of glock.h. */
#ifndef TESTS_ADVERSARY_WATCHED_H
#define TESTS_ADVERSARY_WATCHED_H

#include "adversary.h"

/* The record of the operations of inodes, and the orders to them. */
struct watched {
	pthread_t unlock, lost, th;
	_Atomic int unlocks, losses, ths, invals;
	_Atomic int order[8]; /* the numbers of the glocks, as they were unlocked */
	int (*_Atomic in_th)(struct glock *of);
	int (*_Atomic in_lock)(struct glock_holder *gh);
	void (*_Atomic in_callback)(struct glock *of);
	void (*_Atomic in_inval)(struct glock *of);
};
extern struct watched did;
extern const struct glock_ops ops; /* they note that they ran, and call the functions of `did` */
extern struct glock *other;        /* another glock of the test */

/* As begin(), with these operations. */
void begin_watched(unsigned int flags);
/* For start(): holds gl in EX. Sets cell 0 then, waits for cell 1, and sets cell 2 before dq. */
void keeps(void *arg);
/* For thread(): lets the holder go. */
void *lets_go(void *gh);
/* A glock_print_fn. */
void drop_text(void *to, const char *text, size_t len);

#endif
