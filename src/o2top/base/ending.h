/* SPDX-License-Identifier: MIT */
/*
 * ending.h - the signals that end o2top where no screen handles them.
 *
 * A handler only records the signal. A waiting thread stops waiting, and main closes connections,
 * helpers and files as at any other end.
 *
 * Only main's thread waits. Threads that outlive a call have all signals blocked. A signal that was
 * ignored at start (nohup) stays ignored. A second signal of one kind ends o2top at once.
 */
#ifndef O2TOP_ENDING_H
#define O2TOP_ENDING_H

#include <stdbool.h>
#include <time.h>

/* Before anybody is started who would be left behind. */
void ending_begin(void);
/* The signal that asked for the end, or 0. */
int ending(void);
/* Whether a pipe that we wrote to had no reader: of standard output, an end like that by a signal.
 */
bool ending_pipe_broken(void);
/*
 * Waits until fd (-1: none) can be read, or the moment has come, by CLOCK_MONOTONIC (NULL: never).
 * False where a signal asked for the end.
 */
bool ending_wait(int fd, const struct timespec *until);

#endif
