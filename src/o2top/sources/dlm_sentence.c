/* SPDX-License-Identifier: MIT */
/*
 * dlm_sentence.c - makes a sentence about a row's longest wait from the most telling fact.
 *
 * A statement that joins samples of several nodes needs a wait that is longer than the samples lie
 * apart. A process is named by its own node only. A pid in another node's dump is that of the
 * process that made the lock there.
 *
 * If a node inside waits itself, the sentence follows the wait to its root: dlm_chain.c. The
 * blocker of one wait is found in dlm_blocker.c.
 */
#include "dlm_sentence.h"
#include "o2top/base/clock.h"
#include "o2top/base/units.h"
#include "o2top/model/waits.h"
#include "o2top/sources/lines/gfs2_line.h"

#include <string.h>

enum { SENTENCE_MAX = 1024, WAITERS_NAMED = 12 };

static unsigned waiting_nodes(const struct facts *f)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < f->wait->set->n_members; i++)
		n += change_own_waits(f->wait->set->members[i].change) != 0;
	return n;
}

/* How far the samples of the nodes are apart, in seconds. */
struct apart {
	double samples; /* they were taken at moments that lie so far apart */
	double clocks;  /* and the nodes' clocks differ by so much; 0 by no more than `samples` */
};

/*
 * Returns how far the joined samples lie apart. The collector tells it for live nodes. In a
 * recording only the nodes' clocks tell it. If they differ by more than a sample may take, the
 * clocks are wrong. The frames of different nodes then tell how much the moments of the samples
 * vary.
 */
static struct apart apart(const struct model *m)
{
	double first = INFINITY, last = -INFINITY, told = 0, shortest = INFINITY, longest = 0;

	for (size_t i = 0; i < m->n_nodes; i++) {
		const struct node *n = &m->nodes[i];
		double at;

		if (node_absent(m, n))
			continue;
		told = max_s(told, n->skew_s);
		at = 1e-6 * (double)node_when(n, m->sample)->real_us;
		first = min_s(first, at);
		last = max_s(last, at);
		if (n->away || isnan(n->interval_s))
			continue;
		shortest = min_s(shortest, n->interval_s);
		longest = max_s(longest, n->interval_s);
	}
	if (told > 0 || last <= first)
		return (struct apart){told, 0};
	if (last - first > (longest > 0 ? min_s(longest, ONE_SAMPLE_S) : ONE_SAMPLE_S))
		return (struct apart){longest > 0 ? longest - shortest : 0, last - first};
	return (struct apart){last - first, 0};
}

/* ---- the waiters --------------------------------------------------------------------------- */

/* Returns for how many locks a node waits, in all its lock spaces. */
static unsigned waits_of_node(const struct model *m, uint32_t node)
{
	const struct node *n = &m->nodes[node];
	unsigned waits = 0;

	for (uint32_t i = 0; i < n->n_spaces; i++)
		for (uint32_t j = 0; n->spaces[i] && j < n->spaces[i]->table.n_active; j++)
			waits += n->spaces[i]->table.active[j].change.waiting != 0;
	return waits;
}

/*
 * Returns whether a task whose file is not known may wait for this lock. A wait for a flock is
 * interruptible, and such tasks are not listed. With several waits on the node, the task may be in
 * any of them, because a task may begin to wait after the listing of the locks.
 */
static bool may_be_unnamed(const struct facts *f, uint32_t node)
{
	return f->id.type != 'F' && f->id.type != GFS2_FLOCK && waits_of_node(f->m, node) == 1;
}

static void say_process(struct words *t, const struct facts *f, uint32_t node)
{
	const struct model *m = f->m;
	const struct lock *lock = lock_on(f, node);
	const struct waits *w = m->waits;
	const struct lock_task *only = NULL;
	const struct holder *h;
	unsigned candidates = 0;
	bool unnamed = may_be_unnamed(f, node);
	uint32_t n = lock ? holders_of(m->nodes[node].spaces[f->wait->space], lock, &h) : 0;

	for (; n--; h++)
		if (h->waits && h->pid) {
			words_add(t, " (pid %lld%s%s)", (long long)h->pid,
				  holder_unnamed(h) ? "" : " ", holder_unnamed(h) ? "" : h->comm);
			return;
		}
	/* A task in lock code, found by the file of its call, or the only task there is. */
	for (size_t i = 0; w && i < w->n_tasks; i++) {
		const struct lock_task *task = &w->tasks[i];

		if (task->node != node ||
		    (task->inode ? task->inode != f->wait->row.number : !unnamed))
			continue;
		candidates++;
		if (!only || task->inode)
			only = task;
	}
	if (only && (candidates == 1 || only->inode))
		words_add(t, " (pid %lld %s)", (long long)only->pid, only->comm);
	else if (only)
		words_add(t, " (one of %u processes there that wait for a lock)", candidates);
}

static const char *at_least(const struct change *c)
{
	return isnan(c->oldest_max_s) || c->oldest_max_s > c->oldest_s * 1.01 ? " at least " : " ";
}

/* Returns since when each sample shows a demand for the lock on any node; 0 if only this one. */
static double demand_shown_s(const struct facts *f)
{
	double longest_s = 0;

	for (uint32_t i = 0; i < f->wait->set->n_members; i++) {
		const struct member *at = &f->wait->set->members[i];
		const struct node *node = &f->m->nodes[at->node];
		const struct node_space *ns = node->spaces[at->space];

		for (size_t j = 0; j < ns->demands.n && at->change->demanded; j++)
			if (table_lock(&ns->table, ns->demands.list[j].lock) == at->lock)
				longest_s = max_s(longest_s,
						  seconds(node_when(node, f->m->sample)->mono_us -
							  ns->demands.list[j].shown_us));
	}
	return longest_s;
}

