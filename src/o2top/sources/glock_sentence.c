/* SPDX-License-Identifier: MIT */
/*
 * glock_sentence.c - the sentence about waits among the processes of a libglock lock space.
 *
 * All processes publish exactly which process holds and which waits, and since when.
 */
#include "glock_impl.h"

#include "o2top/base/units.h"

#include <stdlib.h>
#include <string.h>

enum { SENTENCE_MAX = 768 };

/* Shorter waits are traffic. */
#define TELLING_WAIT_S 0.5

static bool says_how_it_is(enum node_state state)
{
	return state == NODE_STOPPED || state == NODE_HANGS || state == NODE_DEAD ||
	       state == NODE_WITHDRAWN;
}

/*
 * Says "b-34 (pid 34 writer) has held EX for 3.2 s and is stopped". Returns false if this node
 * does not hold it.
 */
static bool glock_say_holder(struct words *w, const struct model *m, const struct row_wait *wait,
			     uint32_t at, bool first, struct blocker *root)
{
	const struct lockset *set = wait->set;
	const struct node *node = &m->nodes[at];
	const struct node_space *ns = space_now_on(m, node, wait->space);
	const struct lock *lock = ns ? table_find(&ns->table, &set->members[0].lock->id) : NULL;
	const struct holder *h;
	uint32_t n = lock && lock->now.sample == m->sample ? holders_of(ns, lock, &h) : 0;
	bool cached = lock && lock->now.sample == m->sample && lock->now.glock.state;

	while (n && h->waits)
		n--, h++;
	if (!n && !(cached && (set->sum.wants_ex || lock->now.glock.state == 1)))
		return false;
	if (first)
		*root = (struct blocker){.node = (int32_t)at,
					 .pid = n ? h->pid : 0,
					 .inside = n,
					 .silent = says_how_it_is(node->state)};
	words_add(w, "%s%s", first ? "" : ", ", node->name);
	if (n)
		words_add(w, " (pid %lld %s%s%s) %s %s", (long long)h->pid, h->comm,
			  *ns->user ? ", " : "", ns->user, h->exact ? "has held" : "holds",
			  holder_modes[h->state]);
	if (n && h->exact)
		words_add(w, " for %.1f s",
			  seconds(node_when(node, m->sample)->mono_us - h->seen_us));
	if (!n)
		words_add(w, " caches it in %s and has not demoted it",
			  holder_modes[lock->now.glock.state < 4 ? lock->now.glock.state : 4]);
	if (says_how_it_is(node->state))
		words_add(w, " and is %s%s%s",
			  node->state == NODE_HANGS ? "hanging" : node_state_names[node->state],
			  node->why ? ": " : "", node->why ? node->why : "");
	return true;
}

static void glock_say_waiters(struct words *w, const struct model *m, const struct lockset *set)
{
	unsigned named = 0, more = 0;

	for (uint32_t i = 0; i < set->n_members; i++) {
		const struct member *member = &set->members[i];
		const struct node_space *ns = m->nodes[member->node].spaces[member->space];
		const struct holder *h;
		uint32_t n = holders_of(ns, member->lock, &h);

		for (; n; n--, h++) {
			if (!h->waits)
				continue;
			if (named >= 3) {
				more++;
				continue;
			}
			words_add(w, "%s%s (pid %lld %s%s%s)", named++ ? ", " : "",
				  m->nodes[member->node].name, (long long)h->pid, h->comm,
				  *ns->user ? ", " : "", ns->user);
		}
	}
	if (more)
		words_add(w, " and %u more", more);
	words_add(w, named + more > 1 ? " wait" : " waits");
}

char *glock_sentence(const struct model *m, const struct row_wait *wait, struct blocker *root)
{
	const struct lockset *set = wait->set;
	char text[SENTENCE_MAX];
	struct words w = {text, sizeof(text)};
	bool first = true;

	*root = (struct blocker){.node = -1};
	if (set->sum.oldest_s < TELLING_WAIT_S)
		return NULL;
	/* the blocker comes first, then the waiters */
	for (uint32_t i = 0; i < m->n_nodes; i++)
		if (glock_say_holder(&w, m, wait, i, first, root))
			first = false;
	words_add(&w, first ? "" : "; ");
	glock_say_waiters(&w, m, set);
	words_add(&w, " %.1f s for %s", set->sum.oldest_s, set->sum.wants_ex ? "EX" : "SH");
	return strdup(text);
}
