/* SPDX-License-Identifier: MIT */
/*
 * cluster.h - the collector of many machines at once.
 *
 * Each machine has a connection, one thread serves all connections, and no sample waits for the
 * slowest.
 */
#ifndef O2TOP_CLUSTER_H
#define O2TOP_CLUSTER_H

#include "connection.h"
#include "o2top/collect/collect.h"

#include <stdbool.h>

/* ---- agent.c: o2top as the other end of its own connection.
 *
 * The agent answers requests on standard input like node.sh, and tells files by their changes.
 */

/* The line that `o2top --agent-check` prints: the protocol that `o2top --agent` speaks. */
#define AGENT_PROTOCOL "o2top agent 5"

/*
 * Serves requests until the input ends. Returns an exit status. A whole file system is searched
 * only with `whole`, so the agent's command line allows it, and no request does.
 */
int agent_run(bool whole);

/* ---- cluster.c. */

struct cluster_options {
	char *const *nodes;
	size_t n_nodes;
	const char *ssh;         /* a command instead of ssh, or NULL */
	const char *mount_point; /* only the file system that is mounted there, or NULL */
	double interval_s;       /* seconds between samples, as the user asked */
	double answer_limit_s;   /* a sample waits so long for slow nodes; 0 not at all */
	struct processes_wanted processes;
	size_t sample_limit; /* bytes; 0 for the usual limit */
	bool trace;          /* trace GFS2's requests to the DLM */
	bool whole;          /* agents may search whole file systems for paths */
	bool no_agent;       /* only sh, also where o2top is installed */
	/* do not compare host names with this machine's: use ssh for all */
	bool no_names;
};

/* Returns 0 or a negative errno, with the reason among the problems. */
int collect_cluster(struct collector **out, const struct cluster_options *options,
		    struct problems *problems);

#endif
