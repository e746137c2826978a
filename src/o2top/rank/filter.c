/* SPDX-License-Identifier: MIT */
/*
 * filter.c - decides which locks and rows pass a filter.
 */
#include "rank.h"

#include "o2top/sources/sources.h"

#include <string.h>

bool filter_wants_type(const struct filter *f, const struct source *source, uint8_t type)
{
	return !f->type || strcasecmp(f->type, source->type_name(type)) == 0 ||
	       (f->type[0] && !f->type[1] && f->type[0] == (char)type);
}

bool filter_knows_type(const char *name)
{
	struct filter f = {.type = name};

	for (int i = 0; i < FS_KINDS; i++)
		for (unsigned type = 0; type < 128; type++)
			if (strcmp(source_list[i]->type_name((uint8_t)type), "UNKNOWN") != 0 &&
			    filter_wants_type(&f, source_list[i], (uint8_t)type))
				return true;
	return false;
}

bool filter_wants_space(const struct filter *f, const struct space *space)
{
	return !f->fs || strcasecmp(f->fs, space->source->name) == 0 ||
	       strcasecmp(f->fs, space->name) == 0;
}

bool filter_knows_space(const struct filter *f, const struct model *m)
{
	bool known = !f->fs;

	for (int i = 0; i < FS_KINDS; i++)
		known |= f->fs && strcasecmp(f->fs, source_list[i]->name) == 0;
	for (size_t i = 0; i < m->n_spaces; i++)
		known |= filter_wants_space(f, &m->spaces[i]);
	return known;
}

bool filter_wants_row(const struct filter *f, const struct model *m, const struct row *row)
{
	return filter_wants_space(f, &m->spaces[row->space]) &&
	       (!f->has_inode || (!row->id.class && row->id.number == f->inode)) &&
	       row->n_writers >= f->writers && row->lost_per_s >= f->min_lost_per_s &&
	       !(f->no_system && row->section == SECTION_SYSTEM) && (!f->hot_only || row->hot);
}

/* A dentry lock tells only the low 32 bits of its inode. */
static bool is_of_inode(const struct source *source, const struct lock *lock, uint64_t inode)
{
	struct row_id row = source->row(lock);
	uint64_t directory;
	uint32_t low;

	if (source->names && source->names(lock, &directory, &low))
		return low == (uint32_t)inode;
	return !row.class && row.number == inode;
}

static bool has_such_lock(const struct filter *f, const struct source *source,
			  const struct table *t)
{
	for (uint32_t i = 0; i < t->n_locks; i++) {
		const struct lock *lock = table_lock(t, i);

		if (!lock->free && filter_wants_type(f, source, lock->id.type) &&
		    (!f->has_inode || is_of_inode(source, lock, f->inode)))
			return true;
	}
	return false;
}

bool filter_finds(const struct filter *f, const struct model *m)
{
	for (size_t i = 0; i < m->n_nodes; i++)
		for (size_t j = 0; j < m->nodes[i].n_spaces; j++) {
			const struct node_space *ns = m->nodes[i].spaces[j];
			const struct space *space = &m->spaces[j];

			if (ns && ns->present && filter_wants_space(f, space) &&
			    ((!f->type && !f->has_inode) ||
			     has_such_lock(f, space->source, &ns->table)))
				return true;
		}
	return false;
}
