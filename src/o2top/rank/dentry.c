/* SPDX-License-Identifier: MIT */
/*
 * dentry.c - joins OCFS2's dentry locks to their inodes, and finds directories through them.
 */
#include "names.h"

#include "o2top/model/source.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Calls f for every Lock of a lock space, on every node. */
static void each_lock(const struct model *m, uint32_t space,
		      void (*f)(const struct lock *lock, void *arg), void *arg)
{
	for (size_t i = 0; i < m->n_nodes; i++) {
		const struct node *node = &m->nodes[i];
		const struct node_space *ns = space_on(node, space);

		for (uint32_t j = 0; ns && j < ns->table.n_locks; j++) {
			const struct lock *lock = table_lock(&ns->table, j);

			if (!lock->free)
				f(lock, arg);
		}
	}
}

/* ---- the inode of a name ------------------------------------------------------------------- */

struct name {
	uint32_t low;
	unsigned candidates;
	uint64_t inode;
};

struct join {
	const struct source *source;
	struct name *names; /* sorted by low */
	size_t n;
};

static int by_low(const void *a, const void *b)
{
	uint32_t x = ((const struct name *)a)->low, y = ((const struct name *)b)->low;

	return (x > y) - (x < y);
}

static void try_inode(const struct lock *lock, void *arg)
{
	struct join *j = arg;
	struct name key = {.low = (uint32_t)lock->id.number}, *name;

	if (!strchr(j->source->describing, lock->id.type))
		return;
	name = bsearch(&key, j->names, j->n, sizeof(key), by_low);
	if (!name || (name->candidates && name->inode == lock->id.number))
		return;
	name->candidates++;
	name->inode = lock->id.number;
}

static bool is_name(const struct model *m, const struct member *member, uint32_t *low)
{
	const struct source *source = m->spaces[member->space].source;
	uint64_t directory;

	return m->spaces[member->space].wide && source->names &&
	       source->names(member->lock, &directory, low);
}

static int join_space(const struct model *m, uint32_t space, struct member *members, size_t n)
{
	struct join j = {.source = m->spaces[space].source,
			 .names = calloc(n + 1, sizeof(*j.names))};
	uint32_t low;

	if (!j.names)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (members[i].space == space && is_name(m, &members[i], &low))
			j.names[j.n++].low = low;
	if (j.n) {
		size_t kept = 0;

		qsort(j.names, j.n, sizeof(*j.names), by_low);
		for (size_t i = 0; i < j.n; i++)
			if (!kept || j.names[kept - 1].low != j.names[i].low)
				j.names[kept++] = j.names[i];
		j.n = kept;
		each_lock(m, space, try_inode, &j);
	}
	for (size_t i = 0; i < n && j.n; i++) {
		struct name key, *name;

		if (members[i].space != space || !is_name(m, &members[i], &key.low))
			continue;
		name = bsearch(&key, j.names, j.n, sizeof(key), by_low);
		members[i].row = name->candidates == 1
				     ? (struct row_id){0, name->inode}
				     : (struct row_id){members[i].lock->id.type, key.low};
	}
	free(j.names);
	return 0;
}

int dentry_join(const struct model *m, struct member *members, size_t n)
{
	int err = 0;

	for (size_t i = 0; i < m->n_spaces && !err; i++)
		if (m->spaces[i].wide && m->spaces[i].source->names)
			err = join_space(m, (uint32_t)i, members, n);
	return err;
}

/* ---- inodes that are directories ----------------------------------------------------------- */

enum { UNKNOWN_MAX = 64 };

struct unknown {
	const struct source *source;
	struct row *rows[UNKNOWN_MAX];
	size_t n;
};

static void try_directory(const struct lock *lock, void *arg)
{
	struct unknown *u = arg;
	uint64_t directory;
	uint32_t low;

	if (!u->source->names(lock, &directory, &low))
		return;
	for (size_t i = 0; i < u->n; i++)
		if (u->rows[i]->id.number == directory)
			u->rows[i]->kind = DT_DIR;
}

void dentry_find_directories(const struct model *m, struct row *rows, size_t n)
{
	for (size_t i = 0; i < m->n_spaces; i++) {
		struct unknown u = {.source = m->spaces[i].source};

		for (size_t j = 0; j < n && u.source->names && u.n < UNKNOWN_MAX; j++)
			if (rows[j].space == i && rows[j].hot && !rows[j].kind && !rows[j].id.class)
				u.rows[u.n++] = &rows[j];
		if (u.n)
			each_lock(m, (uint32_t)i, try_directory, &u);
	}
}

/* ---- the directory of an inode ------------------------------------------------------------- */

struct parents {
	const struct source *source;
	struct dentry_child *children; /* sorted by the low half of their number */
	size_t n;
};

static int child_by_low(const void *a, const void *b)
{
	uint32_t x = (uint32_t)((const struct dentry_child *)a)->inode;
	uint32_t y = (uint32_t)((const struct dentry_child *)b)->inode;

	return (x > y) - (x < y);
}

static void try_parent(const struct lock *lock, void *arg)
{
	struct parents *p = arg;
	struct dentry_child key, *child;
	uint64_t directory;
	uint32_t low, i = 0;

	if (!p->source->names(lock, &directory, &low))
		return;
	key.inode = low;
	child = bsearch(&key, p->children, p->n, sizeof(key), child_by_low);
	while (child && i < child->n_parents && child->parents[i] != directory)
		i++;
	if (child && i == child->n_parents && i < DENTRY_PARENTS)
		child->parents[child->n_parents++] = directory;
}

void dentry_find_parents(const struct model *m, uint32_t space, struct dentry_child *children,
			 size_t n)
{
	struct parents p = {m->spaces[space].source, children, n};

	if (!n || !p.source->names)
		return;
	qsort(children, n, sizeof(*children), child_by_low);
	each_lock(m, space, try_parent, &p);
}

void dentry_find_within(const struct model *m, const struct names *names, struct row *rows,
			size_t n)
{
	struct dentry_child children[UNKNOWN_MAX];

	for (uint32_t space = 0; space < m->n_spaces && names; space++) {
		const char *name = m->spaces[space].name, *path;
		size_t found = 0;
		bool sure;

		for (size_t i = 0; i < n && found < UNKNOWN_MAX; i++)
			if (rows[i].space == space && rows[i].hot && !rows[i].path &&
			    !rows[i].id.class)
				children[found++] =
				    (struct dentry_child){.inode = rows[i].id.number};
		dentry_find_parents(m, space, children, found);
		for (size_t i = 0; i < n && found; i++)
			for (size_t j = 0; j < found; j++) {
				if (rows[i].space != space || rows[i].path || rows[i].id.class ||
				    rows[i].id.number != children[j].inode)
					continue;
				path = children[j].n_parents
					   ? names_find(names, name, children[j].parents[0], &sure)
					   : NULL;
				/* a list that belongs to no one lock space may describe another */
				rows[i].within = path && (sure || m->n_spaces == 1) ? path : NULL;
			}
	}
}
