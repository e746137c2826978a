/* SPDX-License-Identifier: MIT */
/* exit.h - the list of open spaces, for a message if the process exits without closing one. */
#ifndef GLOCK__EXIT_H
#define GLOCK__EXIT_H

#include "glock/core/space.h"

/* Adds a space that the program opened. */
void glock__exit_add(struct glock_space *space);
/* Removes the space, if it was added. */
void glock__exit_remove(struct glock_space *space);
/* Empties the list in a child process, whose spaces are others. Called once, by one thread. */
void glock__exit_forked(void);

#endif
