/* SPDX-License-Identifier: MIT */
/*
 * explain.h - a row's sentence, and a note on what is missing from the row.
 *
 * The source makes the sentence. The sentence names the waiter and the holder, as far as known.
 */
#ifndef O2TOP_EXPLAIN_H
#define O2TOP_EXPLAIN_H

#include "row.h"

/* Fills in the row's sentence and note, if there is a wait to explain. */
void explain_row(const struct model *m, struct row *row);

#endif
