/* SPDX-License-Identifier: MIT */
/*
 * glock_wait.c - the sentence about waits among the processes of a libglock lock space.
 *
 * All processes publish exactly which process holds and which waits, and since when.
 */
#include "o2top/rank/rank.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCE_MAX = 768 };

/* Shorter waits are traffic. */
#define TELLING_WAIT_S 0.5

struct words {
	char text[SENTENCE_MAX];
	size_t at;
};

__attribute__((format(printf, 2, 3))) static void say(struct words *w, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(w->text + w->at, sizeof(w->text) - w->at, format, args);
	va_end(args);
	if (n > 0)
		w->at += (size_t)n;
	if (w->at >= sizeof(w->text))
		w->at = sizeof(w->text) - 1;
}

static bool says_how_it_is(enum node_state state)
{
	return state == NODE_STOPPED || state == NODE_HANGS || state == NODE_DEAD ||
	       state == NODE_WITHDRAWN;
}

/* "b-34 (pid 34 writer) has it in EX for 3.2 s and is stopped"; false: this node does not hold it. */
static bool say_holder(struct words *w, const struct model *m, const struct row *row,
		       const struct lockset *set, uint32_t at, bool first)
{
	const struct node *node = &m->nodes[at];
	const struct node_space *ns = row->space < node->n_spaces ? node->spaces[row->space] : NULL;
	const struct lock *lock =
	    ns && !node_absent(m, node) ? table_find(&ns->table, &set->members[0].lock->id) : NULL;
	const struct holder *h;
	uint32_t n = lock && lock->now.sample == m->sample ? holders_of(ns, lock, &h) : 0;
	bool cached = lock && lock->now.sample == m->sample && lock->now.glock.state;

	while (n && h->waits)
		n--, h++;
	if (!n && !(cached && (set->sum.wants_ex || lock->now.glock.state == 1)))
		return false;
	say(w, "%s%s", first ? "; " : ", ", node->name);
	if (n)
		say(w, " (pid %lld %s) has it in %s", (long long)h->pid, h->comm,
		    holder_modes[h->state]);
	if (n && h->exact)
		say(w, " for %.1f s", seconds(node_when(node, m->sample)->mono_us - h->seen_us));
	if (!n)
		say(w, " has it cached in %s and has not given it up",
		    holder_modes[lock->now.glock.state < 4 ? lock->now.glock.state : 4]);
	if (says_how_it_is(node->state))
		say(w, " and is %s%s%s",
		    node->state == NODE_HANGS ? "hanging" : node_state_names[node->state],
		    node->why ? ": " : "", node->why ? node->why : "");
	return true;
}

static const struct lockset *longest_wait(const struct row *row)
{
	const struct lockset *longest = NULL;

	for (uint32_t i = 0; i < row->n_locksets; i++)
		if (row->locksets[i].sum.waiting &&
		    (!longest || row->locksets[i].sum.oldest_s > longest->sum.oldest_s))
			longest = &row->locksets[i];
	return longest;
}

static void say_waiters(struct words *w, const struct model *m, const struct lockset *set)
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
			say(w, "%s%s (pid %lld %s)", named++ ? ", " : "",
			    m->nodes[member->node].name, (long long)h->pid, h->comm);
		}
	}
	if (more)
		say(w, " and %u more", more);
	say(w, named + more > 1 ? " wait" : " waits");
}

char *glock_sentence(const struct model *m, const struct row *row)
{
	const struct lockset *set = longest_wait(row);
	struct words w = {.at = 0};
	bool first = true;

	if (!set || set->sum.oldest_s < TELLING_WAIT_S)
		return NULL;
	say_waiters(&w, m, set);
	say(&w, " %.1f s for %s", set->sum.oldest_s, set->sum.wants_ex ? "EX" : "SH");
	for (uint32_t i = 0; i < m->n_nodes; i++)
		if (say_holder(&w, m, row, set, i, first))
			first = false;
	return strdup(w.text);
}
