/* SPDX-License-Identifier: MIT */
/*
 * dlm_chain.c - follows a wait to its root.
 *
 * A process that holds a lock may itself wait for another lock. Then the holder of that lock is the
 * cause. One step of the chain goes from a lock to the lock that its holder waits for:
 *
 * - GFS2 names processes. The holder's process waits for another glock.
 * - OCFS2 does not. A process of the holder's node waits for another lock of the same inode. The
 *   kernel takes the locks of an inode one after the other, so this is the same process as a rule.
 *   The rule does not hold for a flock, because its holder is outside the kernel. A wait that is
 *   much younger than the first one is that of another process, too.
 *
 * A chain that comes back to a lock is a deadlock.
 */
#include "dlm_sentence.h"

#include <stdlib.h>

/* A wait of this length is no traffic. */
#define OLD_S 1.0

enum { TEXT_MAX = 1024, NODES_MAX = 64, NAME_MAX_BYTES = 64 };

/* One lock of the chain. */
struct step {
	struct lock_id id;
	struct member members[NODES_MAX];
	struct lockset set;
	struct row_wait wait;
	struct dlm_blockers blockers;
	char text[TEXT_MAX];
};

/* Gathers what all nodes show of a lock in this frame. Returns false if no node waits for it. */
static bool gather(struct step *s, const struct model *m, uint32_t space, const struct lock_id *id)
{
	s->id = *id;
	s->set = (struct lockset){.members = s->members};
	for (uint32_t i = 0; i < m->n_nodes && s->set.n_members < NODES_MAX; i++) {
		const struct node_space *ns = space_now_on(m, &m->nodes[i], space);
		const struct lock *lock = ns ? table_find(&ns->table, id) : NULL;
		const struct change *c = lock ? table_changed(&ns->table, lock) : NULL;

		if (!c)
			continue;
		s->members[s->set.n_members++] =
		    (struct member){space, i, m->spaces[space].source->row(lock), lock, c};
		change_sum(&s->set.sum, c);
	}
	return s->set.sum.waiting;
}

/* Finds the glock that a process waits for, other than `held`. */
static bool waits_by_process(const struct node_space *ns, const struct lock_id *held, int64_t pid,
			     struct lock_id *next)
{
	for (uint32_t i = 0; i < ns->holders.n; i++) {
		const struct holder *h = &ns->holders.list[i];
		const struct lock *lock = table_lock(&ns->table, h->lock);

		if (h->waits && h->pid == pid && !lock_id_same(&lock->id, held)) {
			*next = lock->id;
			return true;
		}
	}
	return false;
}

/* Returns whether a wait may be the reason of one that has lasted for `first_s`. */
static bool old_enough(const struct change *c, double first_s)
{
	return isnan(c->oldest_max_s) ||
	       max_s(c->oldest_s, c->oldest_max_s) >= min_s(OLD_S, first_s / 2);
}

/* Finds another lock of the same inode for which the node waits. */
static bool waits_by_inode(const struct model *m, const struct node_space *ns, uint32_t space,
			   const struct lock *held, double first_s, struct lock_id *next)
{
	struct row_id row = m->spaces[space].source->row(held), other;
	double oldest_s = -1;

	for (uint32_t i = 0; i < ns->table.n_active; i++) {
		const struct activity *a = &ns->table.active[i];
		const struct lock *lock = table_lock(&ns->table, a->lock);

		other = m->spaces[space].source->row(lock);
		if (!change_own_waits(&a->change) || a->change.oldest_s <= oldest_s ||
		    lock->id.type == 'F' || !old_enough(&a->change, first_s) ||
		    other.class != row.class || other.number != row.number ||
		    lock_id_same(&lock->id, &held->id))
			continue;
		oldest_s = a->change.oldest_s;
		*next = lock->id;
	}
	return oldest_s >= 0;
}

/*
 * Finds the lock that a blocker waits for. Sets *sure to false if the process is only probably the
 * one that holds the lock.
 */
static bool next_lock(const struct model *m, const struct step *s, const struct blocker *b,
		      struct lock_id *next, bool *sure)
{
	const struct node_space *ns =
	    b->inside && b->node >= 0 ? space_now_on(m, &m->nodes[b->node], s->wait.space) : NULL;
	const struct lock *held = ns ? table_find(&ns->table, &s->id) : NULL;

	if (!held)
		return false;
	if (b->pid)
		return waits_by_process(ns, &s->id, b->pid, next);
	if (m->spaces[s->wait.space].fs == FS_GFS2 || s->id.type == 'F')
		return false;
	*sure = false;
	return waits_by_inode(m, ns, s->wait.space, held, s->wait.set->sum.oldest_s, next);
}

/* Names a lock inside a sentence: its type, and its own name if it is of another row. */
static void name_lock(struct words *t, const struct model *m, const struct step *first,
		      const struct step *s)
{
	const struct source *source = m->spaces[s->wait.space].source;
	struct row_id a = source->row(first->members[0].lock), b = source->row(s->members[0].lock);
	char name[NAME_MAX_BYTES];

	if (a.class == b.class && a.number == b.number) {
		words_add(t, "%s", source->type_name(s->id.type));
		return;
	}
	source->lock_name(s->members[0].lock, name, sizeof(name));
	words_add(t, "%s %s", source->type_name(s->id.type), name);
}

