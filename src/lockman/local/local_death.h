/* SPDX-License-Identifier: MIT */
/*
 * local_death.h - the end of other nodes and of the space: deaths, recovery, a file that was
 * removed.
 */
#ifndef GLOCK__LOCAL_DEATH_H
#define GLOCK__LOCAL_DEATH_H

#include "local_impl.h"

/*
 * Reaps a node: removes the locks of a dead node, or of a node that gives itself up (gone).
 * wait: waits for other processes that do such things now.
 */
int glock__local_reap(struct local *l, unsigned int node, uint32_t generation, bool gone,
		      bool wait);
/* Reaps each dead node that is cheap to find; thorough: each dead node. */
void glock__local_reap_all(struct local *l, bool thorough);
/*
 * Rings for each node. The node looks whether grants go on and whether it has something to
 * recover. It also looks for the mark of a removed file.
 */
void glock__local_ring_all(struct local *l);
/* This node leaves: the locks that it still has go, as if they had been given back. */
void glock__local_give_up(struct local *l);
/* This node withdraws: the locks go that are not kept, as those of a dead node. */
void glock__local_give_up_but(struct local *l);
/* Names a recoverer for each death that has none, or none that lives. */
int glock__local_recovery_start(struct local *l);
void *glock__local_recovery_thread(void *arg);

/* ---- the file was removed ---- */

GLOCK__COLD void glock__local_withdraw(struct local *l);

/*
 * Looks for the mark that another node leaves when it finds the file removed. That node marks the
 * file before it gives its locks back. The caller looks after it fetched a grant. Without a mark,
 * the grant did not come of the removal.
 */
static inline void glock__local_removed(struct local *l)
{
	if (__builtin_expect(atom_load32(&l->head->removed), 0))
		glock__local_withdraw(l);
}

/*
 * Withdraws if the file is not there any more. Looks from time to time only. The node that finds
 * the removal first marks the file, so that all its nodes withdraw: see glock__local_removed().
 */
void glock__local_check_file(struct local *l, int64_t now);
/* The operation is_there of lockman.h: looks now. */
bool glock__local_is_there(struct glock__lockman *lm);

#endif
