/* SPDX-License-Identifier: MIT */
/* opening.h - opens a space in a process that then ends, and names the files of spaces. */
#ifndef TESTS_LOCAL_OPENING_H
#define TESTS_LOCAL_OPENING_H

#include "inside.h"

#include <stdint.h>

/* Opens and closes a space in another process. Returns the result. A message tells the reason. */
int64_t try_open(const char *name);

/* Returns the path of a file in GLOCK_DIR. */
static inline const char *at(const char *file)
{
	return inside_path(file);
}

#endif
