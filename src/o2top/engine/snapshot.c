/* SPDX-License-Identifier: MIT */
/*
 * snapshot.c - copies a group, its rows, paths and processes, and a shell of the model.
 */
#include "engine.h"

#include "o2top/model/waits.h"
#include "o2top/rank/rank.h"

#include <stdlib.h>
#include <string.h>

/* ---- the model's shell --------------------------------------------------------------------- */

static bool copy_node(struct node *to, const struct node *from, const struct model *m,
		      struct node_space *shell)
{
	*to = (struct node){.name = strdup(from->name),
			    .state = from->state,
			    .process = from->process,
			    .why = from->why ? strdup(from->why) : NULL,
			    .silent_s = from->silent_s,
			    .silent_at_least = from->silent_at_least,
			    .took_s = from->took_s,
			    .bytes = from->bytes,
			    .skew_s = from->skew_s,
			    .n_spaces = from->n_spaces,
			    .last_sample = from->last_sample == m->sample,
			    .away = from->away,
			    .interval_s = from->interval_s,
			    .frame_s = from->frame_s,
			    .gap_s = from->gap_s,
			    .missed_s = from->missed_s,
			    .wall_time = from->wall_time};
	to->spaces = calloc(from->n_spaces + 1, sizeof(*to->spaces));
	to->when = calloc(1, sizeof(*to->when));
	if (!to->name || !to->spaces || !to->when || (from->why && !to->why))
		return false;
	if (from->last_sample == m->sample)
		*to->when = *node_when(from, m->sample);
	/* a view asks only whether a node has a lock space, so one shell serves all */
	for (size_t i = 0; i < from->n_spaces; i++)
		to->spaces[i] = from->spaces[i] ? shell : NULL;
	return true;
}

static bool copy_model(struct snapshot *s, const struct model *m)
{
	s->shell = calloc(1, sizeof(*s->shell));
	s->model.nodes = calloc(m->n_nodes + 1, sizeof(*s->model.nodes));
	s->model.spaces = calloc(m->n_spaces + 1, sizeof(*s->model.spaces));
	s->model.sample = 1;
	s->model.interval_s = m->interval_s;
	s->model.cost = m->cost;
	for (size_t i = 0; i < m->banners.n; i++)
		banner_coded(&s->model.banners, m->banners.code[i], "%s", m->banners.text[i]);
	if (m->unprotected && m->unprotected->n) {
		s->model.unprotected = malloc(sizeof(*m->unprotected));
		if (!s->model.unprotected)
			return false;
		*s->model.unprotected = *m->unprotected;
	}
	if (!s->shell || !s->model.nodes || !s->model.spaces)
		return false;
	for (size_t i = 0; i < m->n_nodes; i++) {
		s->model.n_nodes++;
		if (!copy_node(&s->model.nodes[i], &m->nodes[i], m, s->shell))
			return false;
	}
	for (size_t i = 0; i < m->n_spaces; i++) {
		struct space *to = &s->model.spaces[i];

		*to = m->spaces[i];
		s->model.n_spaces++;
		to->name = strdup(m->spaces[i].name);
		to->mount = m->spaces[i].mount ? strdup(m->spaces[i].mount) : NULL;
		if (!to->name || (m->spaces[i].mount && !to->mount))
			return false;
	}
	return true;
}

static void free_model(struct snapshot *s)
{
	for (size_t i = 0; i < s->model.n_nodes; i++) {
		free(s->model.nodes[i].name);
		free(s->model.nodes[i].why);
		free(s->model.nodes[i].spaces);
		free(s->model.nodes[i].when);
	}
	for (size_t i = 0; i < s->model.n_spaces; i++) {
		free(s->model.spaces[i].name);
		free(s->model.spaces[i].mount);
	}
	banners_clear(&s->model.banners);
	free(s->model.unprotected);
	free(s->model.nodes);
	free(s->model.spaces);
	free(s->shell);
}

