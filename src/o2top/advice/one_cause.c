/* SPDX-License-Identifier: MIT */
/*
 * one_cause.c - says once what many waits have in common: a node fell silent, and they began.
 *
 * A node's silence begins between its last answer and the first sample without it. A wait belongs
 * to the silence if it began in this span, or within a second of it. Later waits are behind the
 * first ones as a rule, so the banner counts them apart.
 */
#include "advice.h"

#include "o2top/base/clock.h"
#include "o2top/base/grow.h"
#include "o2top/base/units.h"
#include "o2top/model/source.h"
#include "o2top/model/waits.h"

#include <stdlib.h>

#define WITHIN_S 1.0
/* Shorter waits may be traffic while a sample is late. */
#define LATE_S 3.0
enum { CAUSE_MAX = 512 };

/* The rows in which a banner's waits are, each once. */
struct files {
	struct file {
		uint32_t space;
		struct row_id row;
	} * list;
	size_t n, room;
};

static void files_add(struct files *f, uint32_t space, struct row_id row)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->list[i].space == space && f->list[i].row.class == row.class &&
		    f->list[i].row.number == row.number)
			return;
	if (grow(&f->list, f->n, &f->room, sizeof(*f->list)))
		f->list[f->n++] = (struct file){space, row};
}

/* The waits that one cause explains. */
struct effect {
	unsigned then, later;
	struct files files;
	bool recovering;
	double oldest_s; /* of the waits that began then */
};

/* A wait in progress is asked for its part in the cause: 0 none, 1 it began then, 2 later. */
typedef int belongs_fn(const struct model *m, uint32_t space, uint32_t node,
		       const struct lock *lock, const struct change *c, const void *arg);

static void find_effect(struct effect *e, const struct model *m, belongs_fn *belongs,
			const void *arg)
{
	for (uint32_t i = 0; i < m->n_nodes; i++)
		for (uint32_t j = 0; j < m->nodes[i].n_spaces; j++) {
			const struct node_space *ns = m->nodes[i].spaces[j];

			if (!ns || !ns->present || node_absent(m, &m->nodes[i]))
				continue;
			for (uint32_t k = 0; k < ns->table.n_active; k++) {
				const struct activity *a = &ns->table.active[k];
				const struct lock *lock = table_lock(&ns->table, a->lock);
				int part =
				    a->change.waiting ? belongs(m, j, i, lock, &a->change, arg) : 0;

				if (!part)
					continue;
				*(part == 1 ? &e->then : &e->later) += a->change.waiting;
				if (part == 1)
					e->oldest_s = max_s(e->oldest_s, a->change.oldest_s);
				if (part == 1)
					files_add(&e->files, j, m->spaces[j].source->row(lock));
				e->recovering |= m->spaces[j].recovering;
			}
		}
}

/* ---- a node that answered before ----------------------------------------------------------- */

struct silence {
	uint32_t node;
	double least_s, most_s; /* the silence began so long before this sample */
};

/* Returns how long ago the first sample without the node was, by another node's clock. */
static double first_missed(const struct model *m, const struct node *silent)
{
	for (size_t i = 0; i < m->n_nodes; i++) {
		const struct node *n = &m->nodes[i];

		if (n != silent && n->last_sample == m->sample && n->dropped <= silent->last_sample)
			return seconds(node_when(n, m->sample)->mono_us -
				       node_when(n, silent->last_sample + 1)->mono_us);
	}
	return 0;
}

static int began_then(const struct model *m, uint32_t space, uint32_t node, const struct lock *lock,
		      const struct change *c, const void *arg)
{
	const struct silence *s = arg;
	const struct node *n = &m->nodes[s->node];

	(void)node;
	(void)lock;
	/* A node that never answered may have each lock space. */
	if (n->n_spaces && (space >= n->n_spaces || !n->spaces[space]))
		return 0;
	if (c->oldest_s > s->most_s + WITHIN_S)
		return 0;
	return c->oldest_s >= s->least_s - WITHIN_S ? 1 : 2;
}

