/* SPDX-License-Identifier: MIT */
/*
 * rig.h - a space on a bench: the test is the clock, the lock manager and the other nodes.
 *
 * The rig keeps requests to the lock manager until the test answers them. It writes each event as a
 * word into a log, which the test compares. Requests are such as "ask:PR", "convert:EX:quecvt",
 * "try:EX", "cancel", "unlock". Operations are such as "th:UN:3", "inval:3", "lock", "demote_ok".
 */
#ifndef TESTS_GLOCK_RIG_H
#define TESTS_GLOCK_RIG_H

#include "glock/core/internal.h"
#include "glock/state/show.h"
#include "inside.h"

#include "check.h"

#define RIG_MS 1000000ll
#define RIG_READ_IN 12     /* a type with instantiate */
#define RIG_UNLOCK_ONLY 13 /* a type with unlock and no lock operation */

struct rig {
	struct glock__lockman lm;
	struct glock_space *space;
	int64_t now;
	unsigned int looks;          /* readings of the clock */
	struct glock__lm_lock *open; /* the request that has no answer yet */
	int asked_mode;
	char log[4096];
	char messages[4096];
	unsigned int n_messages;
	int th_error, bh_error, lock_error, instantiate_error, demote_ok;
	unsigned long pages;
	int refuse;   /* the result of lock() */
	int64_t room; /* the result of make_room() */
	bool answer_at_once;
	bool answer_in_cancel; /* with a grant, and the work runs then */
	bool refuse_cancel;
	void (*in_op)(const char *op, struct glock *gl, struct glock_holder *gh);
};

extern struct rig rig;
extern struct glock__mem *rig_mem; /* NULL, or the memory in which opened spaces publish */

/*
 * Opens a space with the operations above on the types INODE, RGRP and JOURNAL. The types
 * RIG_READ_IN and RIG_UNLOCK_ONLY have few operations. GFS2's types have a hold time of 200 ms.
 * `flags` are added to DISPATCH. Options with types of their own keep these.
 */
void rig_open(unsigned int flags);
void rig_open_with(struct glock_space_options *options);
void rig_close(void); /* all holders and references must be gone */

/* Setup and teardown of a test that needs no more than this. */
int rig_setup(void **state);
int rig_teardown(void **state);
#define RIG_TEST(fn) cmocka_unit_test_setup_teardown(fn, rig_setup, rig_teardown)

void rig_run(void); /* runs the work that is due */
void rig_pass(int64_t ns);
void rig_answer(int status); /* and runs the work */
void rig_bast(struct glock *gl, int dlm_mode);

/* Compares the log since the last call. */
void rig_expect(const char *log);
/* Fails unless the messages since the last call contain this. */
void rig_expect_message(const char *part);

struct glock *rig_glock(unsigned int type, uint64_t number);
/* Asks asynchronously and runs the work. */
void rig_nq(struct glock_holder *gh, struct glock *gl, enum glock_mode mode, unsigned int flags);
/* The same, and the lock manager grants the request. The holder must then be granted. */
void rig_hold(struct glock_holder *gh, struct glock *gl, enum glock_mode mode, unsigned int flags);
void rig_dq(struct glock_holder *gh); /* and runs the work */
/* Takes EX and drops it. Its hold time is over then. */
void rig_leave_cached(struct glock_holder *gh, struct glock *gl);

#endif
