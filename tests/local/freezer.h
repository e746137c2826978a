/* SPDX-License-Identifier: MIT */
/*
 * freezer.h - control groups that freeze processes, of each version that this machine has.
 */
#ifndef TESTS_LOCAL_FREEZER_H
#define TESTS_LOCAL_FREEZER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct freezer {
	char dir[256];
	bool v2;
};

enum { FREEZERS = 2 };

/* Makes a group of this test in each hierarchy. Returns their number: 0 without root. */
size_t freezers_make(struct freezer f[FREEZERS]);
bool freezer_add(const struct freezer *f, pid_t pid);
bool freezer_freeze(const struct freezer *f, bool on);
bool freezer_is_frozen(const struct freezer *f);
/*
 * Starts a process that thaws and removes the groups once this process has ended or has closed
 * *guarded. A frozen process could not be killed.
 */
pid_t freezers_guard(const struct freezer *f, size_t n, int *guarded);

#endif
