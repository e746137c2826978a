/* SPDX-License-Identifier: MIT */
/* fake_dlm.h - the controls of fake_dlm.c, the DLM without a kernel. */
#ifndef GLOCK_TESTS_FAKE_DLM_H
#define GLOCK_TESTS_FAKE_DLM_H

#include "lockman/dlm/dlm_cluster.h"

#include <stddef.h>
#include <stdint.h>

/* Returns how often the calling thread wrote to the device or read from it. */
unsigned int glock__fake_dlm_calls(void);
/*
 * Calls `fn` one time, before the next conversion from EX to EX, in the thread that asks for it. If
 * `fn` returns an error, the conversion fails with it.
 */
void glock__fake_dlm_before_mark(int (*fn)(void *arg), void *arg);

/*
 * Sets the members of every lockspace from now on. With n = 0 the members are unknown, as at first.
 */
void glock__fake_dlm_members(const uint32_t *ids, size_t n);

/* Sets the state of the cluster for all nodes. The lockspace runs only while all is well. */
void glock__fake_dlm_state(enum glock__cluster_state state);

#endif
