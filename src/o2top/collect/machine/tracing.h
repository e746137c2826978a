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
	int error;               /* negative errno: why there is none */
};

/* Finds the file system, and removes what is left of those that are not there any more. */
void tracing_begin(struct tracing *t, const char *debugfs);
/* Starts to trace where that was not done yet; 0 or negative errno. */
int tracing_start(struct tracing *t);
void tracing_stop(struct tracing *t);

#endif
