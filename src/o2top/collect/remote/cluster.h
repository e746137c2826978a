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

struct cluster_options {
	char *const *nodes;
	size_t n_nodes;
	const char *ssh;         /* a command instead of ssh, or NULL */
	const char *mount_point; /* only the file system that is mounted there, or NULL */
	double interval_s;       /* seconds between samples, as the user asked */
	struct processes_wanted processes;
	size_t sample_limit; /* bytes; 0 for the usual limit */
	bool trace;          /* trace GFS2's requests to the DLM */
	bool no_agent;       /* only sh, also where o2top is installed */
	/* do not compare host names with this machine's: use ssh for all */
	bool no_names;
};

/* Returns 0 or a negative errno, with the reason among the problems. */
int collect_cluster(struct collector **out, const struct cluster_options *options,
		    struct problems *problems);

#endif
