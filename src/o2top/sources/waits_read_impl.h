/* SPDX-License-Identifier: MIT */
/*
 * waits_read_impl.h - what waits_read.c and waits_numbers.c share: the reading of one sample.
 */
#ifndef O2TOP_WAITS_READ_IMPL_H
#define O2TOP_WAITS_READ_IMPL_H

#include "o2top/collect/input.h"
#include "o2top/model/model.h"
#include "o2top/model/waits.h"

enum { LOOKED_INTO = 256 };

/* One end of a lock, as a dump of the kernel's DLM shows it. */
struct end {
	uint32_t node;
	size_t view; /* of the resource */
	uint64_t id, remid;
	int nodeid;
	bool master_copy;
};

struct reading {
	struct model *m;
	struct waits *w;
	struct wanted {
		uint32_t space;
		struct lock_id id;
	} wanted[LOOKED_INTO];
	size_t n_wanted;
	struct end *ends;
	size_t n_ends;
	/* of the file that is being read */
	uint32_t space, node;
	bool in_lock; /* the last view is of the resource that is being read */
	int err;
};

/* Takes a line of the file ids. */
bool waits_take_ids(void *arg, const char *line, size_t len, size_t number, bool complete);
/* Takes a line of o2dlm's dlm_state. */
bool waits_take_dlm_state(void *arg, const char *line, size_t len, size_t number, bool complete);
/* Finds the nodes of the numbers in the queues. */
void waits_name_numbers(struct reading *r);

#endif
