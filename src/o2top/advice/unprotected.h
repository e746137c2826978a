/* SPDX-License-Identifier: MIT */
/*
 * unprotected.h - banners about files that fcntl(2) locks of several nodes do not protect.
 */
#ifndef O2TOP_ADVICE_UNPROTECTED_H
#define O2TOP_ADVICE_UNPROTECTED_H

#include "o2top/rank/names.h"
#include "o2top/rank/row.h"

/* Adds a banner for each file of m->unprotected. `names` has the known paths, or is NULL. */
void unprotected_banners(struct model *m, const struct names *names);
/* Writes advice if the row's file is unprotected. Returns whether it is. */
bool unprotected_advice(const struct model *m, const struct row *row, char *buf, size_t size);

#endif
