/* SPDX-License-Identifier: MIT */
/*
 * waits_numbers.h - the nodes of the model behind the DLMs' node numbers.
 */
#ifndef O2TOP_WAITS_NUMBERS_H
#define O2TOP_WAITS_NUMBERS_H

#include "source.h"
#include "waits.h"

/* One end of a lock, as a dump of the kernel's DLM shows it. */
struct end {
	uint32_t node;
	size_t view; /* of the resource */
	uint64_t id, remid;
	int nodeid;
	bool master_copy;
};

/*
 * Takes the number that a node's own file tells. If another node of this sample tells it, too, one
 * machine may have two names.
 */
void numbers_take(struct model *m, uint32_t node, int dlm, int number);

/* Gives the nodes the numbers that the dumps prove, and names the nodes in all entries. */
void numbers_name(struct model *m, struct waits *w, const struct end *ends, size_t n_ends);

#endif
