/* SPDX-License-Identifier: MIT */
/*
 * blame.h - the command that shows what holds a row's lock, for the node that the row names.
 */
#ifndef O2TOP_BLAME_H
#define O2TOP_BLAME_H

#include "o2top/rank/row.h"

#include <stddef.h>

/*
 * Writes the advice about a wait that lasts: which node holds the lock, and a command for it. The
 * node is the one that the row's sentence names. `waits` are the nodes that wait, with their verb.
 */
void blame(const struct model *m, const struct row *row, const char *waits, char *buf, size_t size);

#endif
