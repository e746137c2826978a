/* SPDX-License-Identifier: MIT */
/*
 * dlm_plocks.c - fcntl(2) locks that dlm_controld keeps: lists of two samples become waits.
 *
 * The lists have no times.
 *
 * A wait goes on if two lists in a row show the request of one process, and no later request stands
 * before it. dlm_controld grants in the order of the list, and puts a new request at its end. Of a
 * wait that began or ended between two lists, half of the time in between is lost in the mean.
 */
#include "plocks_read.h"

#include "o2top/base/grow.h"
#include "o2top/model/source.h"
#include "o2top/model/waits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file with more locks than this has some in the way of a request among the first ones. */
enum { PROCESSES_MAX = 64 };
enum { KEPT_SAMPLES = 32 }; /* a list without a later one is shown so long */

/* ---- two lists ----------------------------------------------------------------------------- */

static bool same_request(const struct plock *a, const struct plock *b)
{
	return a->waits && b->waits && a->number == b->number && a->pid == b->pid &&
	       a->owner == b->owner && a->write == b->write && a->start == b->start &&
	       a->end == b->end;
}

/*
 * Returns the request of the list before that may be the same wait, or NULL. Most requests stand in
 * the order of that list, so that the search begins behind the last one that it found.
 */
static struct plock *request_before(const struct plock *p, struct plock *before, size_t n,
				    size_t *next)
{
	for (size_t i = 0; i < n; i++) {
		size_t at = (*next + i) % n;

		if (!same_request(p, &before[at]))
			continue;
		*next = at + 1;
		return &before[at];
	}
	return NULL;
}

/* The node whose table has a lock: the process's own, otherwise one that answers. */
static uint32_t home_of(const struct model *m, const struct plock *p, bool *own)
{
	uint32_t other = NONE;

	for (uint32_t i = 0; i < m->n_nodes; i++) {
		const struct node_space *ns = space_now_on(m, &m->nodes[i], p->space);

		*own = m->nodes[i].dlm_id[DLM_KERNEL] == p->number;
		if (ns && ns->present && *own)
			return i;
		if (ns && ns->present && other == NONE)
			other = i;
	}
	*own = false;
	return other;
}

static struct lock *lock_of(struct model *m, const struct plock *p, uint32_t home)
{
	struct lock_id id = {.number = p->inode, .type = m->spaces[p->space].source->plocks};
	struct lock *lock = table_take(&m->nodes[home].spaces[p->space]->table, &id);

	if (lock) {
		lock->holders = lock->now.sample == m->sample ? lock->holders : NONE;
		lock->now.sample = m->sample;
	}
	return lock;
}

static struct change *change_of(struct model *m, const struct plock *p, uint32_t home)
{
	struct lock *lock = lock_of(m, p, home);
	struct change *c =
	    lock ? table_change(&m->nodes[home].spaces[p->space]->table, lock) : NULL;

	if (c)
		c->uncounted = true;
	return c;
}

/* Adds `s` seconds of the `dt` since the list before. */
static void add_lost(struct change *c, const struct node *node, double s, double dt, bool measured)
{
	change_add_lost(c, s, dt > 0 && node->frame_s > 0 ? min_s(node->frame_s / dt, 1) : 0);
	if (!measured)
		c->estimated_s += s;
}

/* Adds a request that waits, and its age. */
static void add_waiting(struct model *m, struct plock *p, const struct plock *was, double dt)
{
	bool own;
	uint32_t home = home_of(m, p, &own);
	struct change *c = home == NONE ? NULL : change_of(m, p, home);

	if (!c)
		return;
	p->least_s = was ? was->least_s + dt : 0;
	p->most_s = was ? was->most_s + dt : dt > 0 ? dt : NAN;
	change_add_wait(c, p->least_s, p->most_s, m->sample == 1 ? 0 : m->nodes[home].frame_s);
	change_add_wish(c, p->write);
	c->unproved |= p->least_s <= 0 && isnan(p->most_s);
	c->demanded += !own && c->demanded < UINT8_MAX;
	if (dt > 0)
		add_lost(c, &m->nodes[home], was ? dt : dt / 2, dt, was);
}

