/* SPDX-License-Identifier: MIT */
/*
 * model.h - a second lock table, written from the rules once more, in arrays and plain loops.
 *
 * The two tables share only the names of flags and the form of events.
 */
#ifndef GLOCK_TESTS_TABLE_MODEL_H
#define GLOCK_TESTS_TABLE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "lockman/table/table.h"

#define MODEL_LOCKS 32
#define MODEL_RES 4
#define MODEL_NODES 4

enum model_place { NOWHERE, GRANTED, CONVERTING, WAITING };

struct model_lock {
	bool used;
	enum model_place place;
	uint64_t born; /* order of creation */
	uint64_t lkid; /* the table's name for it */
	uint64_t cookie;
	int res;
	unsigned int node;
	int gr, rq;
	uint32_t flags;
	unsigned int sb;
	int highbast, lastbast;
	bool basts[6]; /* modes with a pending BAST */
	bool ast;
	bool refused; /* with ast: another node uses its lock */
	bool asked;   /* with basts: the node has to answer */
	bool no_bast;
	bool had_valblk;
	bool read;
	unsigned char value[GLOCK__LVB_LEN]; /* the caller's, then the value that was read */
	uint32_t seq;
};

struct model_queue {
	int lock[MODEL_LOCKS];
	int n;
};

struct model_res {
	struct model_queue granted, converting, waiting; /* granted: in no order */
	unsigned char lvb[GLOCK__LVB_LEN];
	uint32_t seq;
	bool set, invalid, died;
};

struct model {
	uint32_t flags; /* GLOCK__TABLE_ */
	uint64_t births;
	struct model_lock lock[MODEL_LOCKS];
	struct model_res res[MODEL_RES];
	struct model_queue asts[MODEL_NODES]; /* in the order of grants */
};

/*
 * Do the same as the table's functions, with numbers for resources and locks. *number: of a new
 * lock, or -1.
 */
int model_lock(struct model *m, int res, const struct glock__table_request *args, int *number,
	       struct glock__table_event *event);
int model_convert(struct model *m, int number, const struct glock__table_request *args,
		  struct glock__table_event *event);
int model_unlock(struct model *m, int number, uint32_t flags, const void *lvb,
		 struct glock__table_event *event);
void model_purge(struct model *m, unsigned int node, int max);
void model_in_use(struct model *m, int number);

/* Returns a place for a new lock, or -1. */
int model_room(const struct model *m);
int model_count(const struct model *m, int res);

/* Takes a lock's pending callback. Returns false if there is none. */
bool model_take(struct model *m, int number, struct glock__table_event *event);

#endif
