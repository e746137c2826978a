/* SPDX-License-Identifier: MIT */
/*
 * dlm_sentence_impl.h - the facts of a wait, for the files that make its sentence.
 */
#ifndef O2TOP_DLM_SENTENCE_IMPL_H
#define O2TOP_DLM_SENTENCE_IMPL_H

#include "dlm_sentence.h"

#include <string.h>

struct facts {
	const struct model *m;
	const struct row_wait *wait;
	const struct dlm_words *words;
	struct lock_id id;
	int wanted;                    /* the strongest mode for which a request waits */
	struct dlm_blockers *blockers; /* the nodes that the text named so far */
};

static inline const struct lock *lock_on(const struct facts *f, uint32_t node)
{
	const struct node_space *ns = space_now_on(f->m, &f->m->nodes[node], f->wait->space);

	return ns ? table_find(&ns->table, &f->id) : NULL;
}

static inline bool waits_on(const struct facts *f, uint32_t node)
{
	for (uint32_t i = 0; i < f->wait->set->n_members; i++)
		if (f->wait->set->members[i].node == node &&
		    f->wait->set->members[i].change->waiting)
			return true;
	return false;
}

#endif
