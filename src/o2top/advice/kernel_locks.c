/* SPDX-License-Identifier: MIT */
/*
 * kernel_locks.c - advice about long waits for which no program can be ended.
 *
 * The kernel takes all locks but those of flock(2) inside one system call or in a task of its own.
 * A program can neither order such locks nor give one up.
 */
#include "advice_impl.h"

#include "o2top/model/source.h"
#include "o2top/model/waits.h"

#include <stdio.h>
#include <string.h>

/* Types of glocks, and the number of the nondisk glock that renames take. */
enum { GFS2_NONDISK = 1, GFS2_META = 4, GFS2_QUOTA = 8, GFS2_JOURNAL = 9, GFS2_RENAME_NUMBER = 3 };

bool kernel_takes_it(const struct model *m, const struct row *row)
{
	switch (m->spaces[row->space].fs) {
	case FS_OCFS2:
		if (!row->id.class)
			return row->section == SECTION_SYSTEM;
		return strchr("PSQIT", row->id.class) != NULL;
	case FS_GFS2:
		if (!row->id.class)
			return row->section == SECTION_SYSTEM;
		return row->id.class == GFS2_JOURNAL || row->id.class == GFS2_QUOTA ||
		       row->id.class == GFS2_META ||
		       (row->id.class == GFS2_NONDISK && row->id.number != GFS2_RENAME_NUMBER);
	default:
		return false;
	}
}

static bool is_kernel_task(const char *comm)
{
	return strncmp(comm, "kworker", 7) == 0 || strncmp(comm, "ocfs2", 5) == 0 ||
	       strncmp(comm, "gfs2", 4) == 0 || strncmp(comm, "glock", 5) == 0;
}

/* Returns the task of the kernel that sleeps in lock code on a node, if there is exactly one. */
static const struct lock_task *kernel_task_on(const struct model *m, int32_t node)
{
	const struct waits *w = m->waits;
	const struct lock_task *found = NULL;

	for (size_t i = 0; w && i < w->n_tasks; i++) {
		if ((int32_t)w->tasks[i].node != node || !is_kernel_task(w->tasks[i].comm))
			continue;
		if (found)
			return NULL;
		found = &w->tasks[i];
	}
	return found;
}

void kernel_lock_advice(const struct model *m, const struct row *row, const char *waits, char *buf,
			size_t size)
{
	const struct blocker *root = row->sentence && row->root.node >= 0 ? &row->root : NULL;
	const char *node = root ? m->nodes[root->node].name : NULL;
	const struct lock_task *task = root ? kernel_task_on(m, root->node) : NULL;
	bool scans = m->spaces[row->space].fs == FS_OCFS2 &&
		     (row->id.class == 'P' || (task && strstr(task->function, "orphan")));
	char who[128] = "the kernel itself takes this lock";

	if (task)
		snprintf(who, sizeof(who), "the kernel's task %s (pid %lld%s%s)", task->comm,
			 (long long)task->pid, *task->function ? ", " : "", task->function);
	snprintf(buf, size,
		 "%s; %s%s%s%s, so no program can be ended: %son %s see dmesg -T, and echo w "
		 ">/proc/sysrq-trigger shows where its tasks sleep; if the wait lasts, restart %s",
		 waits, who, task ? " works" : "", node ? " on " : "", node ? node : "",
		 scans ? "the search for deleted files ends by itself; " : "",
		 node ? node : "each node",
		 node ? node : "the node that hangs, and update its kernel");
}

const struct lock_task *waits_for_itself(const struct model *m, const struct row *row)
{
	const struct blocker *root = row->sentence ? &row->root : NULL;
	const struct waits *w = m->waits;
	const struct lock_task *found = NULL;

	if (!w || !root || root->node < 0 || !root->inside || root->pid || root->other ||
	    root->holders != 1 || row->id.class || m->spaces[row->space].fs != FS_OCFS2)
		return NULL;
	for (size_t i = 0; i < w->n_tasks; i++) {
		if ((int32_t)w->tasks[i].node != root->node || w->tasks[i].inode != row->id.number)
			continue;
		if (found)
			return NULL;
		found = &w->tasks[i];
	}
	return found;
}

void self_deadlock_advice(const struct model *m, const struct row *row, const char *waits,
			  char *buf, size_t size)
{
	const struct lock_task *task = waits_for_itself(m, row);
	const char *node = m->nodes[row->root.node].name;

	snprintf(buf, size,
		 "%s; the only holder on %s waits there for the same inode, so pid %lld %s waits "
		 "for itself and cannot be killed: restart %s, and update its kernel",
		 waits, node, task ? (long long)task->pid : 0, task ? task->comm : "", node);
}

const char *const deadlock_of_kernel =
    "in a deadlock of locks that the kernel takes inside one system call: no program can order "
    "them, and the processes cannot be killed; restart one of the nodes, and update the kernel";

bool deadlock_in_kernel(const struct model *m, const struct row *row)
{
	const struct source *source = m->spaces[row->space].source;

	if (m->spaces[row->space].fs == FS_GLOCK)
		return false;
	/* programs take these, and the kernel all others */
	for (uint32_t i = 0; i < row->n_locksets; i++) {
		const char *type = source->type_name(row->locksets[i].members[0].lock->id.type);

		if (row->locksets[i].sum.waiting &&
		    (strcmp(type, "FLOCK") == 0 || strcmp(type, "PLOCK") == 0))
			return false;
	}
	return true;
}
