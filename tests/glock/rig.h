/* SPDX-License-Identifier: MIT */
/*
 * rig.h - a space on a bench: the test is the clock, the lock manager and the other nodes.
 *
 * Requests to the lock manager are kept until the test answers them. Whatever happens is written
 * into a log, as words, that the test compares: requests as in "ask:PR", "convert:EX:quecvt",
 * "try:EX", "cancel", "unlock"; operations as in "th:UN:3", "inval:3", "lock", "demote_ok".
 */
#ifndef TESTS_GLOCK_RIG_H
#define TESTS_GLOCK_RIG_H

#include "glock/core/internal.h"

#include "check.h"

#define RIG_MS 1000000ll

struct rig {
	struct glock__lockman lm;
	struct glock_space *space;
	int64_t now;
	unsigned int looks; /* at the clock */
	struct glock__lm_lock *open; /* the request that waits for an answer */
	int asked_mode;
	char log[4096];
	char messages[4096];
	unsigned int n_messages;
	int th_error, bh_error, lock_error, demote_ok;
	int refuse; /* lock() says this */
	bool answer_at_once;
	void (*in_op)(const char *op, struct glock *gl, struct glock_holder *gh);
};

extern struct rig rig;
extern struct glock__mem *rig_mem; /* where spaces that are opened publish; NULL */

/* The operations above on types INODE, RGRP and JOURNAL; flags on top of DISPATCH. */
void rig_open(unsigned int flags);
void rig_open_with(struct glock_space_options *options);
void rig_close(void); /* everything must be let go by now */

/* Around each test that needs no more than that. */
int rig_setup(void **state);
int rig_teardown(void **state);
#define RIG_TEST(fn) cmocka_unit_test_setup_teardown(fn, rig_setup, rig_teardown)

void rig_run(void); /* the work that is due */
void rig_pass(int64_t ns);
void rig_answer(int status); /* and the work */
void rig_bast(struct glock *gl, int dlm_mode);

/* The log since the last time, which must be this. */
void rig_expect(const char *log);
/* The messages since the last time must contain this. */
void rig_expect_message(const char *part);

struct glock *rig_glock(unsigned int type, uint64_t number);
/* Asks asynchronously, and the work. */
void rig_nq(struct glock_holder *gh, struct glock *gl, enum glock_mode mode, unsigned int flags);
/* The same, with the lock manager's yes, which must make it granted. */
void rig_hold(struct glock_holder *gh, struct glock *gl, enum glock_mode mode, unsigned int flags);
void rig_dq(struct glock_holder *gh); /* and the work */
/* Held in EX, let go, and its hold time is over. */
void rig_leave_cached(struct glock_holder *gh, struct glock *gl);

#endif
