/* SPDX-License-Identifier: MIT */
/*
 * dlm_chain.h - follows a wait to its root: node3 waits for node1, which waits for node2.
 */
#ifndef O2TOP_DLM_CHAIN_H
#define O2TOP_DLM_CHAIN_H

#include "dlm_sentence.h"

enum { DLM_CHAIN_MAX = 8 };

struct dlm_chain {
	int32_t nodes[DLM_CHAIN_MAX]; /* from the waiter to the root; -1: none that is watched */
	unsigned n;
	bool cycle; /* the last node waits for the first one: a deadlock */
	bool sure;  /* of a cycle: it surely is one, because the kernel names each process */
	struct blocker root;
};

/*
 * Says what blocks the wait, the root first, and stores the chain. A cycle is surely a deadlock if
 * each of its waits is longer than `apart_s`, so that they lasted at one moment. Returns false if
 * nothing is known of a blocker.
 */
bool dlm_follow(struct dlm_chain *chain, struct words *t, const struct model *m,
		const struct row_wait *wait, const struct dlm_words *words, double apart_s,
		struct dlm_blockers *blockers);

/* Says the chain in brackets, if there is one: " (node3 -> node1 -> node2)". */
void dlm_say_chain(struct words *t, const struct dlm_chain *chain, const struct model *m);

#endif
