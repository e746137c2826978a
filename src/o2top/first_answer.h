/* SPDX-License-Identifier: MIT */
/*
 * The time until a first machine answers, which may be long where one is overloaded, or gone without a
 * word: then it is said on standard error, if that is a terminal, for whom it is waited.
 */
#ifndef O2TOP_FIRST_ANSWER_H
#define O2TOP_FIRST_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

/* Until fd can be read. False where a signal asked for the end. The names are fit for a terminal. */
bool first_answer_wait(int fd, char *const *names, size_t n);

#endif
