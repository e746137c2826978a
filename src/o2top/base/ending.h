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

/*
 * Handles the signals. Call this before a process is started that would be left behind. With
 * `reopens` a SIGHUP from another process does not end o2top, but is told by ending_reopens(). A
 * SIGHUP from the kernel still ends o2top, because the terminal is gone. A file that grows beyond
 * a limit of the process ends nothing: the write fails.
 */
void ending_begin(bool reopens);
/* Returns whether a process asked to open files again, since the last call. */
bool ending_reopens(void);
/* Returns the signal that asked for the end, or 0. */
int ending(void);
/*
 * Returns whether a pipe to which o2top wrote had no reader. If the pipe is standard output, this
 * is an end like one by a signal.
 */
bool ending_pipe_broken(void);
/*
 * Waits until fd can be read, or until a moment of CLOCK_MONOTONIC. fd may be -1 for none, and
 * `until` NULL for never. Returns false if a signal asked for the end.
 */
bool ending_wait(int fd, const struct timespec *until);

#endif
