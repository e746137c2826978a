/* SPDX-License-Identifier: MIT */
/*
 * explain.c - finds a row's longest wait and asks the source for a sentence about the wait.
 */
#include "rank.h"

#include "o2top/base/units.h"
#include "o2top/model/source.h"
#include "o2top/model/waits.h"
#include "o2top/plocks/plocks_read.h"

#include <stdlib.h>
#include <string.h>

enum { NOTE_MAX = 1024, LABEL_MAX = 512 };

static const struct lockset *longest_wait(const struct row *row)
{
	const struct lockset *longest = NULL;
	double oldest_s = -1;

	for (uint32_t i = 0; i < row->n_locksets; i++) {
		const struct change *c = &row->locksets[i].sum;

		if (c->waiting && c->oldest_s > oldest_s) {
			longest = &row->locksets[i];
			oldest_s = c->oldest_s;
		}
	}
	return longest;
}

static bool is_opened(const struct model *m, const struct row *row)
{
	return m->opened.is && m->opened.space == row->space && m->opened.class == row->id.class &&
	       m->opened.number == row->id.number;
}

/* Returns the row's Lock that the dump of a node's DLM shows, or NULL. */
static const struct lock *lock_in_view(const struct model *m, const struct row *row,
				       const struct dlm_view *v)
{
	for (uint32_t i = 0; i < row->n_locksets; i++) {
		const struct lock *lock = row->locksets[i].members[0].lock;
		struct row_id id = m->spaces[v->space].source->row(lock);

		if (id.class == row->id.class && id.number == row->id.number &&
		    lock->id.number == v->id.number && lock->id.type == v->id.type)
			return lock;
	}
	return NULL;
}

static bool has_own_entry(const struct waits *w, const struct dlm_view *v)
{
	for (uint32_t i = v->first; i < v->first + v->n; i++)
		if (w->entries[i].node == (int32_t)v->node)
			return true;
	return false;
}

/* Notes each node whose DLM knows a lock that the node's own listing left out. */
static void find_missing(const struct model *m, struct row *row)
{
	char text[NOTE_MAX] = "";
	struct words note = {text, sizeof(text)};
	const struct waits *w = m->waits;

	for (size_t i = 0; w && i < w->n_views; i++) {
		const struct dlm_view *v = &w->views[i];
		const struct node *node = &m->nodes[v->node];
		const struct node_space *ns = space_on(node, v->space);
		const struct lock *lock = ns ? table_find(&ns->table, &v->id) : NULL, *of;
		char name[64];

		if (v->space != row->space || !ns || !ns->present ||
		    (lock && lock->now.sample == m->sample) || !has_own_entry(w, v))
			continue;
		of = lock_in_view(m, row, v);
		if (!of)
			continue;
		m->spaces[v->space].source->lock_name(of, name, sizeof(name));
		words_add(&note, "%s%s's kernel did not list %s%s", *text ? "; " : "", node->name,
			  name, lock ? ": its numbers are from an earlier sample" : "");
	}
	if (*text)
		row->note = strdup(text);
}

void explain_row(const struct model *m, struct row *row)
{
	/* most rows have no waiter */
	const struct lockset *set = row->sum.waiting ? longest_wait(row) : NULL;
	const struct source *source = m->spaces[row->space].source;
	struct row_wait wait = {.space = row->space, .row = row->id, .set = set};
	char label[LABEL_MAX];

	if (!set)
		return;
	wait.opened = is_opened(m, row);
	if (wait.opened || set->sum.unproved || set->sum.oldest_s >= WAITS_LONG_S)
		find_missing(m, row);
	row_label(m, row, true, label, sizeof(label));
	wait.label = label;
	if (set->members[0].lock->id.type == source->plocks)
		row->sentence = plock_sentence(m, &wait, &row->root);
	else
		row->sentence = source->sentence(m, &wait, &row->root);
}
