/* SPDX-License-Identifier: MIT */
/*
 * options.h - the options of a run, and the exit statuses of o2top.
 */
#ifndef O2TOP_OPTIONS_H
#define O2TOP_OPTIONS_H

#include "config.h"
#include "o2top/collect/collect.h"
#include "o2top/rank/rank.h"
#include "o2top/views/check.h"
#include "o2top/views/view.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- help.c: the text of o2top --help. */

extern const char o2top_help[];
/* The script of --collect-script. */
extern const char collect_script[];

/* ---- options.c. */

enum { OPTION_NODES_MAX = 256, OPTION_NAMES_MAX = 64 };

struct options {
	char **paths; /* recordings, files, or the mount point */
	size_t n_paths;
	char *nodes[OPTION_NODES_MAX];
	size_t n_nodes;
	struct {
		const char *space, *file; /* space NULL: any lock space */
	} names[OPTION_NAMES_MAX];
	size_t n_names;
	const char *ssh;                 /* a command instead of ssh, or NULL */
	bool no_agent;                   /* run only sh on the nodes */
	bool trace;                      /* trace GFS2's requests to the DLM */
	bool local;                      /* watch this machine alone */
	enum paths_effort effort;        /* how hard paths are looked for */
	unsigned long sample_limit;      /* MiB that a node may send a sample; 0: the default */
	const char *configfs, *corosync; /* the cluster's configuration; NULL: the usual places */
	struct local_roots roots;
	struct filter filter;
	enum sort_key sort;
	struct view_options view;
	bool batch, json, csv, check;
	struct check_rules limits;
	const char *textfile; /* for a monitoring system, or NULL */
	bool demo;
	bool interactive; /* on a terminal, unless something asks for text */
	bool once;
	bool summary;             /* all frames together, at the end */
	bool recording;           /* the arguments are recordings, wherever they lie */
	unsigned long iterations; /* 0: no end */
	double interval_s;
	bool interval_given;   /* on the command line */
	double answer_limit_s; /* a frame waits so long for a node; 0: 10 s with --check */
	const char *log;
	bool collect;              /* --collect: record all files of two samples, and end */
	char *record, *replay;     /* files, or NULL; replay may name a folder */
	unsigned long record_size; /* MiB after which the next file begins; 0: no limit */
	unsigned long record_keep; /* files */
	const char *from, *to;     /* of the replayed recording, or NULL */
	double speed;              /* of a recording in a terminal; 0 begins paused */
	const char *columns;       /* of the terminal view, or NULL */
	bool no_mouse;
	bool read_only; /* write no file */
	struct config config;
	bool nodes_configured; /* the nodes come from the file, not from the command line */
};

enum exit_status { EXIT_DONE = 0, EXIT_NOTHING = 1, EXIT_USAGE = 2, EXIT_UNUSABLE = 3 };

/*
 * Parses the command line. Returns -1 to go on, or the exit status after printing the help, the
 * version or an error.
 */
int options_parse(struct options *o, int argc, char **argv);

#endif
