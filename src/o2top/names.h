/* SPDX-License-Identifier: MIT */
/*
 * Paths of inodes, from a file that `find MOUNT_POINT -printf '%i %p\n'` wrote.
 */
#ifndef O2TOP_NAMES_H
#define O2TOP_NAMES_H

#include "problems.h"

#include <stdint.h>

struct names;

/*
 * Adds a file's lines "INODE PATH" to *names, made where it is NULL. `space` is the lock space that they are of,
 * NULL for any. 0 or negative errno; lines that are not understood are problems.
 */
int names_read(struct names **names, const char *space, const char *file, struct problems *problems);
/* The path, or NULL; names may be NULL. Of several hard links the first in the file. */
const char *names_find(const struct names *names, const char *space, uint64_t inode);
void names_free(struct names *names);

#endif
