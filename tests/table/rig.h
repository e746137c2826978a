/* SPDX-License-Identifier: MIT */
/*
 * rig.h - helps the tests of the lock table.
 *
 * It has a table in memory of its own, calls with usual arguments, and the hook that cuts an
 * operation off.
 */
#ifndef GLOCK_TESTS_TABLE_RIG_H
#define GLOCK_TESTS_TABLE_RIG_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lockman/table/table.h"
#include "lockman/table/table_rules.h"

enum {
	NL = GLOCK__NL,
	CR = GLOCK__CR,
	CW = GLOCK__CW,
	PR = GLOCK__PR,
	PW = GLOCK__PW,
	EX = GLOCK__EX,
};

#define F(flag) GLOCK__LKF_##flag

#define RIG_NODES 4

typedef struct glock__table_event event_t;

struct rig {
	void *mem;
	size_t size;
	struct glock__table *t;
};

void rig_open(struct rig *rig, uint64_t cells, uint32_t flags);
void rig_close(struct rig *rig);

/* Asserts that the table is consistent. */
void rig_check(const struct rig *rig);

/* These calls must be accepted. They return the call's event. */
event_t rig_lock(struct rig *rig, uint32_t node, int mode, uint32_t flags, const char *name);
event_t rig_convert(struct rig *rig, uint64_t lkid, int mode, uint32_t flags);
event_t rig_lock_lvb(struct rig *rig, uint32_t node, int mode, uint32_t flags, const char *name,
		     const char *lvb);
event_t rig_convert_lvb(struct rig *rig, uint64_t lkid, int mode, uint32_t flags, const char *lvb);
event_t rig_unlock(struct rig *rig, uint64_t lkid, uint32_t flags, const char *lvb);

/* Returns the next callback of a node. `what` is 0 if there is none. */
event_t rig_take(struct rig *rig, uint32_t node);
void rig_take_all(struct rig *rig);

/* Asserts that this is the node's next callback. An AST may bring a BAST with it. */
void rig_expect_ast(struct rig *rig, uint32_t node, uint64_t lkid, int mode);
void rig_expect_bast(struct rig *rig, uint32_t node, uint64_t lkid, int bast);
void rig_expect_none(struct rig *rig, uint32_t node);

const struct lock *rig_peek(const struct rig *rig, uint64_t lkid);
struct res *rig_res(const struct rig *rig, const char *name);

/*
 * Stores. rig_stores counts them. Store number rig_cut_at (the first is 0) is not made: it jumps to
 * rig_cut instead. Set rig_cut_at to UINT64_MAX for no cut.
 */
extern uint64_t rig_stores;
extern uint64_t rig_cut_at;
extern jmp_buf rig_cut;
extern uint32_t rig_log_high; /* the most entries that the undo log had */

/* xorshift64: the same numbers everywhere, from a state that must not be 0. */
extern uint64_t rig_random_state;
uint32_t rig_random(uint32_t below);

/* Returns a number from the environment. */
unsigned long rig_setting(const char *name, unsigned long otherwise);

/* Run the tests of test_*.c, by their names. Each returns the number of failures. */
int test_rules(void);
int test_operations(void);
int test_lvb(void);
int test_callbacks(void);
int test_memory(void);
int test_model(void);
int test_cut(void);

#endif
