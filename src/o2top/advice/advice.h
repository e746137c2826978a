/* SPDX-License-Identifier: MIT */
/*
 * advice.h - one line of advice about a hot row, which names the nodes.
 */
#ifndef O2TOP_ADVICE_H
#define O2TOP_ADVICE_H

#include "o2top/rank/row.h"

enum { ADVICE_MAX = 512 };

/*
 * Writes the advice, and returns the code of its rule. For a row that is not hot, writes an empty
 * string and returns NULL.
 */
const char *advise(const struct model *m, const struct row *row, char *buf, size_t size);

#endif
