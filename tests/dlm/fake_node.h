/* SPDX-License-Identifier: MIT */
/* fake_node.h - nodes of the DLM of fake_dlm.c, with a clock and threads that a test controls. */
#ifndef GLOCK_TESTS_FAKE_NODE_H
#define GLOCK_TESTS_FAKE_NODE_H

#include "glock.h"
#include "glock/core/internal.h"
#include "glock/state/show.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { TYPE = GLOCK_TYPE_OWN };

int64_t now(void);

/* The messages of all nodes. Each goes to standard error, too. */
void say(void *arg, const char *message);
void forget_messages(void);
bool was_said(const char *text);
bool is_said(const char *text); /* waits for it, up to 10 s */

/* From now on the time of day of all nodes is ahead, or no thread can start. */
void clock_is_ahead(int64_t seconds);
void threads_can_start(bool can);

typedef void recover_fn(void *arg, const struct glock_node *dead);

/* Opens a space, which is a node. */
struct glock_space *node_that(unsigned int flags, const struct glock_ops *ops, recover_fn *recover,
			      void *arg);
struct glock_space *node_with(unsigned int flags, const struct glock_ops *ops);
struct glock_space *node(unsigned int flags);
/* Puts the glock and closes the space. */
void leave(struct glock_space *space, struct glock *gl);

/* Takes and drops the lock. `died` is the expected answer of glock_owner_died(). */
void take(struct glock *gl, enum glock_mode mode, unsigned int flags, int died);

#endif
