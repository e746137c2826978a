/* SPDX-License-Identifier: MIT */
/*
 * complain.h - messages of o2top for its user, on standard error.
 */
#ifndef O2TOP_COMPLAIN_H
#define O2TOP_COMPLAIN_H

/*
 * Writes a message, unless the same message was written before. A message may hold foreign names,
 * so it is made fit for a terminal.
 */
__attribute__((format(printf, 1, 2))) void complain(const char *format, ...);
/* Returns the last message, written or not, or "". */
const char *complain_last(void);
/* Ends a time of trouble: each message is written again if it comes again. */
void complain_forget(void);

#endif
