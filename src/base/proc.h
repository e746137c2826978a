/* SPDX-License-Identifier: MIT */
/* proc.h - the kernel's data about a process: /proc/PID/stat and comm. Blocks only in that read. */
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
	bool exits;     /* the process is exiting, although it may be listed for long */
	uint64_t start; /* clock ticks after boot; with the pid it identifies a process for ever */
	char comm[PROC_COMM_SIZE]; /* of the process, which is the name of its first thread */
};

/*
 * Returns 0; -ESRCH if the process does not exist (any more); another negative errno if /proc does
 * not tell. pid may also be the number of a thread.
 */
int glock__proc_read(pid_t pid, struct glock__proc *proc);

/* Tells whether a signal or a debugger stopped the process. */
bool glock__proc_is_stopped(pid_t pid);

/* Tells whether the calling thread goes before all normal threads of its CPU. */
bool glock__is_realtime(void);

/* The namespaces of this process. Without /proc all is zero. */
struct glock__proc_ns {
	uint64_t pid;   /* the pid namespace: the inode of /proc/self/ns/pid */
	bool shown;     /* /proc shows the processes of this pid namespace, not of another one */
	int64_t clock;  /* how far CLOCK_MONOTONIC is ahead of the machine's own; ns */
	int64_t booted; /* the same of the times in /proc/PID/stat; clock ticks */
};

/* A process keeps its namespaces for life, but a child after fork may have others. */
void glock__proc_namespaces(struct glock__proc_ns *ns);

struct glock__proc_thread {
	char state;        /* as in struct glock__proc */
	uint64_t switches; /* how often the thread left a CPU */
};

/* As glock__proc_read(), for one thread of a process. */
int glock__proc_thread(pid_t pid, pid_t tid, struct glock__proc_thread *thread);

static inline bool glock__is_stopped_state(char state)
{
	return state == 'T' || state == 't';
}

/* Tells whether the thread does not run: it is stopped, frozen, or sleeps in the kernel. */
static inline bool glock__is_off_cpu_state(char state)
{
	return glock__is_stopped_state(state) || state == 'S' || state == 'D';
}

#endif
