/* SPDX-License-Identifier: MIT */
/*
 * waits_numbers.c - finds the node of the model behind a DLM's node number.
 *
 * A number becomes a node in one of four ways:
 * 1. The node tells its own number (configfs, dlm_state).
 * 2. A dump of o2dlm is that of the lock's master.
 * 3. Two dumps show the two ends of one lock.
 * 4. One node and one number are left, so that they belong together.
 */
#include "waits.h"

#include "source.h"

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

void numbers_take(struct model *m, uint32_t node, int dlm, int number)
{
	for (size_t i = 0; i < m->n_nodes; i++)
		if (i != node && m->nodes[i].numbered == m->sample &&
		    m->nodes[i].dlm_id[dlm] == number) {
			problem(&m->problems, m->nodes[node].name, 0,
				"it has number %d in the DLM, as %s: if both are one machine, its "
				"waits count twice",
				number, m->nodes[i].name);
			return;
		}
	set_number(m, node, dlm, number);
	m->nodes[node].numbered = m->sample;
}

static int node_of(const struct model *m, int dlm, int number)
{
	for (size_t i = 0; i < m->n_nodes && number; i++)
		if (m->nodes[i].dlm_id[dlm] == number)
			return (int)i;
	return -1;
}

static bool are_two_ends(const struct waits *w, const struct end *a, const struct end *b)
{
	const struct dlm_view *v = &w->views[a->view], *u = &w->views[b->view];

	return a->node != b->node && a->id == b->remid && b->id == a->remid &&
	       a->master_copy != b->master_copy && v->space == u->space &&
	       lock_id_same(&v->id, &u->id);
}

/*
 * Matches nodes with numbers by the two ends of a lock. Each end names the other end's id as its
 * remid, and each tells the number of the other node.
 */
static void match_ends(struct model *m, const struct waits *w, const struct end *ends, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			if (are_two_ends(w, &ends[i], &ends[j]))
				set_number(m, ends[j].node, DLM_KERNEL, ends[i].nodeid);
}

/*
 * Returns the master if a dump of o2dlm is the master's own, or 0. Any other node lists its own
 * locks only, so that a lock of the master, or locks of two nodes, stand in the master's dump.
 */
static int master_of_dump(const struct waits *w, const struct dlm_view *v)
{
	const struct dlm_entry *e = v->n ? &w->entries[v->first] : NULL;

	for (uint32_t i = 0; i < v->n && v->o2cb; i++)
		if (e[i].number == v->master || e[i].number != e[0].number)
			return v->master;
	return 0;
}

/* Takes the numbers of nodes whose dump of o2dlm is a master's. */
static void match_masters(struct model *m, struct waits *w)
{
	for (size_t i = 0; i < w->n_views; i++) {
		const struct dlm_view *v = &w->views[i];
		int number = master_of_dump(w, v);

		if (number && !m->nodes[v->node].dlm_id[DLM_O2CB])
			numbers_take(m, v->node, DLM_O2CB, number);
	}
	for (size_t i = 0; i < w->n_views; i++) {
		struct dlm_view *v = &w->views[i];
		int own = m->nodes[v->node].dlm_id[DLM_O2CB];

		if (v->o2cb)
			v->is_master = own && v->master == own;
	}
}

/*
 * Returns whether a node's own dump shows that this number is another node. A dump of o2dlm has the
 * number of its own node, too.
 */
static bool is_another(const struct waits *w, uint32_t node, int number)
{
	for (size_t i = 0; i < w->n_views; i++) {
		const struct dlm_view *v = &w->views[i];

		if (v->node != node || v->o2cb)
			continue;
		if (v->master == number)
			return true;
		for (uint32_t j = v->first; j < v->first + v->n; j++)
			if (w->entries[j].number == number)
				return true;
	}
	return false;
}

/* Gives the only number without a node to the only node without a number. */
static void match_rest(struct model *m, const struct waits *w, int dlm)
{
	int number = 0;
	uint32_t last = 0;
	size_t nodes = 0, numbers = 0;

	for (uint32_t i = 0; i < m->n_nodes; i++)
		if (!m->nodes[i].dlm_id[dlm]) {
			nodes++;
			last = i;
		}
	for (size_t i = 0; i < w->n_views; i++) {
		const struct dlm_view *v = &w->views[i];

		for (uint32_t j = 0; j <= v->n && dlm_of_view(v) == dlm; j++) {
			int n = j < v->n ? w->entries[v->first + j].number : v->master;

			if (n <= 0 || n == number || node_of(m, dlm, n) >= 0)
				continue;
			numbers++;
			number = n;
		}
	}
	if (nodes == 1 && numbers == 1 && !is_another(w, last, number))
		m->nodes[last].dlm_id[dlm] = number;
}

/* Returns whether a number may be that of a node of the model whose number is not known. */
static bool may_be_watched(const struct model *m, const struct waits *w, uint32_t space, int dlm,
			   int number)
{
	for (uint32_t i = 0; i < m->n_nodes && number > 0; i++) {
		const struct node *n = &m->nodes[i];

		if (!n->dlm_id[dlm] && !n->process && (!n->n_spaces || space_on(n, space)) &&
		    !is_another(w, i, number))
			return true;
	}
	return false;
}

void numbers_name(struct model *m, struct waits *w, const struct end *ends, size_t n_ends)
{
	match_masters(m, w);
	match_ends(m, w, ends, n_ends);
	match_rest(m, w, DLM_O2CB);
	match_rest(m, w, DLM_KERNEL);
	for (size_t i = 0; i < w->n_views; i++) {
		const struct dlm_view *v = &w->views[i];
		int dlm = dlm_of_view(v);

		for (uint32_t j = v->first; j < v->first + v->n; j++)
			if (w->entries[j].node < 0)
				w->entries[j].node = node_of(m, dlm, w->entries[j].number);
	}
	for (size_t i = 0; i < w->n_views; i++) {
		struct dlm_view *v = &w->views[i];
		int dlm = dlm_of_view(v);

		v->master_watched = may_be_watched(m, w, v->space, dlm, v->master);
		for (uint32_t j = v->first; j < v->first + v->n; j++)
			w->entries[j].watched =
			    w->entries[j].node < 0 &&
			    may_be_watched(m, w, v->space, dlm, w->entries[j].number);
	}
}
