/* SPDX-License-Identifier: MIT */
/*
 * path.h - the type of the locks by file path, GLOCK_RESERVED of each space.
 *
 * Its operation `lock` locks the file for the first holder of this node, and `unlock` unlocks it
 * after the last one. Both belong to the library, and none of them waits for a lock.
 */
#ifndef GLOCK__PATH_H
#define GLOCK__PATH_H

#include "file.h"
#include "glock/core/internal.h"

/* Makes the type that of locks by file path. */
void glock__path_type(struct glock__type *type);
/*
 * Attaches the file with that path to the glock, if it has none. Opens the file, and makes it if it
 * does not exist. Takes `real`, from glock__path_resolve(). 0 or a negative errno.
 */
int glock__path_attach(struct glock *gl, char *real, bool fcntl);
/* Returns the descriptor of a lock that is held, for a program that hands it to a child; or -1. */
int glock__path_fd(const struct glock *gl);
/* Logs why the file cannot be locked, and returns the error. */
int glock__path_say(struct glock_space *space, const char *path, bool fcntl, int err);

#endif
