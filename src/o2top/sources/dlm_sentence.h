/* SPDX-License-Identifier: MIT */
/*
 * dlm_sentence.h - says which node waits for which, on a file system that locks through a DLM.
 */
#ifndef O2TOP_DLM_SENTENCE_H
#define O2TOP_DLM_SENTENCE_H

#include "o2top/base/words.h"
#include "o2top/model/source.h"

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

#endif
