/* SPDX-License-Identifier: MIT */
/*
 * plock_sentence.c - says which process has the fcntl(2) lock for which others wait, and names a
 * deadlock.
 *
 * A process waits at one place at a time. dlm_controld looks for no deadlock, and the kernel looks
 * only among the locks of one node.
 */
#include "plocks_read.h"

#include "o2top/base/units.h"
#include "o2top/model/waits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCE_MAX = 1024, WAITERS_NAMED = 4, CHAIN_MAX = 8 };

static int32_t node_of(const struct model *m, const struct plock *p)
{
	for (size_t i = 0; i < m->n_nodes; i++)
		if (p->number && m->nodes[i].dlm_id[DLM_KERNEL] == p->number)
			return (int32_t)i;
	return -1;
}

static void say_process(struct words *w, const struct model *m, const struct plock *p)
{
	int32_t node = node_of(m, p);

	words_add(w, "pid %u%s%s on ", p->pid, *p->comm ? " " : "", p->comm);
	if (node >= 0)
		words_add(w, "%s", m->nodes[node].name);
	else
		words_add(w, "the DLM's node %d", p->number);
}

/* The kernel's end of a file is the greatest signed number. */
static void say_bytes(struct words *w, const struct plock *p)
{
	if (!p->start && p->end >= INT64_MAX)
		words_add(w, "all bytes");
	else if (p->end >= INT64_MAX)
		words_add(w, "bytes %" PRIu64 " to the end", p->start);
	else
		words_add(w, "bytes %" PRIu64 "-%" PRIu64, p->start, p->end);
}

/* Returns the first lock in the way of a request, NULL if none is. */
static const struct plock *blocker_of(const struct model *m, const struct plock *request)
{
	size_t n;
	const struct plock *list = plocks_of(m, request->space, request->inode, &n);

	for (size_t i = 0; i < n; i++)
		if (plock_blocks(&list[i], request))
			return &list[i];
	return NULL;
}

static bool same_process(const struct plock *a, const struct plock *b)
{
	return a->number == b->number && a->pid == b->pid;
}

/* Returns the request for which the process of a lock waits itself, or NULL. */
static const struct plock *request_of(const struct model *m, const struct plock *lock)
{
	for (size_t i = 0; i < m->plocks.n; i++)
		if (m->plocks.list[i].waits && same_process(&m->plocks.list[i], lock))
			return &m->plocks.list[i];
	return NULL;
}

/*
 * Follows a request from lock to lock until a process does not wait, or is there already. Returns
 * the number of locks.
 */
static unsigned follow(const struct model *m, const struct plock *request,
		       const struct plock *chain[CHAIN_MAX], bool *deadlock)
{
	const struct plock *first = request;
	unsigned n = 0;

	*deadlock = false;
	while (request && !*deadlock && n < CHAIN_MAX && (chain[n] = blocker_of(m, request))) {
		*deadlock = same_process(chain[n], first);
		for (unsigned i = 0; i < n; i++)
			*deadlock |= same_process(chain[n], chain[i]);
		request = request_of(m, chain[n++]);
	}
	return n;
}

static const struct plock *oldest_of(const struct plock *list, size_t n)
{
	const struct plock *oldest = NULL;

	for (size_t i = 0; i < n; i++)
		if (list[i].waits && (!oldest || list[i].least_s > oldest->least_s))
			oldest = &list[i];
	return oldest;
}

static void say_waiters(struct words *w, const struct model *m, const struct plock *list, size_t n)
{
	unsigned total = 0, done = 0;

	for (size_t i = 0; i < n; i++)
		total += list[i].waits;
	for (size_t i = 0; i < n && done < total; i++) {
		if (!list[i].waits)
			continue;
		if (done == WAITERS_NAMED && total > done + 1) {
			words_add(w, " and %u more processes", total - done);
			break;
		}
		words_add(w, "%s", !done ? "" : done + 1 == total ? " and " : ", ");
		say_process(w, m, &list[i]);
		words_add(w, list[i].write ? " (WR, " : " (RD, ");
		say_bytes(w, &list[i]);
		words_add(w, ")");
		done++;
	}
	words_add(w, total == 1 ? " waits" : " wait");
}

static void say_age(struct words *w, const struct change *sum)
{
	char age[UNIT_RANGE_MAX];

	if (change_age_known(sum))
		words_add(w, " %s", unit_range(age, sum->oldest_s, sum->oldest_max_s));
	else
		words_add(w, ", for how long is not known");
}

/* Says which process waits for which, if more than one wait is in the way, or in a deadlock. */
static void say_chain(struct words *w, const struct model *m, const struct plock *const *chain,
		      unsigned n, bool deadlock)
{
	if (n < 2 && !deadlock)
		return;
	for (unsigned i = 0; i < n; i++) {
		words_add(w, i ? " -> " : " (");
		say_process(w, m, chain[i]);
	}
	/* the process of the request that was followed has the last lock */
	if (deadlock && n > 1 && !same_process(chain[0], chain[n - 1])) {
		words_add(w, " -> ");
		say_process(w, m, chain[0]);
	}
	words_add(w, deadlock ? ": deadlock)" : ")");
}

char *plock_sentence(const struct model *m, const struct row_wait *wait, struct blocker *root)
{
	const struct change *sum = &wait->set->sum;
	const struct plock *chain[CHAIN_MAX], *oldest, *list;
	char text[SENTENCE_MAX];
	struct words w = {text, sizeof(text)};
	bool deadlock = false;
	unsigned n;
	size_t count;

	*root = (struct blocker){.node = -1};
	list = plocks_of(m, wait->space, wait->row.number, &count);
	oldest = oldest_of(list, count);
	n = oldest ? follow(m, oldest, chain, &deadlock) : 0;
	if (!oldest ||
	    (!deadlock && !sum->unproved && sum->oldest_s < WAITS_LONG_S && !wait->opened))
		return NULL;
	words_add(&w, "%s: ", wait->label);
	if (n) {
		say_process(&w, m, chain[0]);
		words_add(&w, " holds %s on ", chain[0]->write ? "WR" : "RD");
		say_bytes(&w, chain[0]);
		words_add(&w, " (fcntl); ");
		*root = (struct blocker){.node = node_of(m, chain[n - 1]),
					 .number = chain[n - 1]->number,
					 .pid = chain[n - 1]->pid,
					 .inside = true,
					 .deadlock = deadlock,
					 .chain = n > 1,
					 .other = chain[n - 1]->inode != wait->row.number,
					 .row = {0, chain[n - 1]->inode}};
		root->silent = root->node >= 0 && node_absent(m, &m->nodes[root->node]);
	}
	say_waiters(&w, m, list, count);
	say_age(&w, sum);
	if (!n)
		words_add(&w, "; no holder was seen");
	say_chain(&w, m, chain, n, deadlock);
	return strdup(text);
}
