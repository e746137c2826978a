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
	double interval_s;       /* between samples, as asked for */
	size_t sample_limit;     /* bytes; 0 the usual */
	bool trace;              /* what GFS2 asks of the DLM */
	bool no_agent;           /* nothing but sh, also where o2top is installed */
	bool no_names;           /* host names are not compared with our own: all through ssh */
};

/* 0 or negative errno with the reason among the problems. */
int collect_cluster(struct collector **out, const struct cluster_options *options,
		    struct problems *problems);

#endif
