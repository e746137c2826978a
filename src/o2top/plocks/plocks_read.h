/* SPDX-License-Identifier: MIT */
/*
 * plocks_read.h - finds the files of OCFS2 that fcntl(2) locks of several nodes do not protect.
 */
#ifndef O2TOP_PLOCKS_READ_H
#define O2TOP_PLOCKS_READ_H

#include "o2top/model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- plock_line.c: a line of /proc/locks: a lock on a file that a process of one node holds. */

struct plock_line {
	bool write;
	int64_t pid; /* -1: the lock belongs to an open file and not to a process */
	unsigned device[2];
	uint64_t inode;
	uint64_t start,
	    end;       /* the first and the last byte; end UINT64_MAX: to the end of the file */
	char comm[20]; /* "" not known */
};

/*
 * Parses a line. Returns false if the line is no granted fcntl(2) lock on a file. If such a lock
 * cannot be used, sets *wrong to the reason.
 */
bool plock_line_parse(struct plock_line *out, const char *line, size_t len, const char **wrong);

/* ---- plocks_read.c. */

/*
 * Reads the fcntl locks of all nodes of the model's last sample, and keeps m->unprotected. Returns
 * 0 or -ENOMEM.
 */
int plocks_read(struct model *m, struct collector *c, const struct sample *sample);

#endif
