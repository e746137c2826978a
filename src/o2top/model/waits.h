/* SPDX-License-Identifier: MIT */
/*
 * waits.h - what the DLMs' dumps of all nodes say of the locks that are waited for
 */
#ifndef O2TOP_WAITS_H
#define O2TOP_WAITS_H

#include "shot.h"

#include <stddef.h>

/* A wait is looked into once it is this long. */
#define WAITS_LONG_S 2.0

/* One node's lock in a queue of the DLM. */
struct dlm_entry {
	int number;   /* the node's, in its DLM; 0 not known */
	int32_t node; /* the model's node, -1 if it is not known */
	bool watched; /* not known: a node whose number is not known may be this one */
	bool granted;
	int8_t mode, wanted; /* DLM modes, -1 none */
};

/* One lock, as one node's DLM lists it. */
struct dlm_view {
	uint32_t space, node;
	struct lock_id id;
	bool is_master, recovering;
	int master; /* the master's number; 0 not known */
	bool master_watched; /* as `watched` of an entry */
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
	bool read; /* the dumps were read for this sample */
};

void waits_free(struct waits *w);

#endif
