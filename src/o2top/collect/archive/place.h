/* SPDX-License-Identifier: MIT */
/*
 * place.h - what the path of a file in a support archive tells: host, run, lock space, kind.
 */
#ifndef O2TOP_PLACE_H
#define O2TOP_PLACE_H

#include "o2top/collect/collect.h"

enum { PLACE_NAME_MAX = 256 };

enum place_what {
	PLACE_TEXT,     /* any text: its lines tell */
	PLACE_KERNEL,   /* a file of the kernel, of `kind` */
	PLACE_LOCKS,    /* dlm/LOCKSPACE_locks and other files of a DLM's lock space, as text */
	PLACE_REALTIME, /* the node's clocks, as o2top's recordings have them */
	PLACE_UPTIME,
	PLACE_HOSTINFO, /* gfs2_lockcapture: HOSTNAME= and TIMESTAMP= */
	PLACE_DATE,     /* the output of date(1) */
	PLACE_HOSTNAME,
	PLACE_SKIP,
};

struct place_in {
	enum place_what what;
	char prefix[4096];         /* the part of the path that all files of a host and run share */
	char host[PLACE_NAME_MAX]; /* "" if the path names none */
	char run[PLACE_NAME_MAX];  /* "" if it is the only one */
	enum fs_kind fs;
	bool has_space;
	bool guessed; /* the host is the folder of the file, for want of a better one */
	bool is_list; /* NAME_locks, which tells more than NAME */
	char space[PLACE_NAME_MAX];
	enum file_kind kind;
};

/* Reads a path. `given` leads to the archive or folder, without the ending of an archive. */
void place_of(struct place_in *out, const char *given, const char *path);

#endif
