/* SPDX-License-Identifier: MIT */
/*
 * waits.h - waits between nodes and processes: which waiter waits for which holder.
 *
 * waits_read() reads the DLMs' dumps of all nodes about the locks that are waited for, after a
 * sample. waits_explain() makes a sentence for a row from the dumps, the Shots and the nodes'
 * states, whenever a view shows the row.
 *
 * The causes are:
 * - A process holds the lock.
 * - A node has the lock in its cache, demoted or not.
 * - The lock's master or holder does not answer.
 * - Recovery is in progress.
 */
#ifndef O2TOP_WAITS_H
#define O2TOP_WAITS_H

#include "o2top/model/model.h"

struct row;

/* A wait this long is looked into. */
#define WAITS_LONG_S 2.0

/* One node's lock in a queue of the DLM. */
struct dlm_entry {
	int number;   /* the node's, in its DLM; 0 not known */
	int32_t node; /* the model's node, -1 none that is known */
	bool granted;
	int8_t mode, wanted; /* DLM modes, -1 none */
};

/* What one node's DLM says of one lock. */
struct dlm_view {
	uint32_t space, node;
	struct lock_id id;
	bool is_master, recovering;
	int master; /* its number; 0 not known */
	uint32_t first, n;
};

/* A task that sleeps in lock code. */
struct lock_task {
	uint32_t node;
	int64_t pid;
	char comm[20];
	uint64_t inode; /* 0 not known */
};

struct waits {
	struct dlm_view *views;
	size_t n_views;
	struct dlm_entry *entries;
	size_t n_entries;
	struct lock_task *tasks;
	size_t n_tasks;
	bool read; /* the dumps were, for this sample */
};

/* Reads what is needed of the model's last sample. 0 or -ENOMEM; what cannot be read is missing. */
int waits_read(struct model *m, struct collector *c, const struct sample *sample);
void waits_free(struct waits *w);

/* Fills in the row's sentence and note, where there is something to say. */
void waits_explain(const struct model *m, struct row *row);

#endif
