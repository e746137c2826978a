/* SPDX-License-Identifier: MIT */
/*
 * summary.c - adds frames up, a row for each file or lock that was active.
 */
#include "summary.h"

#include "o2top/base/grow.h"
#include "o2top/base/hash.h"
#include "o2top/rank/rank.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table ----------------------------------------------------------------------------- */

static uint64_t key_hash(uint32_t space, struct row_id id)
{
	return hash_number(id.number ^ (uint64_t)id.class << 56 ^ (uint64_t)space << 48);
}

static bool is_row(const struct row *row, uint32_t space, struct row_id id)
{
	return row->space == space && row->id.number == id.number && row->id.class == id.class;
}

/* Returns the slot of a key, which may be free. The table always has a free slot. */
static uint32_t *slot_of(const struct summary *s, uint32_t space, struct row_id id)
{
	size_t i = key_hash(space, id) & (s->n_slots - 1);

	while (s->slots[i] && !is_row(&s->rows[s->slots[i] - 1].row, space, id))
		i = (i + 1) & (s->n_slots - 1);
	return &s->slots[i];
}

/* Doubles the slots if half of them are in use. */
static bool room_for_slot(struct summary *s)
{
	size_t n = s->n_slots ? 2 * s->n_slots : 1024;
	uint32_t *slots;

	if (2 * s->n < s->n_slots)
		return true;
	slots = s->n < UINT32_MAX / 2 ? calloc(n, sizeof(*slots)) : NULL;
	if (!slots)
		return false;
	free(s->slots);
	s->slots = slots;
	s->n_slots = n;
	for (size_t i = 0; i < s->n; i++)
		*slot_of(s, s->rows[i].row.space, s->rows[i].row.id) = (uint32_t)i + 1;
	return true;
}

static struct summary_row *summary_row_of(struct summary *s, const struct row *row)
{
	uint32_t *slot;

	if (!room_for_slot(s))
		return NULL;
	slot = slot_of(s, row->space, row->id);
	if (*slot)
		return &s->rows[*slot - 1];
	if (!grow(&s->rows, s->n, &s->room, sizeof(*s->rows)))
		return NULL;
	s->rows[s->n] =
	    (struct summary_row){.row = {.space = row->space, .id = row->id, .size = UINT64_MAX}};
	*slot = (uint32_t)++s->n;
	return &s->rows[s->n - 1];
}

/* ---- adding -------------------------------------------------------------------------------- */

/* Adds the change of one frame to that of the frames before. Waits in progress are not added up. */
static void add_frame(struct change *to, const struct change *from)
{
	uint32_t waiting = to->waiting;

	change_sum(to, from);
	to->waiting = from->waiting > waiting ? from->waiting : waiting;
}

static int add_row(struct summary *s, const struct frame *f, const struct row *row)
{
	struct summary_row *r = summary_row_of(s, row);

	if (!r)
		return -ENOMEM;
	add_frame(&r->row.sum, &row->sum);
	r->peak_per_s = max_s(r->peak_per_s, row->lost_per_s);
	if (row->hot) {
		r->hot_frames++;
		r->first_us = r->first_us ? r->first_us : f->group->time_us;
		r->last_us = f->group->time_us;
	}
	r->row.section = row->section;
	r->row.n_writers = row->n_writers > r->row.n_writers ? row->n_writers : r->row.n_writers;
	r->row.n_readers = row->n_readers > r->row.n_readers ? row->n_readers : r->row.n_readers;
	r->row.kind = row->kind ? row->kind : r->row.kind;
	r->row.size = row->size != UINT64_MAX ? row->size : r->row.size;
	if (row->path && (!r->path || strcmp(r->path, row->path) != 0)) {
		char *path = strdup(row->path);

		if (!path)
			return -ENOMEM;
		free(r->path);
		r->path = path;
	}
	return 0;
}

static int add_node(struct summary *s, const struct node *node)
{
	size_t i = 0;

	while (i < s->n_nodes && strcmp(s->nodes[i].name, node->name) != 0)
		i++;
	if (i == s->n_nodes) {
		if (!grow(&s->nodes, i, &s->room_nodes, sizeof(*s->nodes)))
			return -ENOMEM;
		s->nodes[i] = (struct summary_node){.name = strdup(node->name)};
		if (!s->nodes[i].name)
			return -ENOMEM;
		s->n_nodes++;
	}
	s->nodes[i].missed_s = node_missed(node);
	return 0;
}

double summary_missed(const struct summary *s, const struct summary_node *n)
{
	return n->missed_s > 1 && n->missed_s > 0.05 * s->span_s ? n->missed_s : 0;
}

int summary_add(struct summary *s, const struct frame *f)
{
	const struct group *g = f->group;
	int err = 0;

	s->frames++;
	s->span_s += g->interval_s;
	add_frame(&s->total, &g->totals.sum);
	if (g->time_us) {
		s->until_us = g->time_us;
		if (!s->from_us)
			s->from_us = g->time_us - (int64_t)(1e6 * g->interval_s);
	}
	for (size_t i = 0; i < g->n_rows && !err; i++)
		err = add_row(s, f, &g->rows[i]);
	for (size_t i = 0; i < f->model->n_nodes && !err; i++)
		if (!f->model->nodes[i].process)
			err = add_node(s, &f->model->nodes[i]);
	return err;
}

/* ---- the end ------------------------------------------------------------------------------- */

static int by_section(const void *a, const void *b, void *arg)
{
	const struct row *x = &((const struct summary_row *)a)->row;
	const struct row *y = &((const struct summary_row *)b)->row;

	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	return row_compare(x, y, *(enum sort_key *)arg);
}

/* A path may be found after the last frame in which the row was active. */
static void name_row(struct summary_row *r, const struct model *m, const struct names *names)
{
	if (r->path)
		r->row.path = r->path;
	else
		describe_name(&r->row, m, names);
}

void summary_finish(struct summary *s, const struct model *m, const struct names *names,
		    enum sort_key key)
{
	uint32_t ranks[SECTIONS] = {0};

	free(s->slots);
	s->slots = NULL;
	for (size_t i = 0; i < s->n; i++) {
		s->rows[i].row.hot = s->rows[i].hot_frames > 0;
		s->rows[i].row.lost_per_s =
		    s->span_s > 0 ? s->rows[i].row.sum.lost_s / s->span_s : 0;
		name_row(&s->rows[i], m, names);
	}
	if (s->n)
		qsort_r(s->rows, s->n, sizeof(*s->rows), by_section, &key);
	for (size_t i = 0; i < s->n; i++)
		s->rows[i].row.rank = ++ranks[s->rows[i].row.section];
}

void summary_free(struct summary *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->rows[i].path);
	for (size_t i = 0; i < s->n_nodes; i++)
		free(s->nodes[i].name);
	free(s->nodes);
	free(s->rows);
	free(s->slots);
	*s = (struct summary){0};
}
