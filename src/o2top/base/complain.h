/* SPDX-License-Identifier: MIT */
/*
 * complain.h - messages of o2top for its user, on standard error.
 */
#ifndef O2TOP_COMPLAIN_H
#define O2TOP_COMPLAIN_H

/* A message may hold names that are not ours: they are made fit for a terminal. */
__attribute__((format(printf, 1, 2))) void complain(const char *format, ...);
/* What was said last, or "". */
const char *complain_last(void);

#endif
