/* SPDX-License-Identifier: MIT */
/*
 * first_answer.h - the wait for the first machine that answers.
 *
 * The wait may be long where a machine is overloaded, or is gone without a word. If standard error
 * is a terminal, o2top prints there which machines it waits for.
 */
#ifndef O2TOP_FIRST_ANSWER_H
#define O2TOP_FIRST_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

/* Until fd can be read. False where a signal asked for the end. The names are fit for a terminal.
 */
bool first_answer_wait(int fd, char *const *names, size_t n);

#endif
