/* SPDX-License-Identifier: MIT */
/*
 * first_answer.h - the wait for the first machine that answers.
 *
 * The wait may be long if a machine is overloaded, or if it went down without closing connections.
 * If standard error is a terminal, o2top prints there the machines that it waits for.
 */
#ifndef O2TOP_FIRST_ANSWER_H
#define O2TOP_FIRST_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Waits until fd can be read. Returns false if a signal asked the program to end. The names are fit
 * for a terminal.
 */
bool first_answer_wait(int fd, char *const *names, size_t n);

#endif