static void add_ended(struct model *m, const struct plock *p, double dt)
{
	bool own;
	uint32_t home = home_of(m, p, &own);
	struct change *c = home == NONE || !(dt > 0) ? NULL : change_of(m, p, home);

	if (!c)
		return;
	add_lost(c, &m->nodes[home], dt / 2, dt, false);
	change_add_longest(c, p->least_s + dt / 2, true);
	wait_counts_add(&m->nodes[home].spaces[p->space]->ended, p->least_s + dt / 2);
}

/* ---- processes ----------------------------------------------------------------------------- */

bool plock_blocks(const struct plock *a, const struct plock *b)
{
	return !a->waits && b->waits && (a->write || b->write) && a->start <= b->end &&
	       b->start <= a->end &&
	       (a->number != b->number || a->pid != b->pid || a->owner != b->owner);
}

/* Returns whether a process waits, or keeps one of the requests waiting. */
static bool matters(const struct plock *p, const struct plock *requests, size_t n)
{
	for (size_t i = 0; i < n && !p->waits; i++)
		if (plock_blocks(p, &requests[i]))
			return true;
	return p->waits;
}

/* Adds a process to the holders of its node, behind those of the same Lock. */
static void add_process(struct model *m, const struct plock *p, uint32_t home)
{
	struct node_space *ns = m->nodes[home].spaces[p->space];
	int64_t now_us = node_when(&m->nodes[home], m->sample)->mono_us;
	struct lock *lock = lock_of(m, p, home);
	struct holder *h;

	/* a row has the nodes of processes that hold the lock, too */
	if (!change_of(m, p, home) || !lock ||
	    !grow(&ns->holders.list, ns->holders.n, &ns->holders.room, sizeof(*h)))
		return;
	h = &ns->holders.list[ns->holders.n];
	*h = (struct holder){.lock = table_index(&ns->table, lock),
			     .state = p->write ? HOLDER_WR : HOLDER_RD,
			     .waits = p->waits,
			     .pid = p->pid,
			     .seen_us = now_us - (int64_t)(1e6 * p->least_s),
			     .not_before_us = INT64_MIN};
	if (!isnan(p->most_s))
		h->not_before_us = now_us - (int64_t)(1e6 * p->most_s);
	snprintf(h->comm, sizeof(h->comm), "%s", *p->comm ? p->comm : "?");
	if (lock->holders == NONE)
		lock->holders = ns->holders.n;
	ns->holders.n++;
}

/* Adds the processes of a file, those of one node after the other. */
static void add_processes(struct model *m, const struct plock *list, size_t n)
{
	size_t added = 0, first = 0; /* requests stand behind the locks that are held */
	bool own;

	while (first < n && !list[first].waits)
		first++;
	for (uint32_t node = 0; node < m->n_nodes; node++)
		for (size_t i = 0; i < n && added < PROCESSES_MAX; i++)
			if (home_of(m, &list[i], &own) == node && own &&
			    matters(&list[i], list, n)) {
				add_process(m, &list[i], node);
				added++;
			}
}

/* ---- a sample ------------------------------------------------------------------------------ */

/* Returns the time between the two last lists of a lock space, by a node that gave this one. */
static double time_between(const struct model *m, uint32_t space, uint32_t before)
{
	for (size_t i = 0; i < m->n_nodes && before; i++) {
		const struct node *node = &m->nodes[i];

		/* the clock of a node that restarted began anew */
		if (space_now_on(m, node, space) && node->dropped < before &&
		    node->state != NODE_RESTARTED && node->state != NODE_CLOCK_BACK)
			return max_s(seconds(node_when(node, m->sample)->mono_us -
					     node_when(node, before)->mono_us),
				     0);
	}
	return 0;
}

static void settle_file(struct model *m, struct plock *now, size_t n, struct plock *before,
			size_t n_before, double dt)
{
	size_t next = 0;
	int64_t last = -1; /* the latest place that a request of these had before */
	bool any = false, behind_new = false;

	for (size_t i = 0; i < n; i++) {
		struct plock *was;

		if (!now[i].waits)
			continue;
		any = true;
		was = request_before(&now[i], before, n_before, &next);
		/* an earlier request that was later, or was not there, shows a request made anew */
		if (was && (behind_new || was->place < last))
			was = NULL;
		else if (was)
			last = was->place;
		behind_new |= !was;
		if (was)
			was->goes_on = true;
		add_waiting(m, &now[i], dt > 0 ? was : NULL, dt);
	}
	for (size_t i = 0; i < n_before; i++)
		if (before[i].waits && !before[i].goes_on)
			add_ended(m, &before[i], dt);
	if (any)
		add_processes(m, now, n);
}

