/* SPDX-License-Identifier: MIT */
/*
 * options.h - the options of a run, and the exit statuses of o2top.
 */
#ifndef O2TOP_OPTIONS_H
#define O2TOP_OPTIONS_H

#include "config.h"
#include "o2top/collect/collect.h"
#include "o2top/rank/filter.h"
#include "o2top/rank/paths.h"
#include "o2top/views/check.h"
#include "o2top/views/view.h"

#include <stdbool.h>
#include <stddef.h>

enum { OPTION_NODES_MAX = 256, OPTION_NAMES_MAX = 64 };

struct options {
	char **paths; /* recordings, files, or the mount point */
	size_t n_paths;
	char *nodes[OPTION_NODES_MAX];
	size_t n_nodes;
	struct {
		const char *space, *file; /* space NULL: of any */
	} names[OPTION_NAMES_MAX];
	size_t n_names;
	const char *ssh;                 /* a command instead of ssh, or NULL */
	bool no_agent;                   /* nothing but sh on the nodes */
	bool trace;                      /* what GFS2 asks of the DLM */
	bool local;                      /* this machine alone */
	enum paths_effort effort;        /* how hard paths are looked for */
	unsigned long sample_limit;      /* MiB that a node may send a sample; 0 the usual */
	const char *configfs, *corosync; /* where the cluster is described, NULL the usual places */
	struct local_roots roots;
	struct filter filter;
	enum sort_key sort;
	struct view_options view;
	bool batch, json, csv, check;
	struct limits warn, crit; /* of a check */
	const char *textfile;     /* for a monitoring system, or NULL */
	bool demo;
	bool interactive; /* on a terminal, unless something asks for text */
	bool once;
	bool recording;           /* the arguments are, wherever they lie */
	unsigned long iterations; /* 0 no end */
	double interval_s;
	const char *log;
	char *record, *replay; /* files, or NULL; what is replayed may be a folder */
	const char *from, *to; /* of what is replayed, or NULL */
	double speed;          /* of a recording in a terminal; 0 begins paused */
	const char *columns;   /* of the terminal view, or NULL */
	bool no_mouse;
	struct config config;
	bool nodes_configured; /* and not given on the command line */
};

enum exit_status { EXIT_DONE = 0, EXIT_NOTHING = 1, EXIT_USAGE = 2, EXIT_UNUSABLE = 3 };

/*
 * Parses. Returns -1 to go on, or the status to exit with (help and version were printed, or what
 * is wrong).
 */
int options_parse(struct options *o, int argc, char **argv);

#endif
