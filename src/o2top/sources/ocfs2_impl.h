/* SPDX-License-Identifier: MIT */
/*
 * ocfs2_impl.h - functions that the files of the OCFS2 source share.
 */
#ifndef O2TOP_OCFS2_IMPL_H
#define O2TOP_OCFS2_IMPL_H

#include "o2top/model/source.h"

/* Returns the sentence of a wait, as struct source has it. */
char *ocfs2_sentence(const struct model *m, const struct row_wait *wait, struct blocker *root);

#endif