/* ---- what the group points to -------------------------------------------------------------- */

static uint32_t copy_holders(struct snapshot *s, const struct model *m, const struct member *member,
			     uint32_t at)
{
	const struct holder *first;
	uint32_t n = holders_of(m->nodes[member->node].spaces[member->space], member->lock, &first);

	s->at[member - s->group.members] = (struct span){at, n};
	if (n)
		memcpy(s->holders + at, first, n * sizeof(*first));
	return n;
}

/*
 * Copies one Lock for each LockSet, because all members of a LockSet have the same name. The same
 * pass copies the holders, because the model's own Lock is at hand.
 */
static bool copy_locks(struct snapshot *s, const struct model *m)
{
	struct group *g = &s->group;
	struct lock *lock;
	uint32_t n_holders = 0;

	for (size_t i = 0; i < m->n_nodes; i++)
		for (size_t j = 0; j < m->nodes[i].n_spaces; j++)
			n_holders += m->nodes[i].spaces[j] ? m->nodes[i].spaces[j]->holders.n : 0;
	s->locks = lock = malloc((g->n_members + 1) * sizeof(*s->locks));
	s->at = n_holders ? malloc((g->n_members + 1) * sizeof(*s->at)) : NULL;
	s->holders = n_holders ? malloc(n_holders * sizeof(*s->holders)) : NULL;
	if (!s->locks || (n_holders && (!s->at || !s->holders)))
		return false;
	n_holders = 0;
	for (size_t i = 0; i < g->n_members; i++) {
		struct member *member = &g->members[i];

		if (s->at)
			n_holders += copy_holders(s, m, member, n_holders);
		if (!i || member->space != member[-1].space ||
		    !lock_id_same(&member->lock->id, &lock[-1].id))
			*lock++ = *member->lock;
		member->lock = lock - 1;
		member->change = NULL; /* the sums include the change */
	}
	return true;
}

enum { ROW_TEXTS = 3 };

/* Returns the k-th text of a row that belongs to the lists of names. */
static const char **row_text(struct row *row, int k)
{
	return k == 0 ? &row->path : k == 1 ? &row->links : &row->within;
}

static bool copy_paths(struct snapshot *s)
{
	struct group *g = &s->group;
	size_t size;
	char *at;

	s->paths = at = malloc(g->text_bytes + 1);
	if (!at)
		return false;
	for (size_t i = 0; i < g->n_rows && g->text_bytes; i++)
		for (int k = 0; k < ROW_TEXTS; k++) {
			const char **text = row_text(&g->rows[i], k);

			if (!*text)
				continue;
			size = strlen(*text) + 1;
			*text = memcpy(at, *text, size);
			at += size;
		}
	return true;
}

struct snapshot *snapshot_make(const struct model *m, struct group *g, struct problems *problems,
			       const char *label, bool single)
{
	struct snapshot *s = calloc(1, sizeof(*s));

	if (!s) {
		group_free(g);
		return NULL;
	}
	s->group = *g;
	*g = (struct group){0};
	s->single = single;
	s->label = strdup(label);
	problems_join(&s->problems, problems);
	if (!s->label || !copy_model(s, m) || !copy_locks(s, m) || !copy_paths(s)) {
		snapshot_free(s);
		return NULL;
	}
	return s;
}

void snapshot_free(struct snapshot *s)
{
	if (!s)
		return;
	free_model(s);
	group_free(&s->group);
	problems_clear(&s->problems);
	free(s->label);
	free(s->locks);
	free(s->holders);
	free(s->at);
	free(s->paths);
	free(s);
}

const struct holder *snapshot_holders(const struct snapshot *s, const struct member *member,
				      uint32_t *n)
{
	const struct span *at = s->at ? &s->at[member - s->group.members] : NULL;

	*n = at ? at->n : 0;
	return at ? s->holders + at->first : NULL;
}