/*
 * Shows the waits of the last list in a sample without one, because an absent list is no end of a
 * wait. The next list tells the time that they lost.
 */
static void show_older(struct model *m, struct plock *list, size_t n)
{
	double since = time_between(m, list->space, m->spaces[list->space].plocks_at);
	bool own, any = false;

	for (size_t i = 0; i < n; i++) {
		uint32_t home = list[i].waits ? home_of(m, &list[i], &own) : NONE;
		struct change *c = home == NONE ? NULL : change_of(m, &list[i], home);

		if (!c)
			continue;
		any = true;
		change_add_wait(c, list[i].least_s, list[i].most_s + since, m->nodes[home].frame_s);
		change_add_wish(c, list[i].write);
		c->unproved |= list[i].least_s <= 0 && isnan(list[i].most_s);
		c->demanded += !own && c->demanded < UINT8_MAX;
	}
	if (any)
		add_processes(m, list, n);
}

/* Gives the Locks that became active their Shots. */
static void end_tables(struct model *m)
{
	for (size_t i = 0; i < m->n_nodes; i++)
		for (uint32_t j = 0; j < m->nodes[i].n_spaces; j++) {
			struct node_space *ns = m->nodes[i].spaces[j];
			uint8_t type = m->spaces[j].source->plocks;

			for (uint32_t k = 0; ns && ns->present && type && k < ns->table.n_active;
			     k++) {
				struct lock *lock =
				    table_lock(&ns->table, ns->table.active[k].lock);

				if (lock->id.type == type)
					table_late(&ns->table, lock, m->sample,
						   m->nodes[i].frame_s);
			}
		}
}

/* Returns how many entries from `first` on are of one file. */
static size_t of_file(const struct plocks *p, size_t first)
{
	size_t n = 0;

	while (first + n < p->n && plocks_by_file(&p->list[first], &p->list[first + n]) == 0)
		n++;
	return n;
}

static void settle(struct model *m, struct plocks *now, struct plocks *before, const uint32_t *at)
{
	size_t n, other;

	for (size_t i = 0; i < now->n; i += n) {
		struct plock *file = &now->list[i];
		struct plock *then = plocks_find(before->list, before->n, file, &other);

		n = of_file(now, i);
		settle_file(m, file, n, then, other, time_between(m, file->space, at[file->space]));
	}
	/* files that no process locks any more, or of a lock space that gave no list */
	for (size_t i = 0; i < before->n; i += n) {
		struct plock *file = &before->list[i];
		uint32_t listed = m->spaces[file->space].plocks_at;

		n = of_file(before, i);
		if (listed != m->sample && m->sample - listed <= KEPT_SAMPLES)
			show_older(m, file, n);
		else if (listed == m->sample && !plocks_find(now->list, now->n, file, &other))
			settle_file(m, NULL, 0, file, n,
				    time_between(m, file->space, at[file->space]));
	}
}

/* Keeps the last list of each lock space that gave none. */
static bool keep_older(struct model *m, struct plocks *now)
{
	for (size_t i = 0; i < m->plocks.n; i++) {
		if (m->spaces[m->plocks.list[i].space].plocks_at == m->sample)
			continue;
		if (!grow(&now->list, now->n, &now->room, sizeof(*now->list)))
			return false;
		now->list[now->n++] = m->plocks.list[i];
	}
	if (now->n)
		qsort(now->list, now->n, sizeof(*now->list), plocks_by_place);
	return true;
}

int dlm_plocks_read(struct model *m, struct collector *c, const struct sample *sample)
{
	struct plocks now = {0};
	uint32_t *at = calloc(m->n_spaces + 1, sizeof(*at));
	int err;

	if (!at)
		return -ENOMEM;
	for (size_t i = 0; i < m->n_spaces; i++)
		at[i] = m->spaces[i].plocks_at;
	err = plock_lists_read(m, c, sample, &now);
	if (!err) {
		settle(m, &now, &m->plocks, at);
		end_tables(m);
	}
	if (!err && !keep_older(m, &now))
		err = -ENOMEM;
	free(m->plocks.list);
	m->plocks = now;
	free(at);
	return err;
}
