/* SPDX-License-Identifier: MIT */
/*
 * local_removed.c - notices that the space's file was removed or replaced, and withdraws.
 *
 * A process that opens the space now gets another space than this node has. The node that notices
 * first marks the file. The mark comes first, and the locks of the node go back later. So no node
 * relies on a grant that it got because of the removal.
 */
#include "local_impl.h"

#define LOOK_NS 500000000ll /* the shortest time between two looks for the file */

void glock__local_withdraw(struct local *l)
{
	if (__atomic_exchange_n(&l->file_removed, true, __ATOMIC_ACQ_REL))
		return;
	glock__local_say(&l->o, "space %s: file %s was removed or replaced, so this node withdraws",
			 l->name, l->path);
	l->lm.events->gone(l->lm.owner);
}

GLOCK__COLD static void look_for_file(struct local *l)
{
	if (!glock__local_still_there(l))
		return;
	if (!__atomic_exchange_n(&l->head->removed, 1, __ATOMIC_SEQ_CST))
		glock__local_ring_all(l);
	glock__local_withdraw(l);
}

bool glock__local_is_there(struct glock__lockman *lm)
{
	struct local *l = (struct local *)lm;

	if (!has_left(l))
		look_for_file(l);
	return !__atomic_load_n(&l->file_removed, __ATOMIC_ACQUIRE);
}

void glock__local_check_file(struct local *l, int64_t now)
{
	int64_t last = __atomic_load_n(&l->looked, __ATOMIC_RELAXED);

	if (now - last >= LOOK_NS &&
	    __atomic_compare_exchange_n(&l->looked, &last, now, false, __ATOMIC_ACQ_REL,
					__ATOMIC_RELAXED))
		look_for_file(l);
}
