/* SPDX-License-Identifier: MIT */
/*
 * filter.c - decides which locks and rows pass a filter.
 */
#include "filter.h"

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

static bool space_wanted(const struct space *space, const struct filter *f)
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
		known |= space_wanted(&m->spaces[i], f);
	return known;
}

bool filter_wants_row(const struct filter *f, const struct model *m, const struct row *row)
{
	return space_wanted(&m->spaces[row->space], f) &&
	       (!f->has_inode || (!row->id.class && row->id.number == f->inode)) &&
	       row->n_writers >= f->writers && row->lost_per_s >= f->min_lost_per_s &&
	       !(f->no_system && row->section == SECTION_SYSTEM) && (!f->hot_only || row->hot);
}
