/* SPDX-License-Identifier: MIT */
/*
 * describe.h - a row's description: file or directory, system's or user's, size, name.
 */
#ifndef O2TOP_DESCRIBE_H
#define O2TOP_DESCRIBE_H

#include "names.h"
#include "row.h"

void describe_row(struct row *row, const struct model *m);
/* Fills in the row's path and other names, if they are known. */
void describe_name(struct row *row, const struct model *m, const struct names *names);
/* Finds the lock space of each list of names that has none yet. */
void describe_settle(struct names *names, const struct model *m);

#endif
