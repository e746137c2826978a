/* SPDX-License-Identifier: MIT */
/*
 * plocks_read.h - fcntl(2) locks and flocks of each node's kernel, and fcntl locks of all nodes.
 *
 * OCFS2 with the stack o2cb keeps an fcntl lock to its node, so locks of several nodes protect
 * nothing. GFS2, and OCFS2 with any other stack, give them to dlm_controld.
 */
#ifndef O2TOP_PLOCKS_READ_H
#define O2TOP_PLOCKS_READ_H

#include "o2top/model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- plock_line.c: a line of /proc/locks: a lock on a file that a process of one node holds. */

struct plock_line {
	bool flock; /* else fcntl(2) */
	bool write;
	int64_t pid; /* -1: the lock belongs to an open file and not to a process */
	unsigned device[2];
	uint64_t inode;
	uint64_t start,
	    end;       /* the first and the last byte; end UINT64_MAX: to the end of the file */
	char comm[20]; /* "" not known */
};

/*
 * Parses a line. Returns false if the line is no granted flock or fcntl(2) lock on a file. If such
 * a lock cannot be used, sets *wrong to the reason.
 */
bool plock_line_parse(struct plock_line *out, const char *line, size_t len, const char **wrong);

/* A line of dlm_tool plocks: a lock that is held or waited for, on any node. */
struct dlm_plock_line {
	uint64_t inode, start, end, owner;
	uint32_t pid;
	int32_t number; /* of the node in the DLM */
	bool write, waits;
	char comm[20]; /* not "": the line only names the process `pid` of the node */
};

/* Parses a line as plock_line_parse() does. */
bool dlm_plock_parse(struct dlm_plock_line *out, const char *line, size_t len, const char **wrong);

/* ---- plocks_read.c. */

/*
 * Reads the locks of all nodes' kernels in the model's last sample. Names the processes that hold
 * them among the holders, and keeps m->unprotected. Returns 0 or -ENOMEM.
 */
int plocks_read(struct model *m, struct collector *c, const struct sample *sample);

/* ---- plock_lists.c. */

/* Reads the lists of a sample into *now, which is sorted. Returns 0 or -ENOMEM. */
int plock_lists_read(struct model *m, struct collector *c, const struct sample *sample,
		     struct plocks *now);
/* Compare two locks by file, and by file and place in the list. */
int plocks_by_file(const void *a, const void *b);
int plocks_by_place(const void *a, const void *b);
/* Returns the locks of the file of `key` in a sorted list, and their number. */
struct plock *plocks_find(struct plock *list, size_t n, const struct plock *key, size_t *count);

/* ---- dlm_plocks.c. */

/*
 * Reads the fcntl locks that dlm_controld keeps, and adds those with waits to the changes of the
 * last sample. Returns 0 or -ENOMEM.
 */
int dlm_plocks_read(struct model *m, struct collector *c, const struct sample *sample);
/* Returns the locks of a file in the last list, and their number. */
const struct plock *plocks_of(const struct model *m, uint32_t space, uint64_t inode, size_t *n);
/* Returns whether lock `a` keeps request `b` waiting. */
bool plock_blocks(const struct plock *a, const struct plock *b);

/* ---- plock_sentence.c. */

/* Makes the sentence of a wait for an fcntl lock, as struct source has it. */
char *plock_sentence(const struct model *m, const struct row_wait *wait, struct blocker *root);

#endif
