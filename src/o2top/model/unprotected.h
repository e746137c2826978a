/* SPDX-License-Identifier: MIT */
/*
 * unprotected.h - files on which processes of several nodes hold fcntl(2) locks that exclude each
 * other on one node, and do not exclude each other in the cluster.
 *
 * OCFS2 with the stack o2cb keeps an fcntl lock to the node of the process.
 */
#ifndef O2TOP_UNPROTECTED_H
#define O2TOP_UNPROTECTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	UNPROTECTED_HOLDERS = 8, /* so many are named; `more` counts the others */
	UNPROTECTED_FILES = 64,
	UNPROTECTED_KEPT = 60, /* samples for which a file stays after it was seen */
};

struct unprotected_holder {
	char node[65];
	char comm[20]; /* "" not known */
	int64_t pid;   /* -1: the lock belongs to an open file and not to a process */
	bool write;
	uint64_t start, end; /* bytes; end UINT64_MAX: to the end of the file */
};

struct unprotected_file {
	uint32_t space; /* an index of the model's */
	uint64_t inode;
	uint32_t sample; /* the last one that showed it */
	struct unprotected_holder holders[UNPROTECTED_HOLDERS];
	size_t n, more;
};

struct unprotected {
	struct unprotected_file list[UNPROTECTED_FILES];
	size_t n;
};

#endif
