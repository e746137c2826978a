/* SPDX-License-Identifier: MIT */
/*
 * The signals that end o2top where no screen takes them. A handler only notes that there was one: whoever
 * waits stops waiting, and main ends connections, helpers and files as it does at any other end.
 *
 * Only main's thread waits; threads that live longer than a call have all signals blocked. What was ignored
 * when we were started, as nohup has it, stays ignored. A second signal of a kind ends us at once.
 */
#ifndef O2TOP_ENDING_H
#define O2TOP_ENDING_H

#include <stdbool.h>
#include <time.h>

/* Before anybody is started who would be left behind. */
void ending_begin(void);
/* The signal that asked for the end, or 0. */
int ending(void);
/* Whether a pipe that we wrote to had no reader: of standard output, an end like that by a signal. */
bool ending_pipe_broken(void);
/*
 * Waits until fd (-1: none) can be read, or the moment has come, by CLOCK_MONOTONIC (NULL: never).
 * False where a signal asked for the end.
 */
bool ending_wait(int fd, const struct timespec *until);

#endif
