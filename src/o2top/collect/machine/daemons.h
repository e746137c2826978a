/* SPDX-License-Identifier: MIT */
/*
 * daemons.h - what corosync and dlm_controld of this machine say of quorum, fencing and lock
 * spaces.
 *
 * Their own tools ask them, in a process group of its own. A machine in trouble has daemons that do
 * not answer, so no call here waits: an answer comes with a later call. A late tool is killed, and
 * no other one is started before it has died.
 */
#ifndef O2TOP_DAEMONS_H
#define O2TOP_DAEMONS_H

#include "o2top/collect/lines.h"

#include <stdbool.h>
#include <sys/types.h>

struct daemons {
	pid_t pid;   /* the tools that run, 0 none */
	bool killed; /* they were late */
	int from;
	double began, ended;
	struct buffer in, said;
};

/*
 * Takes what the tools have printed, and starts them if the last answer is old. Returns the last
 * whole answer, which may be empty: each tool's output behind a line "= TOOL", or "late".
 */
const struct buffer *daemons_ask(struct daemons *d);
void daemons_end(struct daemons *d);

#endif
