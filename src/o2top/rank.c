/* SPDX-License-Identifier: MIT */
#include "rank.h"

#include "dentry.h"
#include "waits.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* At least this many seconds lost per second, or somebody waiting: hot. */
#define HOT_PER_S 0.001

/*
 * OCFS2 times every call, also those that the node's own cache answers, at a microsecond or two on a
 * busy machine: thousands of them a second make a millisecond, and nobody waited. A mean below this is
 * of such calls. (GFS2's time is that of requests to the DLM alone.)
 */
#define CACHED_S 5e-6

const char *const sort_key_names[SORT_KEYS] = {
    [SORT_LOST] = "lost", [SORT_WAITING] = "waiting", [SORT_AGE] = "age",
    [SORT_MEAN] = "mean", [SORT_LONGEST] = "longest", [SORT_ACQUIRED] = "acquired",
    [SORT_HIT] = "hit",   [SORT_WRITERS] = "writers", [SORT_READERS] = "readers",
    [SORT_SIZE] = "size", [SORT_INODE] = "inode",     [SORT_NAME] = "name",
};

/* ---- gathering ----------------------------------------------------------------------------- */

static bool type_wanted(const struct source *source, const struct filter *f, uint8_t type)
{
	return !f->type || strcasecmp(f->type, source->type_name(type)) == 0 ||
	       (f->type[0] && !f->type[1] && f->type[0] == (char)type);
}

bool filter_knows_type(const char *name)
{
	static const struct source *const sources[] = {&ocfs2_source, &gfs2_source, &glock_source};
	struct filter f = {.type = name};

	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		for (unsigned type = 0; type < 128; type++)
			if (strcmp(sources[i]->type_name((uint8_t)type), "UNKNOWN") != 0 &&
			    type_wanted(sources[i], &f, (uint8_t)type))
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
	bool known = !f->fs || strcasecmp(f->fs, "ocfs2") == 0 || strcasecmp(f->fs, "gfs2") == 0 ||
		     strcasecmp(f->fs, "glock") == 0;

	for (size_t i = 0; i < m->n_spaces; i++)
		known |= space_wanted(&m->spaces[i], f);
	return known;
}

static int gather(struct group *g, const struct model *m, const struct filter *f)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n_nodes; i++)
		for (size_t j = 0; j < m->nodes[i].n_spaces; j++)
			if (m->nodes[i].spaces[j] && m->nodes[i].spaces[j]->present)
				n += m->nodes[i].spaces[j]->table.n_active;
	g->members = calloc(n + 1, sizeof(*g->members));
	if (!g->members)
		return -ENOMEM;
	for (size_t i = 0; i < m->n_nodes; i++)
		for (size_t j = 0; j < m->nodes[i].n_spaces; j++) {
			const struct node_space *ns = m->nodes[i].spaces[j];
			const struct space *space = &m->spaces[j];

			if (!ns || !ns->present)
				continue;
			g->totals.locks += ns->lines;
			for (uint32_t k = 0; k < ns->table.n_active; k++) {
				const struct activity *a = &ns->table.active[k];
				const struct lock *lock = table_lock(&ns->table, a->lock);

				if (type_wanted(space->source, f, lock->id.type))
					g->members[g->n_members++] = (struct member){
					    (uint32_t)j, (uint32_t)i, space->source->row(lock),
					    lock, &a->change};
			}
		}
	return 0;
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int same_row(const struct member *a, const struct member *b)
{
	int c = compare_u64(a->space, b->space);

	c = c ? c : compare_u64(a->row.class, b->row.class);
	return c ? c : compare_u64(a->row.number, b->row.number);
}

static int same_lock(const struct member *a, const struct member *b)
{
	int c = same_row(a, b);

	c = c ? c : compare_u64(a->lock->id.type, b->lock->id.type);
	c = c ? c : compare_u64(a->lock->id.number, b->lock->id.number);
	return c ? c : compare_u64(a->lock->id.low, b->lock->id.low);
}

static int by_place(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	int c = same_lock(x, y);

	return c ? c : compare_u64(x->node, y->node);
}

/* ---- summing ------------------------------------------------------------------------------- */

