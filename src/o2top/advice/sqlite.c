/* SPDX-License-Identifier: MIT */
/*
 * sqlite.c - the advice for a row of a lock space of the SQLite VFS: what a database can do.
 */
#include "advice_impl.h"

#include "o2top/model/source.h"

#include <stdio.h>
#include <string.h>

/* A lock space of the SQLite VFS has its name from the device of the database. */
bool sqlite_has_it(const struct model *m, const struct row *row)
{
	const struct space *space = &m->spaces[row->space];

	return space->fs == FS_GLOCK && strstr(space->name, "sqlite-");
}

/* Returns the holder of the lock on a node that does not wait for it itself, or NULL. */
static const struct holder *holder_on(const struct node_space *ns, const struct lock_id *id)
{
	const struct lock *lock = ns ? table_find(&ns->table, id) : NULL;
	const struct holder *h, *held = NULL;

	for (uint32_t n = lock ? holders_of(ns, lock, &h) : 0; n--; h++) {
		if (h->waits)
			return NULL;
		held = held && held->seen_us <= h->seen_us ? held : h;
	}
	return held;
}

/* Returns the node that has held a lock of the row for the longest time, or NULL. */
static const struct node *longest_holder(const struct model *m, const struct row *row)
{
	const struct node *found = NULL;
	double longest_s = -1, least, most;

	for (uint32_t i = 0; i < row->n_locksets; i++)
		for (size_t j = 0; j < m->n_nodes; j++) {
			const struct node *n = &m->nodes[j];
			const struct holder *h = holder_on(space_now_on(m, n, row->space),
							   &row->locksets[i].members[0].lock->id);

			if (!h)
				continue;
			holder_age(h, node_when(n, m->sample)->mono_us, &least, &most);
			if (least > longest_s) {
				longest_s = least;
				found = n;
			}
		}
	return found;
}

/* The VFS names the locks of WAL mode "PATH (WAL mark)" and "PATH (WAL writers)". */
static bool in_wal_mode(const struct row *row)
{
	return row->path && strstr(row->path, " (WAL ");
}

void sqlite_advice(const struct model *m, const struct row *row, const char *waits, char *buf,
		   size_t size)
{
	const struct node *holder = row->sum.waiting ? longest_holder(m, row) : NULL;

	snprintf(buf, size,
		 "%s for this database: make fewer and larger transactions, %send long reads%s%s",
		 waits,
		 in_wal_mode(row) ? "and "
				  : "use WAL (PRAGMA journal_mode=WAL) so that readers and the "
				    "writer do not wait for each other, and ",
		 holder ? ": see " : "", holder ? holder->name : "");
}
