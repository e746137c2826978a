/* SPDX-License-Identifier: MIT */
/*
 * fake_dlm.h - what a test may ask of the DLM without a kernel, which is in fake_dlm.c.
 */
#ifndef GLOCK_TESTS_FAKE_DLM_H
#define GLOCK_TESTS_FAKE_DLM_H

#include <stddef.h>
#include <stdint.h>

/* How often the calling thread has written to the device or read from it. */
unsigned int glock__fake_dlm_calls(void);
/* Once, before the next conversion from EX to EX, in the thread that asks for it: not 0: its error. */
void glock__fake_dlm_before_mark(int (*fn)(void *arg), void *arg);

/* Who is a member of every lockspace from now on; 0 of them: that cannot be told, as at first. */
void glock__fake_dlm_members(const uint32_t *ids, size_t n);

#endif
