/* SPDX-License-Identifier: MIT */
/*
 * tracing.h - the kernel's trace of each request to the DLM (GFS2), only if the user asks for it.
 *
 * The trace is an instance named o2top-PID, so that no other tracing changes. The instance goes
 * when its process ends. The remains of a killed process go with the next start.
 */
#ifndef O2TOP_TRACING_H
#define O2TOP_TRACING_H

#include <limits.h>

struct tracing {
	char root[PATH_MAX];     /* of the tracing file system, or "" */
	char instance[PATH_MAX]; /* or "" */
	int error;               /* negative errno: the reason why there is no instance */
};

/* Finds the file system, and removes the instances of processes that are gone. */
void tracing_begin(struct tracing *t, const char *debugfs);
/* Starts to trace, if that was not done yet. Returns 0 or a negative errno. */
int tracing_start(struct tracing *t);
void tracing_stop(struct tracing *t);

#endif
