/* SPDX-License-Identifier: MIT */
/*
 * model_nodes.c - makes, finds and forgets a model's nodes and spaces; the table of sources.
 */
#include "model_impl.h"
#include "source.h"

#include <stdlib.h>
#include <string.h>

const char *const holder_modes[] = {"UN", "EX", "DF", "SH", "??", "WR", "RD"};

struct node *model_node(struct model *m, const char *name)
{
	struct node *more;

	for (size_t i = 0; i < m->n_nodes; i++)
		if (strcmp(m->nodes[i].name, name) == 0)
			return &m->nodes[i];
	more = reallocarray(m->nodes, m->n_nodes + 1, sizeof(*more));
	if (!more)
		return NULL;
	m->nodes = more;
	more += m->n_nodes;
	*more = (struct node){.name = strdup(name)};
	if (!more->name)
		return NULL;
	m->n_nodes++;
	return more;
}

struct space *model_space(struct model *m, const struct space_sample *from)
{
	struct space *s;

	for (size_t i = 0; i < m->n_spaces; i++) {
		s = &m->spaces[i];
		if (s->fs == from->fs && strcmp(s->name, from->name) == 0)
			return s;
	}
	s = reallocarray(m->spaces, m->n_spaces + 1, sizeof(*s));
	if (!s)
		return NULL;
	m->spaces = s;
	s += m->n_spaces;
	*s = (struct space){
	    .fs = from->fs, .name = strdup(from->name), .source = m->sources[from->fs]};
	if (!s->name)
		return NULL;
	m->n_spaces++;
	return s;
}

struct node_space *node_space(struct node *node, size_t index)
{
	if (index >= node->n_spaces) {
		struct node_space **more = reallocarray(node->spaces, index + 1, sizeof(*more));

		if (!more)
			return NULL;
		memset(more + node->n_spaces, 0, (index + 1 - node->n_spaces) * sizeof(*more));
		node->spaces = more;
		node->n_spaces = index + 1;
	}
	if (!node->spaces[index])
		node->spaces[index] = calloc(1, sizeof(**node->spaces));
	return node->spaces[index];
}

static void free_node_space(struct node_space *ns)
{
	if (!ns)
		return;
	table_free(&ns->table);
	object_name_free(&ns->object_names);
	free(ns->holders.list);
	free(ns->holders_before.list);
	free(ns->demands.list);
	free(ns->demands_before.list);
	free(ns->flocks.list);
	free(ns->queues.list);
	free(ns->flocks.totals);
	free(ns->flock_lines.list);
	free(ns->flock_lines_before.list);
	free(ns->trace_times.waits);
	free(ns->trace_times.gives);
	free(ns->trace_times.demands);
	free(ns->lent.now);
	free(ns->lent.before);
	free(ns);
}

void node_forget(struct node *node)
{
	for (size_t i = 0; i < node->n_spaces; i++)
		free_node_space(node->spaces[i]);
	free(node->spaces);
	node->spaces = NULL;
	node->n_spaces = 0;
}

void node_free(struct node *node)
{
	node_forget(node);
	problems_clear(&node->problems);
	free(node->when);
	free(node->why);
	free(node->name);
}

void model_drop_gone(struct model *m, const struct sample *sample)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->n_nodes; i++) {
		struct node *node = &m->nodes[i];
		bool there = !node->transient;

		for (size_t j = 0; j < sample->n_nodes && !there; j++)
			there = strcmp(sample->nodes[j].name, node->name) == 0;
		if (there)
			m->nodes[kept++] = *node;
		else
			node_free(node);
	}
	m->n_nodes = kept;
}
