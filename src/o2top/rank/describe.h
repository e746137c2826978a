/* SPDX-License-Identifier: MIT */
/*
 * describe.h - a row's description: file or directory, system's or user's, size, name.
 */
#ifndef O2TOP_DESCRIBE_H
#define O2TOP_DESCRIBE_H

#include "names.h"
#include "row.h"

void describe_row(struct row *row, const struct model *m);
/* What the row is called, if that is known: its path, and its other names. */
void describe_name(struct row *row, const struct model *m, const struct names *names);
/* Lists of names that are of no lock space yet: finds out which. */
void describe_settle(struct names *names, const struct model *m);

#endif
