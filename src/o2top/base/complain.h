/* SPDX-License-Identifier: MIT */
/*
 * complain.h - messages of o2top for its user, on standard error.
 */
#ifndef O2TOP_COMPLAIN_H
#define O2TOP_COMPLAIN_H

/* Writes a message. A message may hold foreign names, so it is made fit for a terminal. */
__attribute__((format(printf, 1, 2))) void complain(const char *format, ...);
/* Returns the last message, or "". */
const char *complain_last(void);

#endif