static void say_effect(struct words *w, const struct effect *e)
{
	words_add(w, "%u wait%s on %zu file%s", e->then, e->then == 1 ? "" : "s", e->files.n,
		  e->files.n == 1 ? "" : "s");
}

/*
 * Returns whether a node is only late. A busy machine misses a frame now and then, and an ssh
 * connection may end and begin anew. Then the waits are short. o2top may still connect to a node
 * that has not answered yet.
 */
static bool is_late(const struct model *m, const struct node *n, const struct effect *e)
{
	if (n->silent_at_least && n->state == NODE_NOT_ANSWERING)
		return false;
	if (n->silent_at_least && n->state == NODE_UNREACHABLE)
		return node_not_reached(n) || e->oldest_s < LATE_S;
	return !node_overdue(m, n, 0) || (n->state != NODE_STALE && e->oldest_s < LATE_S);
}

static void say_silent_node(struct model *m, uint32_t node)
{
	const struct node *n = &m->nodes[node];
	struct silence s = {.node = node,
			    .least_s = n->silent_at_least ? 0 : first_missed(m, n),
			    .most_s = n->silent_at_least ? INFINITY : n->silent_s};
	struct effect e = {0};
	char text[CAUSE_MAX], age[UNIT_MAX];
	struct words w = {text, sizeof(text)};

	find_effect(&e, m, began_then, &s);
	if (e.then && !is_late(m, n, &e)) {
		words_add(&w, "%s silent for %s%s: ", n->name,
			  n->silent_at_least ? "at least " : "", unit_seconds(age, n->silent_s));
		say_effect(&w, &e);
		words_add(&w, "%s", n->silent_at_least ? " last" : " began then");
		if (e.later)
			words_add(&w, ", %u more since", e.later);
		words_add(&w, "; %s%s; check its power and its fencing",
			  e.recovering ? "recovery is in progress" : "no recovery is seen",
			  m->daemons_said);
		banner_coded(&m->banners, NULL, "%s", text);
	}
	free(e.files.list);
}

/* ---- a node that only the DLM knows -------------------------------------------------------- */

static int held_by_number(const struct model *m, uint32_t space, uint32_t node,
			  const struct lock *lock, const struct change *c, const void *arg)
{
	const struct waits *w = m->waits;
	int number = *(const int *)arg;

	(void)node;
	(void)c;
	for (size_t i = 0; i < w->n_views; i++) {
		const struct dlm_view *v = &w->views[i];

		if (v->space != space || v->id.number != lock->id.number ||
		    v->id.low != lock->id.low || v->id.type != lock->id.type)
			continue;
		if (!v->is_master && v->master == number && !v->master_watched)
			return 1;
		for (uint32_t j = v->first; j < v->first + v->n; j++)
			if (w->entries[j].node < 0 && w->entries[j].number == number &&
			    w->entries[j].granted && !w->entries[j].watched)
				return 1;
	}
	return 0;
}

static void say_number(struct model *m, int number)
{
	struct effect e = {0};
	char text[CAUSE_MAX];
	struct words w = {text, sizeof(text)};

	find_effect(&e, m, held_by_number, &number);
	if (e.then > 1) {
		words_add(&w, "the DLM's node %d is dead or not watched: ", number);
		say_effect(&w, &e);
		words_add(&w, " need its locks; check its power and its fencing");
		banner_coded(&m->banners, NULL, "%s", text);
	}
	free(e.files.list);
}

/* Adds a banner for each number that holds or masters a lock, and that is no node of the model. */
static void say_numbers(struct model *m)
{
	const struct waits *w = m->waits;
	bool said[256] = {false};

	for (size_t i = 0; w && i < w->n_entries; i++) {
		int number = w->entries[i].number;

		if (w->entries[i].node >= 0 || !w->entries[i].granted || number <= 0 ||
		    number > 255 || said[number])
			continue;
		said[number] = true;
		say_number(m, number);
	}
}

void one_cause(struct model *m)
{
	for (uint32_t i = 0; i < m->n_nodes; i++)
		if (node_absent(m, &m->nodes[i]) && m->nodes[i].silent_s > 0 &&
		    !m->nodes[i].process)
			say_silent_node(m, i);
	say_numbers(m);
}
