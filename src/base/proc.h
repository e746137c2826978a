/* SPDX-License-Identifier: MIT */
/* proc.h - what the kernel says of a process: /proc/PID/stat and comm. Blocks for nothing but that read. */
#ifndef GLOCK__PROC_H
#define GLOCK__PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	PROC_COMM_SIZE = 16, /* TASK_COMM_LEN, with the 0 */
};

struct glock__proc {
	char state;     /* proc(5): R, S, D, T, t, Z, X ... */
	bool exits;     /* it is at its end, however long it is still listed */
	uint64_t start; /* clock ticks after boot; with the pid it names a process for good */
	char comm[PROC_COMM_SIZE]; /* the process's, which is that of its first thread */
};

/* 0; -ESRCH: there is no such process (any more); another -errno: /proc does not say. A thread's number will do, too. */
int glock__proc_read(pid_t pid, struct glock__proc *proc);

/* It was stopped by a signal, or by a debugger. */
bool glock__proc_is_stopped(pid_t pid);

#endif
