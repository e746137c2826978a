/* SPDX-License-Identifier: MIT */
/*
 * dlm_sentence.h - who waits for whom on a file system that locks through a DLM.
 */
#ifndef O2TOP_DLM_SENTENCE_H
#define O2TOP_DLM_SENTENCE_H

#include "o2top/base/words.h"
#include "o2top/model/source.h"

/* The DLM's modes that file systems ask for. */
enum { DLM_PR = 3, DLM_EX = 5 };

const char *dlm_mode_name(int mode);
/* Whether two modes of different locks go together. */
bool dlm_compatible(int a, int b);

/* One node's part in a wait. */
struct dlm_part {
	const struct node *node;
	const struct node_space *ns;
	const struct lock *lock;
};

/* The part of a sentence that is peculiar to a file system. */
struct dlm_words {
	/* Says that a process is inside on a node and keeps others from `wanted`; false: none is.
	 */
	bool (*inside)(struct words *w, const struct dlm_part *at, int wanted);
	/* Says that the node is giving the lock up; false: it is not. */
	bool (*giving_up)(struct words *w, const struct dlm_part *at);
	/*
	 * Whether processes of one node are in each other's way, though no other node waits. `lock`
	 * is NULL where the sample does not show it.
	 */
	bool (*own_way)(const struct lock_id *id, const struct lock *lock);
	bool (*has_ex)(const struct lock *lock);
};

/* As struct source's sentence. */
char *dlm_sentence(const struct model *m, const struct row_wait *wait,
		   const struct dlm_words *words);

#endif
