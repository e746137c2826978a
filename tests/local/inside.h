/* SPDX-License-Identifier: MIT */
/* inside.h - what is in a space's file, read while others may be at it. */
#ifndef TESTS_LOCAL_INSIDE_H
#define TESTS_LOCAL_INSIDE_H

#include "local_impl.h"

struct inside {
	unsigned int nodes; /* slots that are not free */
	unsigned int locks;
	unsigned int resources;
	const char *wrong; /* the first table with anything wrong in it */
};

/* Of the space of that name in GLOCK_DIR. */
void inside_look(const char *space, struct inside *in);
/* The file's path. */
const char *inside_path(const char *space);

#endif
