/* SPDX-License-Identifier: MIT */
/*
 * dlm_sentence.h - says which node waits for which, on a file system that locks through a DLM.
 */
#ifndef O2TOP_DLM_SENTENCE_H
#define O2TOP_DLM_SENTENCE_H

#include "o2top/base/units.h"
#include "o2top/model/source.h"

#include <string.h>

/* The DLM's modes for which file systems ask. */
enum { DLM_CW = 2, DLM_PR = 3, DLM_EX = 5 };

const char *dlm_mode_name(int mode);
/* Returns whether two locks may have these modes at the same time. */
bool dlm_compatible(int a, int b);

/* One node's part in a wait. */
struct dlm_part {
	const struct node *node;
	const struct node_space *ns;
	const struct lock *lock;
};

/* The words that are peculiar to a file system. */
struct dlm_words {
	/*
	 * Says that a process is inside on a node and keeps others from `wanted`. Returns false if
	 * no process is. Stores the process, 0 if it is not known.
	 */
	bool (*inside)(struct words *w, const struct dlm_part *at, int wanted, int64_t *pid);
	/* Says that the node is giving the lock up. Returns false if it is not. */
	bool (*giving_up)(struct words *w, const struct dlm_part *at);
	/*
	 * Returns whether processes of one node are in each other's way although no other node
	 * waits. `lock` is NULL if the sample does not show it.
	 */
	bool (*own_way)(const struct lock_id *id, const struct lock *lock);
	bool (*has_ex)(const struct lock *lock);
	/* Returns how many processes hold the lock. NULL: the kernel names them. */
	uint32_t (*holders)(const struct lock *lock);
};

/* The blockers that a text names, in its order. */
enum { DLM_BLOCKERS_MAX = 16 };
struct dlm_blockers {
	struct blocker list[DLM_BLOCKERS_MAX];
	unsigned n;
};

/* Says what blocks a wait, and notes whom the text names. Returns false if nothing is known. */
bool dlm_say_blocker(struct words *t, const struct model *m, const struct row_wait *wait,
		     const struct dlm_words *words, struct dlm_blockers *blockers);

/* Makes the sentence of a wait, as struct source has it. */
char *dlm_sentence(const struct model *m, const struct row_wait *wait, struct blocker *root,
		   const struct dlm_words *words);

/* ---- the facts of a wait, for the files that make its sentence. */

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
		    change_own_waits(f->wait->set->members[i].change))
			return true;
	return false;
}

/* ---- dlm_chain.c: follows a wait to its root: node3 waits for node1, which waits for node2. */

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
