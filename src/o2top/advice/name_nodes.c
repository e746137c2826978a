/* SPDX-License-Identifier: MIT */
/*
 * name_nodes.c - the nodes of a row as words, by their part in it or by their state.
 */
#include "advice_impl.h"

#include "o2top/model/source.h"
#include "o2top/rank/rank.h"

#include <stdio.h>
#include <string.h>

/* Returns whether the node writes the file, or a process of it waits to do so. */
static bool is_writer(const struct change *c)
{
	return c->wrote || (c->wants_ex && change_own_waits(c));
}

static bool is_reader(const struct change *c)
{
	return c->read || ((c->wants_shared || c->wants_direct) && change_own_waits(c));
}

static bool takes_part(const struct row_node *n, enum part part)
{
	switch (part) {
	case WROTE:
		return is_writer(&n->sum);
	case READ_ONLY:
		return is_reader(&n->sum) && !is_writer(&n->sum);
	case WAITS:
		return change_own_waits(&n->sum) > 0;
	case WAITS_LONG:
		return change_own_waits(&n->sum) && waits_long(&n->sum);
	case WAITED_LONG:
		return waited_long(&n->sum);
	default:
		return n->lost_per_s > 0;
	}
}

const char *verb(unsigned count, const char *one, const char *several)
{
	return count == 1 ? one : several;
}

void name_list_add(struct name_list *l, const char *name)
{
	enum { MORE = 20 }; /* room for "and N more" */
	const char *before = !l->done ? "" : l->done + 1 == l->total ? " and " : ", ";

	if (!l->done)
		*l->buf = '\0';
	if (l->left_out || l->at + strlen(before) + strlen(name) + MORE > l->size) {
		snprintf(l->buf + l->at, l->size - l->at, "%s%u more", l->at ? " and " : "",
			 ++l->left_out);
		return;
	}
	l->at += (size_t)snprintf(l->buf + l->at, l->size - l->at, "%s%s", before, name);
	l->done++;
}

unsigned name_part(const struct model *m, const struct row *row, enum part part, char *buf,
		   size_t size)
{
	struct name_list list = {.buf = buf, .size = size};

	for (uint32_t i = 0; i < row->n_nodes; i++)
		list.total += takes_part(&row->nodes[i], part);
	for (uint32_t i = 0; i < row->n_nodes; i++)
		if (takes_part(&row->nodes[i], part))
			name_list_add(&list, m->nodes[row->nodes[i].node].name);
	return list.total;
}

bool node_may_have(const struct node *node, const struct row *row)
{
	return node->n_spaces == 0 || (row->space < node->n_spaces && node->spaces[row->space]);
}

bool node_silent(const struct model *m, const struct node *node)
{
	/* On a busy machine an answer may take long. */
	if (node->state == NODE_STALE)
		return node_overdue(m, node, 0);
	return node->state == NODE_NOT_ANSWERING || node->state == NODE_UNREACHABLE ||
	       node->state == NODE_DEAD || node->state == NODE_STOPPED || node->state == NODE_HANGS;
}

bool node_unusable(const struct model *m, const struct node *node)
{
	(void)m;
	return node->state == NODE_UNUSABLE;
}

bool any_node_fails(const struct model *m, const struct row *row)
{
	for (size_t i = 0; i < m->n_nodes; i++) {
		const struct node *n = &m->nodes[i];

		if ((node_silent(m, n) || node_unusable(m, n)) && !node_not_reached(n) &&
		    node_may_have(n, row))
			return true;
	}
	return false;
}

bool node_stuck(const struct model *m, const struct node *node)
{
	(void)m;
	return node->state == NODE_STOPPED || node->state == NODE_HANGS;
}

static bool is_back(const struct model *m, const struct node *node)
{
	return node->away && !node->reached && !node_absent(m, node) && node->state != NODE_NOTHING;
}

unsigned name_state(const struct model *m, const struct row *row,
		    bool (*is)(const struct model *m, const struct node *node), char *buf,
		    size_t size)
{
	struct name_list list = {.buf = buf, .size = size};

	*buf = '\0';
	for (size_t i = 0; i < m->n_nodes; i++)
		list.total += is(m, &m->nodes[i]) && node_may_have(&m->nodes[i], row);
	for (size_t i = 0; i < m->n_nodes; i++)
		if (is(m, &m->nodes[i]) && node_may_have(&m->nodes[i], row))
			name_list_add(&list, m->nodes[i].name);
	return list.total;
}

static bool waited_long_on(const struct row *row, size_t node)
{
	for (uint32_t i = 0; i < row->n_nodes; i++)
		if (row->nodes[i].node == node && waited_long(&row->nodes[i].sum))
			return true;
	return false;
}

/*
 * Returns whether a node that answers again may have caused the row's longest wait. It did not wait
 * itself, and it fell silent before the wait began, or less than a second later.
 */
static bool may_be_cause(const struct model *m, const struct row *row, size_t i)
{
	const struct node *n = &m->nodes[i];

	return is_back(m, n) && node_may_have(n, row) && !waited_long_on(row, i) &&
	       !(row->sum.longest_s > n->interval_s + 1);
}

void name_back(const struct model *m, const struct row *row, char *buf, size_t size)
{
	struct name_list list = {.buf = buf, .size = size};

	*buf = '\0';
	for (size_t i = 0; i < m->n_nodes; i++)
		list.total += may_be_cause(m, row, i);
	for (size_t i = 0; i < m->n_nodes; i++)
		if (may_be_cause(m, row, i))
			name_list_add(&list, m->nodes[i].name);
}

/* ---- Locks of one type --------------------------------------------------------------------- */

static bool is_of_type(const struct model *m, const struct row *row, const struct lockset *set,
		       const char *type)
{
	const struct source *source = m->spaces[row->space].source;

	return strcmp(source->type_name(set->members[0].lock->id.type), type) == 0;
}

/* The modes of the inode's other locks do not explain such a row. */
bool mostly_of_type(const struct model *m, const struct row *row, const char *type)
{
	double lost = 0;
	unsigned waiting = 0;

	for (uint32_t i = 0; i < row->n_locksets; i++) {
		const struct lockset *set = &row->locksets[i];

		if (!is_of_type(m, row, set, type))
			continue;
		lost += set->sum.lost_s;
		waiting += set->sum.waiting;
	}
	return row->sum.lost_s > 0 ? lost >= 0.8 * row->sum.lost_s
				   : waiting && waiting == row->sum.waiting;
}

static bool waits_for_type(const struct model *m, const struct row *row, uint32_t node,
			   const char *type)
{
	for (uint32_t i = 0; i < row->n_locksets; i++) {
		const struct lockset *set = &row->locksets[i];

		for (uint32_t j = 0; j < set->n_members && is_of_type(m, row, set, type); j++) {
			const struct change *c = set->members[j].change;

			if (set->members[j].node == node && (c->lost_s > 0 || c->waiting))
				return true;
		}
	}
	return false;
}

unsigned name_waiters(const struct model *m, const struct row *row, const char *type, char *buf,
		      size_t size)
{
	struct name_list list = {.buf = buf, .size = size};

	for (uint32_t i = 0; i < row->n_nodes; i++)
		list.total += waits_for_type(m, row, row->nodes[i].node, type);
	for (uint32_t i = 0; i < row->n_nodes; i++)
		if (waits_for_type(m, row, row->nodes[i].node, type))
			name_list_add(&list, m->nodes[row->nodes[i].node].name);
	return list.total;
}
