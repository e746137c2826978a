/* SPDX-License-Identifier: MIT */
/* small_memory.h - runs a test where memory for spaces is short. */
#ifndef TESTS_LOCAL_SMALL_MEMORY_H
#define TESTS_LOCAL_SMALL_MEMORY_H

/* Skips the test, because this process lacks a capability. */
void skip_for_lack_of(const char *capability);
/*
 * Runs a test in a memory file system of that size. The test has a process of its own, because
 * mounts belong to a process.
 */
void in_small_memory(const char *size, void (*test)(void));

#endif
