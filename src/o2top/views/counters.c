/* SPDX-License-Identifier: MIT */
/*
 * counters.c - adds each frame to the sums of its lock spaces and nodes.
 *
 * The number of sums is bounded: one for each machine and lock space. Processes come and go, so all
 * processes of a lock space share one sum.
 */
#include "view.h"

#include "o2top/base/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Returns the index of a sum, which is made if it is new. SIZE_MAX: no memory. */
static size_t counter_of(struct counters *c, uint32_t space, const struct node *node)
{
	const char *name = node->process ? "" : node->name;

	for (size_t i = 0; i < c->n; i++)
		if (c->list[i].space == space && strcmp(c->list[i].node, name) == 0)
			return i;
	if (!grow(&c->list, c->n, &c->room, sizeof(*c->list)))
		return SIZE_MAX;
	c->list[c->n] = (struct counter){.space = space, .node = strdup(name)};
	return c->list[c->n].node ? c->n++ : SIZE_MAX;
}

static int make_room(struct counters *c, const struct model *m)
{
	struct wait_counts *more;

	if (m->n_spaces <= c->n_spaces)
		return 0;
	more = reallocarray(c->ended, m->n_spaces, sizeof(*more));
	if (!more)
		return -ENOMEM;
	memset(more + c->n_spaces, 0, (m->n_spaces - c->n_spaces) * sizeof(*more));
	c->ended = more;
	c->n_spaces = m->n_spaces;
	return 0;
}

/* Adds the ended waits, and sets at[node * n_spaces + space] to the index of each sum. */
static int add_spaces(struct counters *c, const struct frame *f, size_t *at)
{
	const struct model *m = f->model;

	for (uint32_t i = 0; i < m->n_nodes; i++)
		for (uint32_t j = 0; j < m->nodes[i].n_spaces; j++) {
			const struct node_space *ns = m->nodes[i].spaces[j];
			size_t *index = &at[i * m->n_spaces + j];

			if (!ns || !ns->present)
				continue;
			*index = counter_of(c, j, &m->nodes[i]);
			if (*index == SIZE_MAX)
				return -ENOMEM;
			if (!f->single)
				wait_counts_sum(&c->ended[j], &ns->ended);
		}
	return 0;
}

int counters_add(struct counters *c, const struct frame *f)
{
	const struct model *m = f->model;
	size_t *at = calloc(m->n_nodes * m->n_spaces + 1, sizeof(*at));
	int err = at ? make_room(c, m) : -ENOMEM;

	err = err ? err : add_spaces(c, f, at);
	for (size_t i = 0; !err && !f->single && i < f->group->n_members; i++) {
		const struct member *member = &f->group->members[i];
		struct counter *one = &c->list[at[member->node * m->n_spaces + member->space]];

		one->lost_s += member->change->lost_s;
		one->acquired += member->change->acquired;
	}
	free(at);
	return err;
}

void counters_free(struct counters *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->list[i].node);
	free(c->list);
	free(c->ended);
	*c = (struct counters){0};
}
