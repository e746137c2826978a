/* SPDX-License-Identifier: MIT */
/*
 * waits_numbers.c - finds the nodes that have the numbers in the DLMs' dumps.
 *
 * A DLM's node number becomes a node of the model in one of three ways:
 * 1. The node tells its own number (configfs, dlm_state).
 * 2. Two dumps show the two ends of one lock.
 * 3. One node and one number are left, so that they belong together.
 */
#include "dlm.h"
#include "waits_read_impl.h"

#include <stdio.h>
#include <string.h>

/*
 * Gives a node its number. A node that had this number before has it no more, because nodes may
 * come back with other numbers.
 */
static void set_number(struct model *m, uint32_t node, int dlm, int number)
{
	for (size_t i = 0; i < m->n_nodes; i++)
		if (i != node && m->nodes[i].dlm_id[dlm] == number)
			m->nodes[i].dlm_id[dlm] = 0;
	m->nodes[node].dlm_id[dlm] = number;
}

/*
 * Takes the number that a node's own file tells. If another node of this sample tells it, too, one
 * machine may have two names.
 */
static void take_number(struct reading *r, int dlm, int number)
{
	struct model *m = r->m;

	for (size_t i = 0; i < m->n_nodes; i++)
		if (i != r->node && m->nodes[i].numbered == m->sample &&
		    m->nodes[i].dlm_id[dlm] == number) {
			problem(&m->problems, m->nodes[r->node].name, 0,
				"it has number %d in the DLM, as %s: if both are one machine, its "
				"waits count twice",
				number, m->nodes[i].name);
			return;
		}
	set_number(m, r->node, dlm, number);
	m->nodes[r->node].numbered = m->sample;
}

/* Reads "o2cb 3 1 node3" or "dlm 3 1": the number of the node whose file this is. */
bool waits_take_ids(void *arg, const char *line, size_t len, size_t number, bool complete)
{
	struct reading *r = arg;
	char kind[8];
	int id, here;
	char text[64];

	(void)number;
	(void)complete;
	snprintf(text, sizeof(text), "%.*s", len < 63 ? (int)len : 63, line);
	if (sscanf(text, "%7s %d %d", kind, &id, &here) == 3 && here == 1 && id > 0)
		take_number(r, strcmp(kind, "dlm") == 0 ? DLM_KERNEL : DLM_O2CB, id);
	return true;
}

/* Reads "Thread Pid: 209  Node: 1  State: JOINED". */
bool waits_take_dlm_state(void *arg, const char *line, size_t len, size_t number, bool complete)
{
	static const char key[] = "  Node: ";
	struct reading *r = arg;
	const char *at = memmem(line, len, key, sizeof(key) - 1);
	char text[16];
	int id;

	(void)number;
	(void)complete;
	if (len < 10 || memcmp(line, "Thread Pid", 10) != 0 || !at)
		return true;
	at += sizeof(key) - 1;
	snprintf(text, sizeof(text), "%.*s", (int)(line + len - at < 15 ? line + len - at : 15),
		 at);
	if (sscanf(text, "%d", &id) == 1 && id > 0)
		take_number(r, DLM_O2CB, id);
	return false;
}

static int node_of(const struct model *m, int dlm, int number)
{
	for (size_t i = 0; i < m->n_nodes && number; i++)
		if (m->nodes[i].dlm_id[dlm] == number)
			return (int)i;
	return -1;
}

static bool are_two_ends(const struct reading *r, const struct end *a, const struct end *b)
{
	const struct dlm_view *v = &r->w->views[a->view], *u = &r->w->views[b->view];

	return a->node != b->node && a->id == b->remid && b->id == a->remid &&
	       a->master_copy != b->master_copy && v->space == u->space &&
	       lock_id_same(&v->id, &u->id);
}

/*
 * Matches nodes with numbers by the two ends of a lock. Each end names the other end's id as its
 * remid, and each tells the number of the other node.
 */
static void match_ends(struct reading *r)
{
	for (size_t i = 0; i < r->n_ends; i++)
		for (size_t j = 0; j < r->n_ends; j++)
			if (are_two_ends(r, &r->ends[i], &r->ends[j]))
				set_number(r->m, r->ends[j].node, DLM_KERNEL, r->ends[i].nodeid);
}

/* Gives the only number without a node to the only node without a number. */
static void match_rest(struct model *m, const struct waits *w, int dlm)
{
	int number = 0;
	size_t nodes = 0, numbers = 0, last = 0;

	for (size_t i = 0; i < m->n_nodes; i++)
		if (!m->nodes[i].dlm_id[dlm]) {
			nodes++;
			last = i;
		}
	for (size_t i = 0; i < w->n_views; i++) {
		const struct dlm_view *v = &w->views[i];

		for (uint32_t j = 0; j <= v->n && dlm_of_view(m, v) == dlm; j++) {
			int n = j < v->n ? w->entries[v->first + j].number : v->master;

			if (n <= 0 || n == number || node_of(m, dlm, n) >= 0)
				continue;
			numbers++;
			number = n;
		}
	}
	if (nodes == 1 && numbers == 1)
		m->nodes[last].dlm_id[dlm] = number;
}

/* Returns whether a node's own dump shows that this number is another node. */
static bool is_another(const struct waits *w, uint32_t node, int number)
{
	for (size_t i = 0; i < w->n_views; i++) {
		const struct dlm_view *v = &w->views[i];

		if (v->node != node)
			continue;
		if (v->master == number)
			return true;
		for (uint32_t j = v->first; j < v->first + v->n; j++)
			if (w->entries[j].number == number)
				return true;
	}
	return false;
}

/* Returns whether a number may be that of a node of the model whose number is not known. */
static bool may_be_watched(const struct reading *r, uint32_t space, int dlm, int number)
{
	for (uint32_t i = 0; i < r->m->n_nodes && number > 0; i++) {
		const struct node *n = &r->m->nodes[i];

		if (!n->dlm_id[dlm] && !n->process && (!n->n_spaces || space_on(n, space)) &&
		    !is_another(r->w, i, number))
			return true;
	}
	return false;
}

void waits_name_numbers(struct reading *r)
{
	struct waits *w = r->w;
	struct model *m = r->m;

	match_ends(r);
	match_rest(m, w, DLM_O2CB);
	match_rest(m, w, DLM_KERNEL);
	for (size_t i = 0; i < w->n_views; i++) {
		const struct dlm_view *v = &w->views[i];
		int dlm = dlm_of_view(m, v);

		for (uint32_t j = v->first; j < v->first + v->n; j++)
			if (w->entries[j].node < 0)
				w->entries[j].node = node_of(m, dlm, w->entries[j].number);
	}
	for (size_t i = 0; i < w->n_views; i++) {
		struct dlm_view *v = &w->views[i];
		int dlm = dlm_of_view(m, v);

		v->master_watched = may_be_watched(r, v->space, dlm, v->master);
		for (uint32_t j = v->first; j < v->first + v->n; j++)
			w->entries[j].watched =
			    w->entries[j].node < 0 &&
			    may_be_watched(r, v->space, dlm, w->entries[j].number);
	}
}
