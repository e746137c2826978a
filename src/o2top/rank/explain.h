/* SPDX-License-Identifier: MIT */
/*
 * explain.h - a row's sentence, and a note on what is missing from the row.
 *
 * The sentence is the source's. It says who waits for whom, as far as that is known.
 */
#ifndef O2TOP_EXPLAIN_H
#define O2TOP_EXPLAIN_H

#include "row.h"

/* Fills in the row's sentence and note, where there is something to say. */
void explain_row(const struct model *m, struct row *row);

#endif
