/* SPDX-License-Identifier: MIT */
/* faults.h - the list of src/base/faults.h as a table, for the tests that look for each fault. */
#ifndef TESTS_FAULTS_H
#define TESTS_FAULTS_H

#include "base/faults.h"

enum fault_part { FAULT_IN_LIBRARY, FAULT_IN_FENCE, FAULT_IN_SHORTCUT, FAULT_IN_TABLE };

/* The entry 0 is GLOCK__FAULT_NONE and has no name. */
static const struct fault {
	const char *name;
	const char *what;
	enum fault_part part;
} faults[GLOCK__FAULT_MAX] = {
#define FAULT_ENTRY(where, fault, text) \
	[GLOCK__FAULT_##fault] = {.name = #fault, .what = text, .part = FAULT_IN_##where},
    GLOCK__FAULTS(FAULT_ENTRY)
#undef FAULT_ENTRY
};

#endif
