/* SPDX-License-Identifier: MIT */
/*
 * glock_impl.h - functions that the files of the source of libglock's lock spaces share.
 */
#ifndef O2TOP_GLOCK_IMPL_H
#define O2TOP_GLOCK_IMPL_H

#include "o2top/model/shot.h"
#include "o2top/model/source.h"

/* Returns the sentence of a wait, as struct source has it. */
char *glock_sentence(const struct model *m, const struct row_wait *wait, struct blocker *root);

struct glock_line;

/* Begins a sample. */
void glock_lent_begin(struct lent_samples *s);
/* Takes the counts of a line, if it has any. Returns false if there is no memory. */
bool glock_lent_take(struct lent_samples *s, uint32_t lock, const struct glock_line *l);
/* Ends a sample, and says what belongs to its frame. `first`: there is no sample before. */
void glock_lent_end(struct lent_samples *s, bool first);

#endif
