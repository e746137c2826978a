/* SPDX-License-Identifier: MIT */
/*
 * waits.h - what the DLMs' dumps of all nodes say of the locks that are waited for
 */
#ifndef O2TOP_WAITS_H
#define O2TOP_WAITS_H

#include "shot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- files on which processes of several nodes hold fcntl(2) locks that exclude each
 * other on one node, and do not exclude each other in the cluster.
 *
 * OCFS2 with the stack o2cb keeps an fcntl lock to the node of the process.
 */

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

/* ---- fcntl(2) locks of the whole cluster, as dlm_controld of one node lists them. */

struct plock {
	uint32_t space, pid;
	uint64_t inode, start, end, owner; /* bytes; a process's files are one owner */
	int number;                        /* of the process's node in the DLM */
	bool write, waits;
	bool goes_on;   /* the list after this one has the same wait */
	uint32_t place; /* its line: waiters stand in the order of their requests */
	char comm[20];  /* "" not known */
	/* of a waiter: its age at least and at most; NAN not known */
	double least_s, most_s;
};

/* The last list of each lock space, sorted by space, inode and place. */
struct plocks {
	struct plock *list;
	size_t n, room;
};

/* ---- waits.c. */

/* A wait is looked into once it is this long. */
#define WAITS_LONG_S 2.0

/* One node's lock in a queue of the DLM. */
struct dlm_entry {
	int number;   /* the node's, in its DLM; 0 not known */
	int32_t node; /* the model's node, -1 if it is not known */
	bool watched; /* not known: a node whose number is not known may be this one */
	bool granted;
	int8_t mode, wanted; /* DLM modes, -1 none */
	uint32_t pid;        /* the process that made the lock on its node; 0 not known */
};

/* One lock, as one node's DLM lists it. */
struct dlm_view {
	uint32_t space, node;
	struct lock_id id;
	bool o2cb; /* of o2cb's DLM; else of the kernel's */
	bool is_master, recovering;
	int master;          /* the master's number; 0 not known */
	bool master_watched; /* as `watched` of an entry */
	uint32_t first, n;
};

/* The DLMs, as indices of node.dlm_id. */
enum { DLM_KERNEL, DLM_O2CB };

/* Returns the DLM that a node's view is of, because OCFS2 runs on either. */
static inline int dlm_of_view(const struct dlm_view *v)
{
	return v->o2cb ? DLM_O2CB : DLM_KERNEL;
}

/* A task that sleeps in lock code. */
struct lock_task {
	uint32_t node;
	int64_t pid;
	char comm[20];
	uint64_t inode;    /* 0 not known */
	char function[32]; /* of OCFS2, the outermost one in its stack */
};

struct waits {
	struct dlm_view *views;
	size_t n_views;
	struct dlm_entry *entries;
	size_t n_entries;
	struct lock_task *tasks;
	size_t n_tasks;
	bool read; /* the dumps were read for this sample */
};

void waits_free(struct waits *w);

/* ---- waits_numbers.c. */

/* One end of a lock, as a dump of the kernel's DLM shows it. */
struct end {
	uint32_t node;
	size_t view; /* of the resource */
	uint64_t id, remid;
	int nodeid;
	bool master_copy;
};

struct model;

/*
 * Takes the number that a node's own file tells. If another node of this sample tells it, too, one
 * machine may have two names.
 */
void numbers_take(struct model *m, uint32_t node, int dlm, int number);

/* Gives the nodes the numbers that the dumps prove, and names the nodes in all entries. */
void numbers_name(struct model *m, struct waits *w, const struct end *ends, size_t n_ends);

#endif