void change_sum(struct change *to, const struct change *from)
{
	if (from->waiting) {
		uint32_t waiting = to->waiting;

		change_add_wait(to, from->oldest_s, from->oldest_max_s);
		to->waiting = waiting + from->waiting;
	}
	to->lost_s += from->lost_s;
	to->estimated_s += from->estimated_s;
	change_add_longest(to, from->longest_s, from->estimated_longest);
	to->acquired += from->acquired;
	to->requests += from->requests;
	to->counts_requests |= from->counts_requests;
	to->wrote |= from->wrote;
	to->read |= from->read;
	to->seen |= from->seen;
	to->wants_ex |= from->wants_ex;
	to->wants_shared |= from->wants_shared;
}

/* Per second of the node's own time; of a single sample, who waits is waiting all the time. */
static double per_second(const struct model *m, const struct node *node, const struct change *c)
{
	if (node->frame_s > 0)
		return c->lost_s / node->frame_s;
	return m->sample == 1 ? c->waiting : 0;
}

static struct row_node *node_of(struct row *row, uint32_t node)
{
	for (uint32_t i = 0; i < row->n_nodes; i++)
		if (row->nodes[i].node == node)
			return &row->nodes[i];
	row->nodes[row->n_nodes] = (struct row_node){.node = node};
	return &row->nodes[row->n_nodes++];
}

static int by_node(const void *a, const void *b)
{
	return compare_u64(((const struct row_node *)a)->node, ((const struct row_node *)b)->node);
}

static bool only_cached(const struct change *c)
{
	return !c->counts_requests && c->acquired && c->lost_s < CACHED_S * (double)c->acquired;
}

/* Makes a row of members [first, first + n), whose LockSets begin at *locksets. */
static void sum_row(struct row *row, const struct model *m, const struct member *first, uint32_t n,
		    struct lockset *locksets, struct row_node *nodes)
{
	double waited = 0; /* per second, without what is only cached calls */

	row->locksets = locksets;
	row->nodes = nodes;
	for (uint32_t i = 0; i < n; i++) {
		const struct member *member = &first[i];
		struct row_node *node = node_of(row, member->node);

		if (i == 0 || same_lock(member - 1, member))
			locksets[row->n_locksets++] = (struct lockset){.members = member};
		locksets[row->n_locksets - 1].n_members++;
		change_sum(&locksets[row->n_locksets - 1].sum, member->change);
		change_sum(&node->sum, member->change);
		change_sum(&row->sum, member->change);
		if (!only_cached(member->change))
			waited += per_second(m, &m->nodes[member->node], member->change);
	}
	qsort(row->nodes, row->n_nodes, sizeof(*row->nodes), by_node);
	for (uint32_t i = 0; i < row->n_nodes; i++) {
		struct row_node *node = &row->nodes[i];

		node->lost_per_s = per_second(m, &m->nodes[node->node], &node->sum);
		row->lost_per_s += node->lost_per_s;
		row->n_writers += node->sum.wrote;
		row->n_readers += node->sum.read;
	}
	row->hot = row->sum.waiting || waited >= HOT_PER_S;
}

static int make_rows(struct group *g, const struct model *m)
{
	size_t n_rows = 0, locksets = 0, nodes = 0;

	if (g->n_members)
		qsort(g->members, g->n_members, sizeof(*g->members), by_place);
	for (size_t i = 0; i < g->n_members; i++)
		n_rows += i == 0 || same_row(&g->members[i - 1], &g->members[i]);
	g->rows = calloc(n_rows + 1, sizeof(*g->rows));
	g->locksets = calloc(g->n_members + 1, sizeof(*g->locksets));
	g->row_nodes = calloc(g->n_members + 1, sizeof(*g->row_nodes));
	if (!g->rows || !g->locksets || !g->row_nodes)
		return -ENOMEM;
	for (size_t i = 0, n; i < g->n_members; i += n) {
		struct row *row = &g->rows[g->n_rows++];

		for (n = 1; i + n < g->n_members && !same_row(&g->members[i], &g->members[i + n]);)
			n++;
		row->space = g->members[i].space;
		row->id = g->members[i].row;
		sum_row(row, m, &g->members[i], (uint32_t)n, g->locksets + locksets,
			g->row_nodes + nodes);
		locksets += row->n_locksets;
		nodes += row->n_nodes;
	}
	return 0;
}