/* Notes the blocker at the end of the chain, and the row of the lock that it holds. */
static void set_root(struct dlm_chain *chain, const struct model *m, const struct step *s,
		     const struct blocker *at)
{
	const struct row_id *first = &s->wait.row;

	chain->root = *at;
	chain->root.row = m->spaces[s->wait.space].source->row(s->members[0].lock);
	chain->root.other =
	    chain->root.row.class != first->class || chain->root.row.number != first->number;
}

/* Puts the steps' texts together, the root first. */
static void say_steps(struct words *t, const struct model *m, const struct step *steps, unsigned n)
{
	bool said = false;

	for (unsigned i = n; i--;) {
		if (!*steps[i].text)
			continue;
		words_add(t, "%s", said ? "; " : "");
		said = true;
		if (n > 1) {
			name_lock(t, m, &steps[0], &steps[i]);
			words_add(t, ": ");
		}
		words_add(t, "%s", steps[i].text);
		if (i + 1 < n) {
			words_add(t, ", and waits for ");
			name_lock(t, m, &steps[0], &steps[i + 1]);
			words_add(t, "%s", *steps[i + 1].text ? "" : ", whose holder was not seen");
		}
	}
}

/* Returns the step of a lock, or NULL. */
static const struct step *visited(const struct step *steps, unsigned n, const struct lock_id *id)
{
	for (unsigned i = 0; i < n; i++)
		if (lock_id_same(&steps[i].id, id))
			return &steps[i];
	return NULL;
}

/*
 * Returns whether a node has waited for the lock of a step for longer than the samples lie apart.
 * Only then it waited while the others did.
 */
static bool waits_at_once(const struct step *s, int32_t node, double apart_s)
{
	const struct lockset *set = s->wait.set;

	for (uint32_t i = 0; i < set->n_members; i++)
		if ((int32_t)set->members[i].node == node)
			return set->members[i].change->oldest_s > apart_s;
	return false;
}

/* Returns the node whose wait is the oldest, or -1. */
static int32_t first_waiter(const struct lockset *set, int32_t but)
{
	double oldest_s = -1;
	int32_t node = -1;

	for (uint32_t i = 0; i < set->n_members; i++)
		if (change_own_waits(set->members[i].change) &&
		    set->members[i].change->oldest_s > oldest_s &&
		    (int32_t)set->members[i].node != but) {
			oldest_s = set->members[i].change->oldest_s;
			node = (int32_t)set->members[i].node;
		}
	return node;
}

bool dlm_follow(struct dlm_chain *chain, struct words *t, const struct model *m,
		const struct row_wait *wait, const struct dlm_words *words, double apart_s,
		struct dlm_blockers *blockers)
{
	const struct step *before;
	struct step *steps = calloc(DLM_CHAIN_MAX, sizeof(*steps));
	struct lock_id next;
	unsigned n = 0;
	bool said = false, known, more = true;

	*chain = (struct dlm_chain){.sure = true, .root = {.node = -1}};
	if (!steps)
		return dlm_say_blocker(t, m, wait, words, blockers);
	steps[0].id = wait->set->members[0].lock->id;
	steps[0].members[0] = wait->set->members[0];
	steps[0].wait = *wait;
	while (more && n < DLM_CHAIN_MAX) {
		struct step *s = &steps[n++];
		struct words text = {s->text, sizeof(s->text)};
		const struct blocker *at = s->blockers.list;

		more = false;
		known = dlm_say_blocker(&text, m, &s->wait, words, &s->blockers);
		said |= known;
		/* Without a blocker here the root is not known: the node before waits itself. */
		chain->root = (struct blocker){.node = -1};
		if (!known)
			break;
		if (s->blockers.n)
			set_root(chain, m, s, at);
		for (unsigned i = 0; i < s->blockers.n && !more && !chain->cycle; i++) {
			if (!next_lock(m, s, &at[i], &next, &chain->sure))
				continue;
			set_root(chain, m, s, &at[i]);
			before = visited(steps, n, &next);
			chain->cycle = before != NULL;
			more = !chain->cycle && n < DLM_CHAIN_MAX &&
			       gather(&steps[n], m, wait->space, &next);
			if (more) {
				steps[n].wait = *wait;
				steps[n].wait.set = &steps[n].set;
			}
			if (more || before)
				chain->sure &=
				    waits_at_once(more ? &steps[n] : before, at[i].node, apart_s);
		}
		if (n == 1)
			chain->nodes[chain->n++] = first_waiter(wait->set, chain->root.node);
		if (s->blockers.n && chain->n < DLM_CHAIN_MAX)
			chain->nodes[chain->n++] = chain->root.node;
	}
	chain->root.chain = n > 1;
	chain->root.deadlock = chain->cycle && chain->sure;
	*blockers = steps[0].blockers;
	say_steps(t, m, steps, n);
	free(steps);
	return said;
}

void dlm_say_chain(struct words *t, const struct dlm_chain *chain, const struct model *m)
{
	if (!chain->root.chain && !chain->cycle)
		return;
	words_add(t, chain->cycle ? chain->sure ? "; deadlock" : "; perhaps a deadlock" : "");
	words_add(t, " (");
	for (unsigned i = 0; i < chain->n; i++)
		if (chain->nodes[i] >= 0)
			words_add(t, "%s%s", i ? " -> " : "", m->nodes[chain->nodes[i]].name);
		else if (i + 1 == chain->n && chain->root.number)
			words_add(t, "%sthe DLM's node %d", i ? " -> " : "", chain->root.number);
		else
			words_add(t, "%sanother node", i ? " -> " : "");
	words_add(t, ")");
}
