/* SPDX-License-Identifier: MIT */
/*
 * dlm_turns.h - measures how long a hand-over takes, by the turns of a lock in EX.
 *
 * The kernel answers a release at once. So a node cannot see when the next node has the lock. But
 * each node knows how long it had the lock. Nodes that release a lock add this time and their turn
 * to two sums in the value block. A node that gets the lock back knows how long it was away. The
 * hand-overs took the rest, because each turn ends by a demand:
 *
 *   one hand-over = (time away - turns of others) / (number of turns of others + 1)
 *
 * The 24 bytes of the program have the sums if the lock has no value block of the program. All
 * locks of a lockspace share one mean.
 */
#ifndef GLOCK__DLM_TURNS_H
#define GLOCK__DLM_TURNS_H

#include <stdbool.h>
#include <stdint.h>

struct dlm;
struct slot;

enum { GLOCK__DLM_TURNS = 64 };

/* The last turn that this node had of a lock. Another lock may take its place. */
struct glock__dlm_turn {
	uintptr_t tag;  /* of the lock's slot, plus one; 0: free */
	uint64_t chain; /* the turns that one sum has; 0: none */
	uint64_t used;  /* ns: the sum of the turns */
	uint32_t n;     /* and their number */
	bool demanded;  /* another node waits for the lock */
	bool released;
	int64_t since; /* the grant, or the release */
	int64_t late;  /* ns: from the release to its reply */
};

/* Under d->lock. _begins is only for locks without a value block of the program. */

/* The lock was granted in EX. value: what other nodes wrote, NULL: nothing valid. */
void glock__dlm_turn_begins(struct dlm *d, const struct slot *s, const unsigned char *value,
			    int64_t now);
/* Another node demands the lock. */
void glock__dlm_turn_is_demanded(struct dlm *d, const struct slot *s);
/* The node releases the lock. If the turn is known, the node writes the sums into the value. */
void glock__dlm_turn_ends(struct dlm *d, const struct slot *s, unsigned char *value, int64_t now);
/* The reply to the release has come. */
void glock__dlm_turn_ended(struct dlm *d, const struct slot *s, int64_t now);
/* Tells whether the value has sums of turns. */
bool glock__dlm_turn_is_in(const unsigned char *value);

#endif
