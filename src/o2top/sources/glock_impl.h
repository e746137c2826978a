/* SPDX-License-Identifier: MIT */
/*
 * glock_impl.h - functions that the files of the source of libglock's lock spaces share.
 */
#ifndef O2TOP_GLOCK_IMPL_H
#define O2TOP_GLOCK_IMPL_H

#include "o2top/model/source.h"

/* Returns the sentence of a wait, as struct source has it. */
char *glock_sentence(const struct model *m, const struct row_wait *wait, struct blocker *root);

#endif