/* ---- what a row is ------------------------------------------------------------------------- */

/*
 * Asks the Locks that describe the inode, on every node: also those that did nothing in this frame.
 */
static void describe(struct row *row, const struct model *m)
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
		const struct node_space *ns =
		    row->space < node->n_spaces ? node->spaces[row->space] : NULL;

		for (const char *type = space->source->describing; ns && *type; type++) {
			struct lock_id id = {.number = row->id.number, .type = (uint8_t)*type};
			const struct lock *lock = table_find(&ns->table, &id);

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

const char *row_kind(const struct row *row)
{
	switch (row->kind) {
	case DT_REG:
		return "file";
	case DT_DIR:
		return "directory";
	case DT_LNK:
		return "symlink";
	case DT_FIFO:
	case DT_SOCK:
	case DT_CHR:
	case DT_BLK:
		return "special file";
	default:
		return NULL;
	}
}

void row_label(const struct model *m, const struct row *row, bool of, char *buf, size_t size)
{
	const struct space *space = &m->spaces[row->space];
	size_t n;

	if (row->path) {
		snprintf(buf, size, "%s", row->path);
		return;
	}
	if (row->id.class)
		space->source->class_name(row->id, buf, size);
	else
		snprintf(buf, size,
			 row->section == SECTION_SYSTEM ? "system inode %llu"
			 : row->kind == DT_DIR          ? "<%llu>/"
							: "<%llu>",
			 (unsigned long long)row->id.number);
	/* a number means nothing without its file system; of a UUID the beginning tells enough */
	n = strlen(buf);
	if (row->within && n < size) {
		snprintf(buf + n, size - n, " in %s%s", row->within,
			 row->within[strlen(row->within) - 1] == '/' ? "" : "/");
		return;
	}
	if (!of || m->n_spaces < 2 || n >= size)
		return;
	if (space->mount)
		snprintf(buf + n, size - n, " in %s", space->mount);
	else
		snprintf(buf + n, size - n, " in %s %.*s", space->source->name,
			 space->fs == FS_OCFS2 ? 8 : 64, space->name);
}

double row_mean(const struct row *row)
{
	uint64_t n = row->sum.acquired;

	return n ? row->sum.lost_s / (double)n : NAN;
}

double row_acquired_per_s(const struct model *m, const struct row *row)
{
	double sum = 0;

	for (uint32_t i = 0; i < row->n_nodes; i++) {
		double s = m->nodes[row->nodes[i].node].frame_s;

		sum += s > 0 ? (double)row->nodes[i].sum.acquired / s : 0;
	}
	return sum;
}

double row_hit_ratio(const struct row *row)
{
	if (!row->sum.counts_requests || !row->sum.acquired)
		return NAN;
	return max_s(1 - (double)row->sum.requests / (double)row->sum.acquired, 0);
}

/* ---- trend --------------------------------------------------------------------------------- */

static int by_row(const void *key, const void *element)
{
	const struct member *a = key;
	const struct row *b = element;
	struct member of_b = {.space = b->space, .row = b->id};

	return same_row(a, &of_b);
}

static void add_trail(struct row *row, const struct trail *trail, uint32_t newest)
{
	for (uint32_t i = 0; i < trail->count; i++) {
		const struct past_shot *shot =
		    &trail->shots[(trail->head + TRAIL_SHOTS - i) % TRAIL_SHOTS];
		const struct past_shot *before =
		    &trail->shots[(trail->head + TRAIL_SHOTS - i - 1) % TRAIL_SHOTS];
		uint32_t since = i + 1 < trail->count ? before->sample + 1 : shot->sample;

		/* over samples that did not show the Lock its Shot speaks for the whole time */
		for (uint32_t at = since; at <= shot->sample; at++)
			if (newest - at < row->n_trend)
				row->trend[row->n_trend - 1 - (newest - at)] += shot->lost;
	}
}

/* The rows are still in the order in which they were made. */
static void add_trends(struct group *g, const struct model *m, const struct filter *f)
{
	uint32_t n = m->sample > 1 ? m->sample - 1 : 0;

	for (size_t i = 0; i < g->n_rows; i++)
		g->rows[i].n_trend = n < TREND_MAX ? n : TREND_MAX;
	for (size_t i = 0; i < m->n_nodes; i++)
		for (size_t j = 0; j < m->nodes[i].n_spaces; j++) {
			const struct node_space *ns = m->nodes[i].spaces[j];

			for (uint32_t k = 0; ns && k < ns->table.n_warm; k++) {
				const struct lock *lock = table_lock(&ns->table, ns->table.warm[k]);
				struct member key = {.space = (uint32_t)j,
						     .row = m->spaces[j].source->row(lock)};
				struct row *row =
				    bsearch(&key, g->rows, g->n_rows, sizeof(*row), by_row);

				if (row && type_wanted(m->spaces[j].source, f, lock->id.type))
					add_trail(row, table_trail_of(&ns->table, lock), m->sample);
			}
		}
}

/* ---- ranking ------------------------------------------------------------------------------- */

double row_sort_value(const struct row *row, enum sort_key key)
{
	double v;

	switch (key) {
	case SORT_WAITING:
		return row->sum.waiting;
	case SORT_AGE:
		return row->sum.waiting ? row->sum.oldest_s : -1;
	case SORT_MEAN:
		v = row_mean(row);
		return isnan(v) ? -1 : v;
	case SORT_LONGEST:
		return row->sum.longest_s;
	case SORT_ACQUIRED:
		return (double)row->sum.acquired;
	case SORT_HIT: /* the worst first */
		v = row_hit_ratio(row);
		return isnan(v) ? -2 : -v;
	case SORT_WRITERS:
		return row->n_writers;
	case SORT_READERS:
		return row->n_readers;
	case SORT_SIZE:
		return row->size == UINT64_MAX ? -1 : (double)row->size;
	case SORT_INODE: /* the smallest first */
	case SORT_NAME:
		return -(double)row->id.number;
	default:
		return row->lost_per_s;
	}
}

/* Rows without a path come last. */
static int by_path(const struct row *x, const struct row *y)
{
	if (!x->path || !y->path)
		return x->path ? -1 : 1;
	return strcoll(x->path, y->path);
}

int row_compare(const struct row *x, const struct row *y, enum sort_key key)
{
	double vx, vy;
	int c;

	if (key == SORT_NAME && (x->path || y->path) && (c = by_path(x, y)) != 0)
		return c;
	vx = row_sort_value(x, key);
	vy = row_sort_value(y, key);
	if (vx != vy)
		return vx > vy ? -1 : 1;
	if (x->lost_per_s != y->lost_per_s)
		return x->lost_per_s > y->lost_per_s ? -1 : 1;
	if (x->sum.lost_s != y->sum.lost_s)
		return x->sum.lost_s > y->sum.lost_s ? -1 : 1;
	c = compare_u64(y->sum.waiting, x->sum.waiting);
	c = c ? c : compare_u64(y->sum.acquired, x->sum.acquired);
	c = c ? c : compare_u64(x->space, y->space);
	c = c ? c : compare_u64(x->id.class, y->id.class);
	return c ? c : compare_u64(x->id.number, y->id.number);
}

static int by_rank(const void *a, const void *b, void *arg)
{
	const struct row *x = a, *y = b;

	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	return row_compare(x, y, *(const enum sort_key *)arg);
}

static bool row_wanted(const struct row *row, const struct model *m, const struct filter *f)
{
	return space_wanted(&m->spaces[row->space], f) &&
	       (!f->has_inode || (!row->id.class && row->id.number == f->inode)) &&
	       row->n_writers >= f->writers && row->lost_per_s >= f->min_lost_per_s &&
	       !(f->no_system && row->section == SECTION_SYSTEM) && (!f->hot_only || row->hot);
}

static void total(struct group *g, const struct model *m)
{
	for (size_t i = 0; i < g->n_rows; i++) {
		change_sum(&g->totals.sum, &g->rows[i].sum);
		g->totals.lost_per_s += g->rows[i].lost_per_s;
		g->totals.hot += g->rows[i].hot;
		g->totals.acquired_per_s += row_acquired_per_s(m, &g->rows[i]);
	}
	g->totals.rows = g->n_rows;
	for (size_t i = 0; i < m->n_nodes; i++) {
		const struct node *node = &m->nodes[i];

		if (node->last_sample != m->sample)
			continue;
		g->interval_s = max_s(g->interval_s, node->frame_s);
		if (node_when(node, m->sample)->real_us > g->time_us)
			g->time_us = node_when(node, m->sample)->real_us;
	}
}

static int space_holds(const void *arg, size_t space, uint64_t inode)
{
	const struct model *m = arg;

	for (size_t i = 0; i < m->n_nodes; i++) {
		const struct node *node = &m->nodes[i];
		const struct node_space *ns = space < node->n_spaces ? node->spaces[space] : NULL;

		for (const char *type = m->spaces[space].source->describing; ns && *type; type++)
			if (table_find(&ns->table,
				       &(struct lock_id){.number = inode, .type = (uint8_t)*type}))
				return 1;
	}
	return 0;
}

/* What a program on some node calls it, whether or not that node did something in this frame. */
static const char *called(const struct row *row, const struct model *m)
{
	const struct source *source = m->spaces[row->space].source;
	const char *name = NULL;

	for (uint32_t i = 0; source->called && i < row->n_locksets && !name; i++) {
		const struct lock_id *id = &row->locksets[i].members[0].lock->id;

		for (size_t j = 0; j < m->n_nodes && !name; j++) {
			const struct node *node = &m->nodes[j];
			const struct node_space *ns =
			    row->space < node->n_spaces ? node->spaces[row->space] : NULL;
			const struct lock *lock = ns ? table_find(&ns->table, id) : NULL;

			name = lock ? source->called(ns, lock) : NULL;
		}
	}
	return name;
}

/* A path that may be of any lock space is of none where several have such an inode. */
static void name_row(struct row *row, const struct model *m, const struct names *names)
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

static void settle_names(struct names *names, const struct model *m)
{
	const char **spaces = names ? calloc(m->n_spaces + 1, sizeof(*spaces)) : NULL;

	for (size_t i = 0; spaces && i < m->n_spaces; i++)
		spaces[i] = m->spaces[i].name;
	if (spaces)
		names_settle(names, spaces, m->n_spaces, space_holds, m);
	free(spaces);
}

int group_rank(struct group *g, const struct model *m, struct names *names,
	       const struct filter *filter, enum sort_key key)
{
	size_t kept = 0;
	int err;

	*g = (struct group){0};
	err = gather(g, m, filter);
	err = err ? err : dentry_join(m, g->members, g->n_members);
	err = err ? err : make_rows(g, m);
	if (err) {
		group_free(g);
		return err;
	}
	settle_names(names, m);
	add_trends(g, m, filter);
	total(g, m);
	for (size_t i = 0; i < g->n_rows; i++)
		describe(&g->rows[i], m);
	dentry_find_directories(m, g->rows, g->n_rows);
	for (size_t i = 0; i < g->n_rows; i++)
		if (row_wanted(&g->rows[i], m, filter))
			g->rows[kept++] = g->rows[i];
	g->n_rows = kept;
	for (size_t i = 0; i < g->n_rows; i++)
		name_row(&g->rows[i], m, names);
	dentry_find_within(m, names, g->rows, g->n_rows);
	qsort_r(g->rows, g->n_rows, sizeof(*g->rows), by_rank, &key);
	for (size_t i = 0; i < g->n_rows; i++) {
		struct row *row = &g->rows[i];

		row->rank = (uint32_t)++g->n_section[row->section];
		waits_explain(m, row);
	}
	return 0;
}

void group_free(struct group *g)
{
	for (size_t i = 0; i < g->n_rows; i++) {
		free(g->rows[i].sentence);
		free(g->rows[i].note);
	}
	free(g->members);
	free(g->rows);
	free(g->locksets);
	free(g->row_nodes);
	*g = (struct group){0};
}
