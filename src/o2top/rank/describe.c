/* SPDX-License-Identifier: MIT */
/*
 * describe.c - fills in a row's kind, size and name from Locks, from names files and from programs.
 */
#include "rank.h"

#include "o2top/model/source.h"

#include <stdlib.h>

/*
 * Returns the inode's Lock of this type on a node, or NULL. The row's members are tried first,
 * because the Lock is mostly among them.
 */
static const struct lock *lock_of(const struct row *row, const struct node_space *ns, uint32_t node,
				  uint8_t type)
{
	struct lock_id id = {.number = row->id.number, .type = type};

	for (uint32_t i = 0; i < row->n_locksets; i++) {
		const struct lockset *set = &row->locksets[i];

		if (set->members[0].lock->id.type != type ||
		    set->members[0].lock->id.number != id.number)
			continue;
		for (uint32_t j = 0; j < set->n_members; j++)
			if (set->members[j].node == node)
				return set->members[j].lock;
	}
	return table_find(&ns->table, &id);
}

/*
 * Reads kind, size and section from the Locks that describe the inode, on every node. Locks that
 * did nothing in this frame count, too.
 */
void describe_row(struct row *row, const struct model *m)
{
	const struct space *space = &m->spaces[row->space];
	uint32_t newest = 0;

	row->size = UINT64_MAX;
	row->section =
	    row->id.class && !space->source->all_are_files ? SECTION_SYSTEM : SECTION_FILES;
	if (row->id.class)
		return;
	for (size_t i = 0; i < m->n_nodes; i++) {
		const struct node *node = &m->nodes[i];
		const struct node_space *ns = space_on(node, row->space);

		for (const char *type = space->source->describing; ns && *type; type++) {
			const struct lock *lock = lock_of(row, ns, (uint32_t)i, (uint8_t)*type);

			if (!lock)
				continue;
			if (space->source->is_system(space, lock))
				row->section = SECTION_SYSTEM;
			if (lock->kind && lock->now.sample >= newest) {
				newest = lock->now.sample;
				row->kind = lock->kind;
				row->size = lock->size;
			}
		}
	}
}

static int space_holds(const void *arg, size_t space, uint64_t inode)
{
	const struct model *m = arg;

	for (size_t i = 0; i < m->n_nodes; i++) {
		const struct node *node = &m->nodes[i];
		const struct node_space *ns = space_on(node, space);

		for (const char *type = m->spaces[space].source->describing; ns && *type; type++)
			if (table_find(&ns->table,
				       &(struct lock_id){.number = inode, .type = (uint8_t)*type}))
				return 1;
	}
	return 0;
}

/*
 * Returns the name that a program on one of the nodes gave the object, or NULL. That node may be
 * idle in this frame.
 */
static const char *called(const struct row *row, const struct model *m)
{
	const struct source *source = m->spaces[row->space].source;
	const char *name = NULL;

	for (uint32_t i = 0; source->object_name && i < row->n_locksets && !name; i++) {
		const struct lock_id *id = &row->locksets[i].members[0].lock->id;

		for (size_t j = 0; j < m->n_nodes && !name; j++) {
			const struct node *node = &m->nodes[j];
			const struct node_space *ns = space_on(node, row->space);
			const struct lock *lock = ns ? table_find(&ns->table, id) : NULL;

			name = lock ? source->object_name(ns, lock) : NULL;
		}
	}
	return name;
}

/* Drops a path from a list of any lock space if another lock space has such an inode, too. */
void describe_name(struct row *row, const struct model *m, const struct names *names)
{
	const struct space *space = &m->spaces[row->space];
	bool sure;

	row->path = called(row, m);
	if (row->id.class || row->path)
		return;
	if (row->id.number == space->root && space->mount) {
		row->path = space->mount;
		return;
	}
	row->path = names_find(names, space->name, row->id.number, &sure);
	for (size_t i = 0; row->path && !sure && i < m->n_spaces; i++)
		if (i != row->space && space_holds(m, i, row->id.number))
			row->path = NULL;
	if (row->path && sure)
		row->links = names_links(names, space->name, row->id.number);
}

void describe_settle(struct names *names, const struct model *m)
{
	const char **spaces = names ? calloc(m->n_spaces + 1, sizeof(*spaces)) : NULL;

	for (size_t i = 0; spaces && i < m->n_spaces; i++)
		spaces[i] = m->spaces[i].name;
	if (spaces)
		names_settle(names, spaces, m->n_spaces, space_holds, m);
	free(spaces);
}
