/* SPDX-License-Identifier: MIT */
/*
 * kinds.h - names of the kinds of files: on a connection, in recordings and in messages.
 *
 * A name that a recording once had stays.
 */
#ifndef O2TOP_KINDS_H
#define O2TOP_KINDS_H

#include "collect.h"

/* Files that only a connection carries, beside enum file_kind. */
enum {
	WIRE_MOUNTINFO = FILE_KINDS,
	WIRE_GFS2_ID,
	WIRE_LOCKDOWN,
	WIRE_KINDS,
};

extern const char *const kind_names[WIRE_KINDS];
/* Returns the kind of that name; -1 if there is none. */
int kind_named(const char *name, size_t len);

#endif