/*
 * Returns the only request of a node that is not watched in the queues of the lock, or NULL. Stores
 * the node whose queues they are, which is the lock's master.
 */
static const struct dlm_entry *only_request(const struct facts *f, const struct node **master)
{
	const struct waits *w = f->m->waits;
	const struct dlm_entry *only = NULL;

	for (size_t i = 0; w && i < w->n_views; i++) {
		const struct dlm_view *v = &w->views[i];

		if (v->space != f->wait->space || !v->is_master || !lock_id_same(&v->id, &f->id))
			continue;
		for (uint32_t j = v->first; j < v->first + v->n; j++) {
			const struct dlm_entry *e = &w->entries[j];

			if (e->granted || e->node >= 0 || !e->number)
				continue;
			if (only)
				return NULL;
			only = e;
			*master = &f->m->nodes[v->node];
		}
	}
	return only;
}

/* Says that a node waits which is not watched, in which mode, and for how long. */
static void say_demand(struct words *t, const struct facts *f)
{
	const struct change *sum = &f->wait->set->sum;
	const struct node *master = NULL;
	const struct dlm_entry *e = only_request(f, &master);
	double shown_s = demand_shown_s(f);
	char age[UNIT_MAX];

	if (e)
		words_add(t, "the DLM's node %d", e->number);
	if (e && e->pid)
		words_add(t, " (pid %u)", e->pid);
	if (e)
		words_add(t, " has asked %s, the lock's master, for it in ", master->name);
	else
		words_add(t, "another node has asked for it in ");
	words_add(t, "%s",
		  sum->wants_ex       ? "EX"
		  : sum->wants_shared ? (f->m->spaces[f->wait->space].fs == FS_GFS2 ? "SH" : "PR")
				      : "DF");
	if (sum->oldest_s > 0)
		words_add(t, " for%s%s", at_least(sum), unit_seconds(age, sum->oldest_s));
	else if (shown_s > 0)
		words_add(t,
			  "; each sample of the last %s shows this, but not that it is one request",
			  unit_seconds(age, shown_s));
	else if (!isnan(sum->oldest_max_s))
		words_add(t, " for at most %s", unit_seconds(age, sum->oldest_max_s));
	else
		words_add(t, ", since when is not known");
}

static void dlm_say_waiters(struct words *t, const struct facts *f)
{
	char age[UNIT_MAX];
	unsigned total = waiting_nodes(f), done = 0;

	for (uint32_t i = 0; i < f->wait->set->n_members; i++) {
		const struct member *member = &f->wait->set->members[i];

		if (!change_own_waits(member->change))
			continue;
		/* A name that is cut off could be that of another node. */
		if (done == WAITERS_NAMED && total > done + 1) {
			words_add(t, " and %u more nodes", total - done);
			break;
		}
		words_add(t, "%s%s",
			  !done               ? ""
			  : done + 1 == total ? " and "
					      : ", ",
			  f->m->nodes[member->node].name);
		say_process(t, f, member->node);
		done++;
	}
	if (!total) {
		say_demand(t, f);
		return;
	}
	words_add(t, "%s %s%s", f->wait->set->sum.demanded ? " and a node that is not watched" : "",
		  total == 1 && !f->wait->set->sum.demanded ? "waits" : "wait",
		  !change_age_known(&f->wait->set->sum) ? ", for how long is not known"
							: at_least(&f->wait->set->sum));
	if (change_age_known(&f->wait->set->sum))
		words_add(t, "%s", unit_seconds(age, f->wait->set->sum.oldest_s));
}

/* Ends a text that is too long behind a whole name. */
static void end_at_a_name(char *text)
{
	char *at = text + strlen(text) - 4;

	while (at > text && *at != ',' && *at != ';')
		at--;
	memcpy(at, "...", 4);
}

/* ---- the sentence -------------------------------------------------------------------------- */

char *dlm_sentence(const struct model *m, const struct row_wait *wait, struct blocker *root,
		   const struct dlm_words *words)
{
	const struct change *sum = &wait->set->sum;
	const struct apart far = apart(m);
	struct dlm_blockers blockers = {.n = 0};
	const struct facts f = {.m = m,
				.wait = wait,
				.words = words,
				.id = wait->set->members[0].lock->id,
				.blockers = &blockers};
	char text[SENTENCE_MAX], difference[UNIT_MAX];
	struct words t = {text, sizeof(text)};
	struct dlm_chain chain;
	bool blocked;

	*root = (struct blocker){.node = -1};
	if (!sum->unproved &&
	    ((sum->oldest_s < WAITS_LONG_S && !wait->opened) || !(sum->oldest_s > far.samples)))
		return NULL;
	words_add(&t, "%s: ", wait->label);
	/* The blocker comes first, then the waiters. */
	blocked = dlm_follow(&chain, &t, m, wait, words, far.samples, &blockers);
	words_add(&t, blocked ? "; " : "");
	dlm_say_waiters(&t, &f);
	dlm_say_chain(&t, &chain, m);
	if (blockers.n)
		*root = chain.root;
	if (!blocked && m->waits && m->waits->read)
		words_add(&t, "; no holder was seen");
	if (far.clocks > 0 && sum->oldest_s <= far.clocks)
		words_add(&t, "; the nodes' clocks differ by about %s",
			  unit_seconds(difference, far.clocks));
	if (t.left <= 1)
		end_at_a_name(text);
	return strdup(text);
}
